"""Sessions and cookies of the back office: the life of a session, flags of cookies, redirects of the log-in."""

import subprocess
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from callcentre.signin.models import UserSession
from callcentre.tasks import prune_sessions
from tests.backoffice import BackOffice, errors_of, superuser
from tests.callcentre.factories import UserFactory
from tests.processes import ROOT, environment
from tests.serving import APPLICATION, WebServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

INDEX = reverse("admin:index")
LOGIN = reverse("admin:login")
PASSWORD_CHANGE = reverse("admin:password_change")
POLL = {"x-poll": "1"}


@pytest.fixture(autouse=True)
def _forget_counts() -> None:
    cache.clear()


@pytest.fixture
def clock(time_machine: Any) -> Any:
    """A clock that a test moves forward."""
    time_machine.move_to(timezone.now())
    return time_machine


def logged_in() -> BackOffice:
    """Return a browser whose user typed the password into the log-in page."""
    UserFactory(username="ewa", admin=True)
    client = BackOffice()
    client.submit(LOGIN, username="ewa", password="user-pass")
    return client


# The life of a session


def test_a_session_ends_after_twelve_hours_without_activity(clock: Any) -> None:
    client = logged_in()

    for expected in (200, 200, 302):
        clock.shift(timedelta(hours=11 if expected == 200 else 12))
        assert client.get(INDEX).status_code == expected


@pytest.mark.slow("hashes passwords")
def test_polling_does_not_extend_a_session(clock: Any) -> None:
    client = logged_in()

    statuses = []
    for _ in range(12):
        clock.shift(timedelta(hours=1))
        statuses.append(client.get(INDEX, headers=POLL).status_code)

    assert statuses == [200] * 11 + [302]


def test_the_idle_time_is_a_setting(settings: Any, clock: Any) -> None:
    settings.SESSION_COOKIE_AGE = 15 * 60
    client = logged_in()

    clock.shift(timedelta(minutes=16))

    assert client.get(INDEX).status_code == 302


def test_cookie_and_session_expire_together(clock: Any) -> None:
    client = logged_in()
    clock.shift(timedelta(hours=11))

    response = client.get(INDEX)

    assert response.cookies[configured.SESSION_COOKIE_NAME]["max-age"] == 12 * 60 * 60


def test_a_session_is_saved_once_a_minute_at_most(clock: Any) -> None:
    client = logged_in()

    def saves() -> bool:
        return configured.SESSION_COOKIE_NAME in client.get(INDEX).cookies

    assert not saves()
    clock.shift(timedelta(seconds=61))
    assert [saves(), saves()] == [True, False]


def test_a_request_without_a_log_in_makes_no_session() -> None:
    client = Client()

    client.get(LOGIN)
    client.get(INDEX)

    assert not UserSession.objects.exists()


def test_expired_sessions_are_deleted_every_night(clock: Any) -> None:
    logged_in()
    clock.shift(timedelta(hours=13))
    superuser()

    prune_sessions()

    assert [session.expire_date > timezone.now() for session in UserSession.objects.all()] == [True]
    assert prune_sessions.name in {entry["task"] for entry in configured.CELERY_BEAT_SCHEDULE.values()}


# Cookies


def cookies_of(client: Client) -> dict[str, Any]:
    """Return the cookies of a user who logged in and chose a language."""
    UserFactory(username="ewa", admin=True)
    client.get(LOGIN)
    client.post(LOGIN, {"username": "ewa", "password": "user-pass"})
    client.post(reverse("language"), {"language": "pl", "next": INDEX})
    return dict(client.cookies.items())


def test_cookies_are_bound_to_this_host_and_to_https() -> None:
    cookies = cookies_of(Client())

    assert set(cookies) == {"__Host-sessionid", "__Host-csrftoken", "__Host-django_language"}
    for cookie in cookies.values():
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax")
        assert (cookie["path"], cookie["domain"]) == ("/", "")


@pytest.mark.usefixtures("plain_http")
def test_cookies_over_plain_http_have_accepted_names() -> None:
    cookies = cookies_of(Client())

    assert set(cookies) == {"sessionid", "csrftoken", "django_language"}
    for cookie in cookies.values():
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == ("", True, "Lax")


@pytest.mark.parametrize(("secure", "prefix"), [("1", "__Host-"), ("0", "")])
def test_the_setting_secure_cookies_decides_names_and_flags(secure: str, prefix: str, tmp_path: Path) -> None:
    kinds = ("SESSION", "CSRF", "LANGUAGE")
    wanted = ", ".join(f"settings.{kind}_COOKIE_NAME, settings.{kind}_COOKIE_SECURE" for kind in kinds)
    code = f"from callcentre import settings; print(({wanted}))"

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(tmp_path, SECURE_COOKIES=secure),
        capture_output=True,
        text=True,
        check=True,
    )

    names = [f"{prefix}{name}" for name in ("sessionid", "csrftoken", "django_language")]
    assert done.stdout.strip() == str(tuple(value for name in names for value in (name, secure == "1")))


