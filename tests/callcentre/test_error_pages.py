"""Pages for forbidden actions, missing pages, stale forms, unreadable requests and failures."""

from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth import get_user
from django.db import OperationalError, connection
from django.http import Http404
from django.test import Client
from django.urls import reverse

from callcentre.core.errors import is_database_away
from tests.backoffice import BackOffice, inputs_of, staff, superuser
from tests.callcentre.factories import ApiUserFactory, UserFactory
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

INDEX = reverse("admin:index")
LOGIN = reverse("admin:login")
USERS = reverse("admin:callcentre_user_changelist")
PASSWORD = "of Anna, who has one"


def token_of(page: str) -> str:
    return page.split('name="csrfmiddlewaretoken" value="')[1].split('"', maxsplit=1)[0]


def browser_with_two_tabs() -> tuple[BackOffice, dict[str, str]]:
    """Return a browser with tokens, and the input of the log-in page in its first tab."""
    user = UserFactory(admin=True, username="anna")
    user.set_password(PASSWORD)
    user.save()
    client = BackOffice(enforce_csrf_checks=True)
    page = client.page(LOGIN, next=USERS)
    typed = inputs_of(page) | {"username": "anna", "password": PASSWORD, "csrfmiddlewaretoken": token_of(page)}
    return client, typed


# Not allowed


def test_a_forbidden_page_names_the_user_and_links_onwards():
    client = staff()

    response = client.get(USERS)

    page = response.content.decode()
    assert response.status_code == 403
    assert f"You are logged in as {get_user(client).get_username()}, who lacks the right" in page
    assert f'href="{INDEX}"' in page
    assert client.get(INDEX).status_code == 200


def test_another_user_can_log_in_and_lands_on_the_refused_page():
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


def test_a_refused_action_is_not_repeated_after_a_log_in():
    response = staff("view_apiuser").post(
        reverse("admin:callcentre_apiuser_delete", args=[ApiUserFactory().pk]), {"post": "yes"}
    )

    assert response.status_code == 403
    assert inputs_of(response.content.decode())["next"] == INDEX


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        (USERS, 403, ["Brak uprawnień", "Zaloguj się na inne konto"]),
        ("/admin/nothing", 404, ["Nie ma takiej strony"]),
    ],
)
def test_a_refusal_and_a_missing_page_in_polish(path, status, said):
    response = staff().get(path, headers={"accept-language": "pl"})

    assert (response.status_code, response["Content-Language"]) == (status, "pl")
    assert all(text in response.content.decode() for text in said)


@pytest.mark.usefixtures("with_menu")
def test_a_missing_page_keeps_the_menu_and_that_of_a_stranger_needs_no_query(client):
    missing = staff("view_apiuser").get("/admin/nothing/of/the/kind")
    with few_statements(0):
        of_stranger = client.get("/nothing")

    page, other = missing.content.decode(), of_stranger.content.decode()
    assert (missing.status_code, of_stranger.status_code) == (404, 404)
    assert "There is no such page" in page
    assert f'href="{INDEX}"' in page
    assert reverse("admin:callcentre_apiuser_changelist") in page
    assert f'href="{INDEX}"' in other
    assert "/static/" not in other


def test_a_views_explanation_of_a_404_is_shown_as_text(monkeypatch):
    client = superuser()
    silent = client.get("/admin/nothing").content.decode()
    monkeypatch.setattr("callcentre.web.menu.dashboard", Mock(side_effect=Http404("No <b>recording</b> any more.")))

    said = client.get(INDEX).content.decode()

    assert "The address is wrong, or what was here has been deleted." in silent
    assert "No &lt;b&gt;recording&lt;/b&gt; any more." in said


def test_after_a_log_in_in_another_tab_the_first_tab_leads_to_its_page():
    client, typed = browser_with_two_tabs()
    other_tab = client.page(LOGIN)
    client.post(LOGIN, typed | {"csrfmiddlewaretoken": token_of(other_tab)})

    response = client.post(f"{LOGIN}?next={USERS}", typed)

    page = response.content.decode()
    assert response.status_code == 403
    assert "You logged in as anna in another tab." in page
    assert f'href="{USERS}"' in page


def test_after_a_log_out_in_another_tab_the_log_in_is_opened_again_and_works():
    client, typed = browser_with_two_tabs()
    client.post(LOGIN, typed)
    inside = client.page(INDEX)
    client.post(reverse("admin:logout"), {"csrfmiddlewaretoken": token_of(inside)})

    response = client.post(f"{LOGIN}?next={USERS}", typed)
    again = client.get(f"{LOGIN}?next={USERS}")
    back = client.post(LOGIN, typed | {"csrfmiddlewaretoken": token_of(again.content.decode())})

    page = response.content.decode()
    assert response.status_code == 403
    assert "The log-in page was out of date" in page
    assert f'href="{LOGIN}?next={USERS}"' in page
    assert back.headers["Location"] == USERS
    assert get_user(client).username == "anna"


