"""The page for those who are logged in and may not do what they asked for."""

import pytest
from django.contrib.auth import get_user
from django.urls import reverse

from tests.backoffice import inputs_of, staff, superuser
from tests.callcentre.factories import ApiUserFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

USERS = reverse("admin:callcentre_user_changelist")
INDEX = reverse("admin:index")


def test_whoever_may_not_see_a_page_is_told_who_he_is_and_led_on():
    client = staff()

    response = client.get(USERS)

    page = response.content.decode()
    assert response.status_code == 403
    assert f"You are logged in as {get_user(client).get_username()}, who lacks the right" in page
    assert f'href="{INDEX}"' in page
    assert client.get(INDEX).status_code == 200


def test_somebody_else_logs_in_and_is_where_the_first_one_wanted_to_be():
    client, other = staff(), UserFactory(admin=True)
    other.set_password("of the other one")
    other.save()
    wanted = f"{USERS}?q=anna"

    page = client.get(wanted).content.decode()
    out = client.post(reverse("admin:logout"), {"next": inputs_of(page)["next"]}, follow=True)
    form = inputs_of(out.content.decode()) | {"username": other.username, "password": "of the other one"}
    back = client.post(out.redirect_chain[-1][0], form)

    assert get_user(client) == other
    assert back.headers["Location"] == wanted


def test_what_was_refused_to_be_done_is_not_gone_back_to():
    response = staff("view_apiuser").post(
        reverse("admin:callcentre_apiuser_delete", args=[ApiUserFactory().pk]), {"post": "yes"}
    )

    assert response.status_code == 403
    assert inputs_of(response.content.decode())["next"] == INDEX


def test_a_refusal_in_polish():
    response = staff().get(USERS, headers={"accept-language": "pl"})

    page = response.content.decode()
    assert (response.status_code, response["Content-Language"]) == (403, "pl")
    assert "Brak uprawnień" in page
    assert "Zaloguj się na inne konto" in page


def test_who_may_do_it_sees_no_refusal():
    assert "Log in as somebody else" not in superuser().page(USERS)
