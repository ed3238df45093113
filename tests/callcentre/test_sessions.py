"""Sessions and cookies of the back office: the life of a session, flags of cookies, redirects of the log-in."""

import subprocess
import sys
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.conf import settings as configured
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from callcentre.core.audit import AuditAction, AuditEntry
from callcentre.models import User
from callcentre.signin.browsers import in_words
from callcentre.signin.models import UserSession
from callcentre.signin.verbs import sessions_of
from callcentre.tasks import prune_sessions
from tests.backoffice import BackOffice, errors_of, page_of, superuser
from tests.callcentre.factories import UserFactory
from tests.processes import ROOT, environment
from tests.serving import end_connections

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

INDEX = reverse("admin:index")
LOGIN = reverse("admin:login")
PASSWORD_CHANGE = reverse("admin:password_change")
POLL = {"x-poll": "1"}


def logged_in() -> BackOffice:
    """Return a browser whose user typed the password into the log-in page."""
    UserFactory(username="ewa", admin=True)
    client = BackOffice()
    client.submit(LOGIN, username="ewa", password="user-pass")
    return client


# The life of a session


@pytest.mark.parametrize(
    ("seconds", "headers", "steps"),
    [
        (12 * 3600, {}, [(11, 200), (11, 200), (12, 302)]),
        # Polling does not extend a session.
        (12 * 3600, POLL, [*[(1, 200)] * 11, (1, 302)]),
        (15 * 60, {}, [(0.2, 200), (0.3, 302)]),
    ],
)
def test_a_session_ends_after_a_time_without_activity(seconds, headers, steps, settings, clock):
    settings.SESSION_COOKIE_AGE = seconds
    client = logged_in()

    for hours, expected in steps:
        clock.shift(timedelta(hours=hours))
        assert client.get(INDEX, headers=headers).status_code == expected


def test_a_session_is_saved_once_a_minute_at_most_and_expires_with_its_cookie(clock):
    client = logged_in()

    def saved() -> Any:
        cookie = client.get(INDEX).cookies.get(configured.SESSION_COOKIE_NAME)
        return cookie and cookie["max-age"]

    assert saved() is None
    for pause in (timedelta(seconds=61), timedelta(hours=11)):
        clock.shift(pause)
        assert [saved(), saved()] == [12 * 60 * 60, None]


def test_a_request_without_a_log_in_makes_no_session():
    client = Client()

    client.get(LOGIN)
    client.get(INDEX)

    assert not UserSession.objects.exists()


def test_expired_sessions_are_deleted_every_night(clock):
    logged_in()
    clock.shift(timedelta(hours=13))
    superuser()

    prune_sessions()

    assert [session.expire_date > timezone.now() for session in UserSession.objects.all()] == [True]
    assert prune_sessions.name in {entry["task"] for entry in configured.CELERY_BEAT_SCHEDULE.values()}


def cookies_of(client: Client) -> dict[str, Any]:
    """Return the cookies of a user who logged in and chose a language."""
    UserFactory(username="ewa", admin=True)
    client.get(LOGIN)
    client.post(LOGIN, {"username": "ewa", "password": "user-pass"})
    client.post(reverse("language"), {"language": "pl", "next": INDEX})
    return dict(client.cookies.items())


@pytest.mark.parametrize(("fixture", "prefix", "secure"), [("plain_static", "__Host-", True), ("plain_http", "", "")])
def test_cookies_are_bound_to_this_host_and_to_https_if_there_is_https(fixture, prefix, secure, request):
    request.getfixturevalue(fixture)

    cookies = cookies_of(Client())

    assert set(cookies) == {f"{prefix}sessionid", f"{prefix}csrftoken", f"{prefix}django_language"}
    for cookie in cookies.values():
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (secure, True, "Lax")
        assert (cookie["path"], cookie["domain"]) == ("/", "")


@pytest.mark.parametrize(("secure", "prefix"), [("1", "__Host-"), ("0", "")])
def test_the_setting_secure_cookies_decides_names_and_flags(secure, prefix, tmp_path):
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


@pytest.mark.parametrize(
    ("secure", "said"), [(False, "Open this site by https://"), (True, "Allow cookies for this site")]
)
def test_a_browser_without_cookies_gets_the_reason(secure, said):
    """Check secure cookies over plain HTTP too: the browser refuses them, and the log-in page explains it."""
    origin = {"origin": "https://testserver"} if secure else {}

    response = Client(enforce_csrf_checks=True).post(LOGIN, {"username": "ewa"}, secure=secure, headers=origin)

    assert (response.status_code, said in response.content.decode()) == (403, True)


ELSEWHERE = ["https://elsewhere.example/", "//elsewhere.example/", "javascript:alert(1)", "/\\elsewhere.example", ""]


@pytest.mark.parametrize("wanted", ELSEWHERE)
@pytest.mark.parametrize("is_in_body", [True, False])
def test_a_log_in_a_log_out_and_a_change_of_language_never_redirect_elsewhere(wanted, is_in_body):
    UserFactory(username="ewa", admin=True)
    inside, typed = superuser(), {"username": "ewa", "password": "user-pass"}

    def place_of(client: Client, path: str, data: dict[str, str]) -> str:
        if is_in_body:
            return client.post(path, data | {"next": wanted}).headers["Location"]
        return client.post(path, data, query_params={"next": wanted}).headers["Location"]

    assert place_of(Client(), LOGIN, typed) == INDEX
    assert place_of(inside, reverse("language"), {"language": "pl"}) == "/"
    assert place_of(inside, reverse("admin:logout"), {}) == LOGIN
    assert inside.get(INDEX).status_code == 302