def test_a_stale_form_saves_nothing_and_is_opened_again():
    client, typed = browser_with_two_tabs()
    client.post(LOGIN, typed)
    page, form = reverse("admin:callcentre_apiuser_change", args=[ApiUserFactory().pk]), "http://testserver/admin/x?y=1"
    stale = {"csrfmiddlewaretoken": typed["csrfmiddlewaretoken"]}
    elsewhere = {"origin": "https://elsewhere.example", "referer": "https://elsewhere.example/form"}

    own = client.post(page, stale, headers={"referer": form})
    polish = client.post(page, stale, headers={"referer": form, "accept-language": "pl"})
    foreign = client.post(USERS, {}, headers=elsewhere)

    said = [response.content.decode() for response in (own, polish, foreign)]
    assert [response.status_code for response in (own, polish, foreign)] == [403, 403, 403]
    assert "Nothing was saved" in said[0]
    assert f'href="{form}"' in said[0]
    assert "Nic nie zapisano" in said[1]
    assert "This form came from somewhere else" in said[2]
    assert "elsewhere.example" not in said[2]


# Failures


def without_database(*_: Any) -> None:
    raise OperationalError("the database is away")


PAGES = [INDEX, LOGIN, "/admin/overview/now", "/admin/wallboard/", "/api/docs"]


@pytest.mark.parametrize("path", [*PAGES, "/api/tickets", "/api/schema", "/api/unknown"])
def test_every_page_and_operation_is_503_while_the_database_is_away(path, api):
    client = superuser()
    client.raise_request_exception = False
    if path in PAGES[-1:]:
        api = client

    with connection.execute_wrapper(without_database):
        answers = [(api if path.startswith("/api") else client).generic(method, path) for method in ("GET", "POST")]

    for answer in answers:
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        if path.startswith("/api"):
            assert answer.json()["errors"][0]["code"] == 100123


def ended(cursor: Any) -> None:
    cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def cancelled(cursor: Any) -> None:
    cursor.execute("SELECT pg_cancel_backend(pg_backend_pid())")


@pytest.mark.parametrize(("statement", "is_away"), [(ended, True), (cancelled, False)])
def test_an_error_of_one_statement_does_not_mean_that_the_database_is_away(statement, is_away):
    other = connection.copy()
    with pytest.raises(OperationalError) as raised:
        statement(other.cursor())
    other.close()

    assert is_database_away(raised.value) is is_away


@pytest.mark.parametrize(
    ("language", "title"),
    [("en", "This does not work at the moment"), ("pl", "W tej chwili to nie działa")],
)
def test_the_error_page_works_without_a_database(language, title):
    client = superuser()
    client.raise_request_exception = False

    with connection.execute_wrapper(without_database):
        response = client.get(INDEX, headers={"accept-language": language})

    page = response.content.decode()
    assert response.status_code == 503
    assert title in page
    assert response["X-Request-Id"] in page
    assert 'href="/admin/"' in page
    assert "/static/" not in page


def test_error_pages_of_customers_have_no_link_to_the_admin(monkeypatch):
    monkeypatch.setattr("tickets.rating_page.message_of", Mock(side_effect=RuntimeError))

    response = Client(raise_request_exception=False).get(reverse("rating", args=["x"]))

    assert response.status_code == 500
    assert "/admin" not in response.content.decode()


def test_an_unreadable_request_and_one_without_cookies_get_a_page():
    unreadable = Client().get(INDEX, headers={"host": "elsewhere.example"})
    without_cookies = Client(enforce_csrf_checks=True).post(LOGIN, {"username": "anna"})

    assert (unreadable.status_code, without_cookies.status_code) == (400, 403)
    assert "This was not understood" in unreadable.content.decode()
    assert "Your browser sent no cookies" in without_cookies.content.decode()


def test_the_api_has_no_pages(api, api_client, monkeypatch):
    monkeypatch.setattr("telephony.api.agents.agent_or_404", Mock(side_effect=ValueError))
    AgentFactory(login="anna")
    api.raise_request_exception = False

    answers = {
        400: api.get("/api/ping", headers={"host": "elsewhere.example"}),
        403: api_client("tickets:read").get("/api/agents"),
        404: api.get("/api/nothing"),
        500: api.get("/api/agents/anna"),
    }

    assert {status: answer.status_code for status, answer in answers.items()} == {status: status for status in answers}
    assert all(set(answer.json()) == {"request_id", "errors"} for answer in answers.values())
    assert all(answer.json()["request_id"] == answer["X-Request-Id"] for answer in answers.values())
