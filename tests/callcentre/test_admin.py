"""API users, back-office users, log-in and the front page of the admin."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from callcentre import rate_limits
from callcentre.core.actor import SYSTEM
from callcentre.models import ApiUser, ApiUserChange, Lockout, User, hash_secret
from tests.backoffice import BackOffice, errors_of, inputs_of, messages_of, page_of, staff, superuser
from tests.callcentre.factories import ApiUserFactory, UserFactory
from tests.conftest import ApiClient
from tests.statements import few_statements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

INDEX = reverse("admin:index")
LOGIN = reverse("admin:login")
API_USERS = reverse("admin:callcentre_apiuser_changelist")
ADD_API_USER = reverse("admin:callcentre_apiuser_add")


def made(client, **values):
    """Add an API user on its page; return the user and the secret in the answer."""
    response = client.submit(ADD_API_USER, expected=200, **{"login": "robot", "is_active": "on", **values})
    return ApiUser.objects.get(login=values.get("login", "robot")), secret_in(response)


def secret_in(response):
    return response.context["secret"]


# API users


def test_a_new_api_user_is_authenticated_by_the_shown_secret():
    networks = "127.0.0.0/8\n 2001:db8::1 \n127.0.0.0/8"
    user, secret = made(superuser(), rights=["campaigns:read", "agents:write"], allowed_networks=networks)

    assert user.rights == ["campaigns:read", "agents:write"]
    assert user.allowed_networks == ["127.0.0.0/8", "2001:db8::1"]
    assert ApiClient("robot", secret).get("/api/ping").status_code == 204


def test_the_secret_is_shown_only_in_the_answer_to_saving(caplog):
    client = superuser()

    response = client.submit(ADD_API_USER, expected=200, login="robot", is_active="on")

    secret, user = secret_in(response), ApiUser.objects.get(login="robot")
    pages = [client.page(path) for path in (page_of(user), API_USERS, INDEX, "/admin/callcentre/auditlog/")]
    assert secret in response.content.decode()
    assert not any(text in page for page in pages for text in (secret, hash_secret(secret), "secret_hash"))
    assert secret not in caplog.text + str(response.cookies) + str(client.session.items())
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("allowed_networks", "10.0.0.1/8\n10.0.0.1\nx", ["10.0.0.1/8 is no network", "x is no network"]),
        ("login", "taken", ["API user with this"]),
        ("login", "ro:bot", ["A login has no colon."]),
    ],
)
def test_a_malformed_or_taken_value_is_refused_at_its_field(field, typed, said):
    ApiUserFactory(login="taken")

    response = superuser().submit(ADD_API_USER, expected=200, **{"login": "robot", field: typed})

    assert {name: len(errors) for name, errors in errors_of(response).items()} == {field: len(said)}
    assert all(map(str.startswith, errors_of(response)[field], said))
    assert ApiUser.objects.count() == 1


def test_a_login_taken_during_saving_is_refused_without_a_500(monkeypatch):
    client = superuser()
    ApiUserFactory(login="robot")
    # Both requests checked the login before the other user existed.
    monkeypatch.setattr(ApiUser, "full_clean", lambda self, **kwargs: None)
    monkeypatch.setattr("django.forms.models.BaseModelForm.validate_unique", lambda self: None)

    response = client.submit(ADD_API_USER, expected=200, login="robot")

    assert "already exists" in str(errors_of(response))


def test_an_edit_is_saved_and_written_to_the_history():
    client = superuser()
    user, _ = made(client, rights=["campaigns:read"])

    client.submit(page_of(user), rights=["*"], description="Nightly export")

    user.refresh_from_db()
    page = client.page(page_of(user))
    assert (user.rights, user.description) == (["*"], "Nightly export")
    assert user.changes.filter(action="edit", actor_kind="user").count() == 1
    assert "Nightly export" in page
    assert "campaigns:read" in page


def test_saving_without_a_change_writes_no_history_and_a_login_cannot_change():
    user = ApiUserFactory(login="robot", allowed_networks=["192.0.2.0/24"], expires_at=timezone.now())

    superuser().submit(page_of(user), login="other")

    user.refresh_from_db()
    assert (user.login, [change.action for change in user.changes.all()]) == ("robot", ["create"])


@pytest.mark.parametrize(("action", "expected", "status"), [("disable", False, 401), ("enable", True, 204)])
def test_the_list_enables_and_disables_api_users(action, expected, status):
    client = superuser()
    user, secret = made(client)
    ApiUser.objects.update(is_active=not expected)

    response = client.act(API_USERS, action, user, apply="1")

    assert messages_of(response) == [f"1 API user {action}d."]
    assert ApiClient("robot", secret).get("/api/ping").status_code == status
    assert user.changes.filter(action="edit").count() == 1


def test_a_new_secret_is_shown_once_and_the_old_one_works_for_the_chosen_hours(time_machine):
    client = superuser()
    user, old = made(client)
    path = page_of(user, "rotate_secret")
    data = inputs_of(client.page(path)) | {"overlap_hours": "2"}

    new = secret_in(client.post(path, data))
    again = client.post(path, data)

    assert errors_of(again) == {"": ["The API user was changed meanwhile, or this page was sent before."]}
    assert [ApiClient("robot", secret).get("/api/ping").status_code for secret in (old, new)] == [204, 204]
    user.refresh_from_db()
    assert timedelta(hours=1, minutes=59) < user.previous_secret_expires_at - timezone.now() <= timedelta(hours=2)


@pytest.mark.parametrize(
    ("password", "again", "field"),
    [
        ("a long and odd one", "a long and odd one", ""),
        ("a long and odd one", "another", "again"),
        ("short", "short", "password"),
        ("robot", "robot", "password"),
    ],
)
def test_a_password_replaces_the_secret_unless_it_is_bad(password, again, field):
    client = superuser()
    user, secret = made(client)

    response = client.submit(page_of(user, "set_password"), expected={200, 302}, password=password, again=again)

    statuses = [ApiClient("robot", key).get("/api/ping").status_code for key in (secret, password)]
    assert (list(errors_of(response)), statuses) == (([field], [204, 401]) if field else ([], [401, 204]))
    assert password not in str(messages_of(response))
    assert f'value="{password}"' not in response.content.decode()


def test_the_page_of_an_api_user_has_a_constant_number_of_queries():
    user = ApiUserFactory()
    for number in range(40):
        user.edit(SYSTEM, description=str(number))
    client = superuser()

    with few_statements(4):
        client.page(page_of(user))


def test_the_changes_of_api_users_are_listed_and_read_only():
    user = ApiUserFactory(login="robot")
    user.edit(SYSTEM, rate_limit=10)
    change = ApiUserChange.objects.latest("pk")
    client = superuser()

    page = client.page(reverse("admin:callcentre_apiuserchange_changelist"))

    assert "requests per minute: 10" in page
    assert client.get(reverse("admin:callcentre_apiuserchange_add")).status_code == 403
    assert client.post(reverse("admin:callcentre_apiuserchange_change", args=[change.pk]), {}).status_code == 403


def test_a_new_back_office_user_can_log_in_and_idempotency_records_are_not_in_the_admin():
    client, passwords = superuser(), dict.fromkeys(("password1", "password2"), "a long and odd one")
    client.submit(reverse("admin:callcentre_user_add"), username="ewa", **passwords)

    assert User.objects.get(username="ewa").is_staff
    assert client.get("/admin/callcentre/idempotencyrecord/").status_code == 404


def test_users_cannot_make_themselves_superusers():
    client = staff("view_user", "change_user")
    user = User.objects.get(is_superuser=False)

    client.submit(page_of(user), is_superuser="on", first_name="Ewa")

    user.refresh_from_db()
    assert (user.first_name, user.is_superuser) == ("Ewa", False)


def test_ending_a_lockout_needs_the_permission():
    for _ in range(20):
        rate_limits.count_failure("api", "robot", "192.0.2.7")
    lockout = Lockout.objects.get()

    response = superuser().act(reverse("admin:callcentre_lockout_changelist"), "forget", lockout)

    assert messages_of(response) == ["1 lockout ended."]
    assert rate_limits.locked_for("api", "robot", "192.0.2.7") == 0


# Log-in


def guess(client, times, password="wrong"):
    for _ in range(times):
        response = client.post(LOGIN, {"username": "ewa", "password": password})
    return response


def test_the_right_password_leads_to_the_front_page():
    UserFactory(username="ewa", staff=True)
    client = BackOffice()

    response = client.submit(LOGIN, username="ewa", password="user-pass")

    assert response.url == INDEX


def test_after_too_many_attempts_the_form_says_when_to_retry(settings):
    settings.LOGIN_FAILURES_PER_LOGIN = 3
    UserFactory(username="ewa", staff=True)
    client = Client()

    responses = [guess(client, 2), guess(client, 1), guess(client, 1, "user-pass")]

    assert [response.status_code for response in responses] == [200, 429, 429]
    assert 0 < int(responses[2]["Retry-After"]) <= 300
    assert errors_of(responses[2]) == {"": ["Too many attempts. Try again in 5 minutes."]}
    assert "_auth_user_id" not in client.session


def test_a_lockout_does_not_affect_another_person_at_the_same_address(settings):
    settings.LOGIN_FAILURES_PER_LOGIN = 3
    UserFactory(username="jan", staff=True)
    guess(Client(), 4)

    response = Client().post(LOGIN, {"username": "jan", "password": "user-pass", "next": INDEX})

    assert response.status_code == 302


def test_log_in_works_without_redis(monkeypatch, settings):
    # Thirty slow hashes would take six seconds.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    ewa = UserFactory(username="ewa", staff=True)
    ewa.set_password("user-pass")
    ewa.save()
    monkeypatch.setattr(rate_limits, "_fail", lambda *arguments: None)

    wrong, right = guess(Client(), 30), guess(Client(), 1, "user-pass")

    assert (wrong.status_code, right.status_code) == (200, 302)


@pytest.mark.usefixtures("with_menu")
def test_the_menu_shows_permitted_pages_and_an_explanation_without_any():
    page = staff("view_campaign", "view_agent").page(INDEX)

    names = ("campaigns_campaign", "telephony_agent", "callcentre_apiuser")
    assert [reverse(f"admin:{name}_changelist") in page for name in names] == [True, True, False]
    assert "There is nothing on this page that you may see." in staff().page(INDEX)


def test_the_language_can_be_changed():
    client = superuser()

    client.post(reverse("language"), {"language": "pl", "next": INDEX})

    assert '<html lang="pl"' in client.page(INDEX)