def test_a_browser_without_cookies_over_plain_http_gets_the_reason() -> None:
    """Check secure cookies over plain HTTP: the browser refuses them, and the log-in page explains it."""
    response = Client(enforce_csrf_checks=True).post(LOGIN, {"username": "ewa"})

    assert response.status_code == 403
    assert "Open this site by https://" in response.content.decode()


def test_a_browser_without_cookies_over_https_is_told_to_allow_them() -> None:
    origin = {"origin": "https://testserver"}

    response = Client(enforce_csrf_checks=True).post(LOGIN, {"username": "ewa"}, secure=True, headers=origin)

    assert response.status_code == 403
    assert "Allow cookies for this site" in response.content.decode()


# Redirects of the log-in

ELSEWHERE = ["https://elsewhere.example/", "//elsewhere.example/", "javascript:alert(1)", "/\\elsewhere.example", ""]


@pytest.mark.parametrize("wanted", ELSEWHERE)
@pytest.mark.parametrize("is_in_body", [True, False])
def test_a_log_in_never_redirects_to_another_site(wanted: str, is_in_body: bool) -> None:
    UserFactory(username="ewa", admin=True)
    data = {"username": "ewa", "password": "user-pass"}

    response = (
        Client().post(LOGIN, data | {"next": wanted})
        if is_in_body
        else Client().post(LOGIN, data, query_params={"next": wanted})
    )

    assert response.headers["Location"] == INDEX


@pytest.mark.parametrize("wanted", ELSEWHERE)
@pytest.mark.parametrize("is_in_body", [True, False])
def test_a_log_out_leads_to_the_log_in(wanted: str, is_in_body: bool) -> None:
    client, path = superuser(), reverse("admin:logout")

    response = client.post(path, {"next": wanted}) if is_in_body else client.post(path, query_params={"next": wanted})

    assert response.headers["Location"] == LOGIN
    assert client.get(INDEX).status_code == 302


@pytest.mark.parametrize("wanted", ELSEWHERE)
def test_a_change_of_language_never_redirects_to_another_site(wanted: str) -> None:
    response = superuser().post(reverse("language"), {"language": "pl", "next": wanted})

    assert response.headers["Location"] == "/"


# The user's own password


def change_password(client: Client, old: str, new: str = "a long and odd one") -> Any:
    return client.post(PASSWORD_CHANGE, {"old_password": old, "new_password1": new, "new_password2": new})


def test_people_change_their_own_password() -> None:
    client = logged_in()

    response = change_password(client, "user-pass")

    assert response.headers["Location"] == reverse("admin:password_change_done")
    assert client.get(INDEX).status_code == 200
    assert Client().login(username="ewa", password="a long and odd one")


def test_guesses_of_the_old_password_lock_out_like_guesses_at_the_log_in(settings: Any) -> None:
    settings.LOGIN_FAILURES_PER_LOGIN = 3
    client = logged_in()

    wrong = [errors_of(change_password(client, f"wrong-{number}"))["old_password"] for number in range(3)]
    right = change_password(client, "user-pass")

    assert wrong == [
        ["This is not your password."],
        ["This is not your password."],
        ["Too many attempts. Try again in 5 minutes."],
    ]
    assert errors_of(right)["old_password"] == ["Too many attempts. Try again in 5 minutes."]
    assert Client().post(LOGIN, {"username": "ewa", "password": "user-pass"}).status_code == 429


def test_changing_a_password_needs_a_log_in() -> None:
    response = change_password(Client(), "user-pass")

    assert response.headers["Location"].startswith(LOGIN)


@pytest.mark.usefixtures("committed_db")
def test_pages_survive_the_end_of_their_database_connection(servers: list[WebServer]) -> None:
    """A thread keeps its connection between requests, and the database may have restarted meanwhile."""
    user = UserFactory(admin=True)
    client = Client()
    client.force_login(user)
    cookie = f"{configured.SESSION_COOKIE_NAME}={client.cookies[configured.SESSION_COOKIE_NAME].value}"
    # A page that only redirects logged-in users to the front page.
    ask = partial(servers[0].request, "GET", LOGIN, Cookie=cookie)
    assert ask().status == 302

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = %s",
            [APPLICATION],
        )
        assert cursor.fetchone()[0] >= 1

    assert [ask().status for _ in range(20)] == [302] * 20
