"""The second step of a log-in, and the codes of the app."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from callcentre.models import User
from callcentre.passwords import REALM
from callcentre.signin.models import SecondFactor
from callcentre.signin.verbs.second_factor import check_code
from tests.admin_pages import addresses, row_of_each_model
from tests.backoffice import BackOffice, errors_of
from tests.callcentre.factories import LockoutFactory, UserFactory, code_of
from tests.signin.second_factor import (
    CODE,
    CODES,
    INDEX,
    LOGIN,
    OFF,
    OVERVIEW,
    SET_UP,
    WRONG,
    a_factor,
    after_the_password,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]


# The second step


def test_the_password_alone_is_no_log_in() -> None:
    a_factor(is_superuser=True)

    client, answer = after_the_password()

    assert answer.url == CODE
    assert "_auth_user_id" not in client.session
    assert client.get(INDEX).headers["Location"].startswith(LOGIN)


def test_a_code_of_the_app_completes_the_log_in() -> None:
    factor = a_factor(is_superuser=True)
    client, _answer = after_the_password(next="/admin/search/")

    answer = client.submit(CODE, code=code_of(factor))

    assert answer.url == "/admin/search/"
    assert client.get(INDEX).status_code == 200


@pytest.mark.slow("hashes passwords")
def test_between_the_steps_no_page_of_the_admin_opens() -> None:
    paths = [*addresses(row_of_each_model()), "/admin/autocomplete/", "/admin/search/", "/admin/overview/now"]
    paths += ["/admin/desk/", "/admin/desk/now", "/admin/wallboard/", OVERVIEW, SET_UP, CODES, OFF, "/admin/sessions/"]
    a_factor(is_superuser=True)
    client, _answer = after_the_password()

    opened = [path for path in paths if not client.get(path).headers.get("Location", "").startswith(LOGIN)]

    assert [path for path in opened if not path.startswith("/admin/jsi18n")] == []


@pytest.mark.parametrize("path", ["/api/docs", "/api/schema", "/api/ping"])
def test_between_the_steps_the_documents_of_the_api_do_not_open(path: str) -> None:
    a_factor(is_superuser=True)
    client, _answer = after_the_password()

    assert client.get(path).status_code == 401


def test_polls_are_refused_between_the_steps() -> None:
    a_factor(is_superuser=True)
    client, _answer = after_the_password()

    assert client.get("/admin/overview/now", headers={"x-poll": "1"}).headers["Location"].startswith(LOGIN)


def test_the_second_step_does_not_redirect_to_another_site() -> None:
    factor = a_factor()
    client, _answer = after_the_password(next="https://evil.example/")

    assert client.submit(CODE, code=code_of(factor)).url == INDEX


def test_the_second_step_needs_the_first() -> None:
    factor = a_factor()

    answer = Client().post(CODE, {"code": code_of(factor)})

    assert answer.headers["Location"] == LOGIN


def test_the_second_step_must_follow_within_ten_minutes(clock: Any) -> None:
    factor = a_factor()
    client, _answer = after_the_password()
    clock.shift(timedelta(minutes=11))

    assert client.post(CODE, {"code": code_of(factor)}).headers["Location"] == LOGIN


def test_a_changed_password_ends_a_log_in_between_its_steps() -> None:
    factor = a_factor()
    client, _answer = after_the_password()
    factor.user.set_password("another-pass-1")
    factor.user.save()

    assert client.post(CODE, {"code": code_of(factor)}).headers["Location"] == LOGIN


def test_an_inactive_user_does_not_get_past_the_second_step() -> None:
    factor = a_factor()
    client, _answer = after_the_password()
    User.objects.update(is_active=False)

    assert client.post(CODE, {"code": code_of(factor)}).headers["Location"] == LOGIN


def test_a_person_without_second_factor_logs_in_by_the_password_alone() -> None:
    UserFactory(username="ewa", staff=True)

    _client, answer = after_the_password()

    assert answer.url == INDEX


# Codes


def test_a_code_works_once(clock: Any) -> None:
    factor = a_factor()
    code = code_of(factor)

    assert [check_code(factor.user, code), check_code(factor.user, code)] == [True, False]


def test_an_older_code_is_refused_after_a_newer_one(clock: Any) -> None:
    factor = a_factor()
    older = code_of(factor, -1)

    assert [check_code(factor.user, code_of(factor)), check_code(factor.user, older)] == [True, False]


@pytest.mark.parametrize(("steps", "expected"), [(-2, False), (-1, True), (1, True), (2, False)])
def test_a_phone_may_be_thirty_seconds_early_or_late(steps: int, expected: bool, clock: Any) -> None:
    factor = a_factor()

    assert check_code(factor.user, code_of(factor, steps)) is expected


@pytest.mark.parametrize("text", ["", " ", "12345", "１２３４５６", "-12345", "1e5", "x" * 40, "\ud83d"])
def test_other_texts_are_refused(text: str) -> None:
    assert check_code(a_factor().user, text) is False


def test_a_code_may_be_typed_with_spaces(clock: Any) -> None:
    factor = a_factor()
    code = code_of(factor)

    assert check_code(factor.user, f" {code[:3]} {code[3:]} ") is True


def test_after_wrong_codes_a_right_one_has_to_wait(clock: Any) -> None:
    factor = a_factor()

    for wait in (1, 2, 4):
        assert check_code(factor.user, WRONG) is False
        assert check_code(factor.user, code_of(factor)) is False
        clock.shift(timedelta(seconds=wait))

    assert check_code(factor.user, code_of(factor)) is True


def test_the_wait_after_wrong_codes_has_a_cap(clock: Any) -> None:
    factor = a_factor()
    SecondFactor.objects.update(throttling_failure_count=60, throttling_failure_timestamp=timezone.now())

    assert check_code(factor.user, code_of(factor)) is False
    clock.shift(timedelta(seconds=512))

    assert check_code(factor.user, WRONG) is False
    factor.refresh_from_db()
    assert factor.waiting_seconds <= 512


def test_the_page_says_how_long_to_wait(clock: Any) -> None:
    a_factor()
    client, _answer = after_the_password()

    answer = client.submit(CODE, code=WRONG, expected=200)

    assert errors_of(answer) == {"code": ["This code is wrong, or was used before. Wait 1 second."]}


def test_wrong_codes_lock_out_like_wrong_passwords(settings: Any) -> None:
    settings.LOGIN_FAILURES_PER_LOGIN = 3
    factor = a_factor()
    client, _answer = after_the_password()

    statuses = [client.post(CODE, {"code": WRONG}).status_code for _ in range(4)]

    assert statuses == [200, 200, 429, 429]
    assert BackOffice().post(LOGIN, {"username": "ewa", "password": "user-pass"}).status_code == 429
    assert factor.user.recovery_codes.count() == 0


def test_during_a_lockout_even_a_right_code_is_refused() -> None:
    factor = a_factor()
    client, _answer = after_the_password()
    LockoutFactory(realm=REALM, source="127.0.0.1", login="ewa")

    answer = client.post(CODE, {"code": code_of(factor)})

    assert answer.status_code == 429
    assert answer.headers["Retry-After"]


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_with_one_code_at_once_one_succeeds(committed_db: None) -> None:
    factor = a_factor()
    code, results = code_of(factor), []

    def check() -> None:
        results.append(check_code(factor.user, code))
        connection.close()

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == [False, False, False, True]
