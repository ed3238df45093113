"""The sessions of a person: listed and ended by the person, or by an administrator."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from callcentre.core.audit import AuditAction, AuditEntry
from callcentre.models import User
from callcentre.signin.browsers import in_words
from callcentre.signin.models import UserSession
from callcentre.signin.verbs.sessions import sessions_of
from tests.backoffice import BackOffice, page_of, superuser
from tests.callcentre.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]

INDEX, LOGIN, SESSIONS = reverse("admin:index"), reverse("admin:login"), reverse("own-sessions")
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
PHONE = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Mobile Safari/537.36"


def log_in(browser: str = FIREFOX, address: str = "192.0.2.7") -> BackOffice:
    User.objects.filter(username="ewa").exists() or UserFactory(username="ewa", admin=True)
    client = BackOffice(headers={"user-agent": browser}, REMOTE_ADDR=address)
    client.submit(LOGIN, username="ewa", password="user-pass")
    return client


def test_the_page_lists_the_sessions_with_browser_address_and_times() -> None:
    client = log_in()
    log_in(PHONE, "198.51.100.4")

    rows = client.values(SESSIONS)["rows"]

    assert {(row["browser"], row["address"], row["is_this"]) for row in rows} == {
        ("Firefox, Linux", "192.0.2.7", True),
        ("Chrome, Android", "198.51.100.4", False),
    }
    assert all(timezone.now() - row["started_at"] < timedelta(minutes=5) for row in rows)
    assert all(timezone.now() - row["seen_at"] < timedelta(minutes=5) for row in rows)


def test_the_page_shows_no_key_of_a_session() -> None:
    client = log_in()
    log_in(PHONE)

    page = client.page(SESSIONS)

    assert not any(key in page for key in UserSession.objects.values_list("session_key", flat=True))


def test_an_ended_session_is_logged_out() -> None:
    client, other, third = log_in(), log_in(PHONE), log_in()
    (row,) = [row for row in client.values(SESSIONS)["rows"] if row["browser"] == "Chrome, Android"]

    client.post(SESSIONS, {"session": row["name"]})

    assert [each.get(INDEX).status_code for each in (client, other, third)] == [200, 302, 200]
    assert AuditEntry.objects.filter(action=AuditAction.END_SESSIONS).count() == 1


def test_all_other_sessions_end() -> None:
    client, other, third = log_in(), log_in(PHONE), log_in()

    client.post(SESSIONS, {})

    assert [each.get(INDEX).status_code for each in (client, other, third)] == [200, 302, 302]


def test_a_person_cannot_end_sessions_of_another() -> None:
    client = log_in()
    stranger = superuser()
    (name,) = [row["name"] for row in client.values(SESSIONS)["rows"]]

    stranger.post(SESSIONS, {"session": name})

    assert client.get(INDEX).status_code == 200


def test_a_changed_password_ends_the_other_sessions() -> None:
    client, other = log_in(), log_in(PHONE)

    client.submit(
        reverse("admin:password_change"),
        old_password="user-pass",
        new_password1="a-quite-long-word-7",
        new_password2="a-quite-long-word-7",
    )

    assert [each.get(INDEX).status_code for each in (client, other)] == [200, 302]
    assert len(client.values(SESSIONS)["rows"]) == 1


def test_an_administrator_sees_and_ends_the_sessions_of_a_person() -> None:
    client = log_in()
    administrator = superuser()
    page = page_of(User.objects.get(username="ewa"), "log_ins")

    (row,) = administrator.values(page)["rows"]
    administrator.post(page, {"session": row["name"]})

    assert (row["browser"], row["is_this"]) == ("Firefox, Linux", False)
    assert client.get(INDEX).status_code == 302


def test_a_session_is_seen_again_after_a_minute(time_machine: Any) -> None:
    time_machine.move_to(timezone.now(), tick=False)
    client = log_in()
    started = UserSession.objects.get().seen_at

    time_machine.shift(timedelta(seconds=61))
    client.get(INDEX)

    assert started is not None
    assert (UserSession.objects.get().seen_at or started) - started == timedelta(seconds=61)


def test_expired_sessions_are_not_listed() -> None:
    log_in()
    UserSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))

    assert sessions_of(User.objects.get(username="ewa")) == []


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
def test_browsers_in_words(user_agent: str, expected: str) -> None:
    assert in_words(user_agent) == expected