# The user's own password


def change_password(client: Client, old: str, new: str = "a long and odd one") -> Any:
    return client.post(PASSWORD_CHANGE, {"old_password": old, "new_password1": new, "new_password2": new})


def test_people_change_their_own_password_after_a_log_in():
    client = logged_in()

    stranger, response = change_password(Client(), "user-pass"), change_password(client, "user-pass")

    assert stranger.headers["Location"].startswith(LOGIN)
    assert response.headers["Location"] == reverse("admin:password_change_done")
    assert client.get(INDEX).status_code == 200
    assert Client().login(username="ewa", password="a long and odd one")


def test_guesses_of_the_old_password_lock_out_like_guesses_at_the_log_in(settings):
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


@pytest.mark.usefixtures("committed_db")
def test_pages_survive_the_end_of_their_database_connection(servers):
    """A thread keeps its connection between requests, and the database may have restarted meanwhile."""
    user = UserFactory(admin=True)
    client = Client()
    client.force_login(user)
    cookie = f"{configured.SESSION_COOKIE_NAME}={client.cookies[configured.SESSION_COOKIE_NAME].value}"
    # A page that only redirects logged-in users to the front page.
    ask = partial(servers[0].request, "GET", LOGIN, Cookie=cookie)
    assert ask().status == 302

    end_connections()

    assert [ask().status for _ in range(20)] == [302] * 20


INDEX, LOGIN, SESSIONS = reverse("admin:index"), reverse("admin:login"), reverse("own-sessions")
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
PHONE = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Mobile Safari/537.36"


def log_in(browser: str = FIREFOX, address: str = "192.0.2.7") -> BackOffice:
    User.objects.filter(username="ewa").exists() or UserFactory(username="ewa", admin=True)
    client = BackOffice(headers={"user-agent": browser}, REMOTE_ADDR=address)
    client.submit(LOGIN, username="ewa", password="user-pass")
    return client


def test_the_page_lists_the_sessions_with_browser_address_and_times_and_without_their_keys():
    client = log_in()
    log_in(PHONE, "198.51.100.4")

    rows, page = client.values(SESSIONS)["rows"], client.page(SESSIONS)

    assert {(row["browser"], row["address"], row["is_this"]) for row in rows} == {
        ("Firefox, Linux", "192.0.2.7", True),
        ("Chrome, Android", "198.51.100.4", False),
    }
    assert all(timezone.now() - row[each] < timedelta(minutes=5) for row in rows for each in ("started_at", "seen_at"))
    assert not any(key in page for key in UserSession.objects.values_list("session_key", flat=True))
    UserSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert sessions_of(User.objects.get(username="ewa")) == []


def test_a_person_ends_one_session_or_all_others_and_none_of_another_person():
    client, other, third, stranger = log_in(), log_in(PHONE), log_in(), superuser()
    names = {row["browser"]: row["name"] for row in client.values(SESSIONS)["rows"]}

    def statuses() -> list[int]:
        return [each.get(INDEX).status_code for each in (client, other, third)]

    stranger.post(SESSIONS, {"session": names["Chrome, Android"]})
    assert statuses() == [200, 200, 200]
    client.post(SESSIONS, {"session": names["Chrome, Android"]})
    assert statuses() == [200, 302, 200]
    assert AuditEntry.objects.filter(action=AuditAction.END_SESSIONS).count() == 1
    client.post(SESSIONS, {})
    assert statuses() == [200, 302, 302]


def test_a_changed_password_ends_the_other_sessions():
    client, other = log_in(), log_in(PHONE)

    client.submit(
        reverse("admin:password_change"),
        old_password="user-pass",
        new_password1="a-quite-long-word-7",
        new_password2="a-quite-long-word-7",
    )

    assert [each.get(INDEX).status_code for each in (client, other)] == [200, 302]
    assert len(client.values(SESSIONS)["rows"]) == 1


def test_an_administrator_sees_and_ends_the_sessions_of_a_person():
    client = log_in()
    administrator = superuser()
    page = page_of(User.objects.get(username="ewa"), "log_ins")

    (row,) = administrator.values(page)["rows"]
    administrator.post(page, {"session": row["name"]})

    assert (row["browser"], row["is_this"]) == ("Firefox, Linux", False)
    assert client.get(INDEX).status_code == 302


def test_a_session_is_seen_again_after_a_minute(time_machine):
    time_machine.move_to(timezone.now(), tick=False)
    client = log_in()
    started = UserSession.objects.get().seen_at

    time_machine.shift(timedelta(seconds=61))
    client.get(INDEX)

    assert started is not None
    assert (UserSession.objects.get().seen_at or started) - started == timedelta(seconds=61)


@pytest.mark.parametrize(
    ("user_agent", "expected"),
    [
        (FIREFOX, "Firefox, Linux"),
        (PHONE, "Chrome, Android"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0", "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Safari/604.1", "Safari, iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/18.1 Safari/605.1.15", "Safari, macOS"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", ""),
    ],
)
def test_browsers_in_words(user_agent, expected):
    assert in_words(user_agent) == expected
