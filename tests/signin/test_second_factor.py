"""The second step of a log-in, and the codes of the app."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from callcentre.models import User
from callcentre.signin.models import SecondFactor
from callcentre.signin.verbs import check_code
from tests.admin_pages import addresses, row_of_each_model
from tests.backoffice import BackOffice, errors_of
from tests.callcentre.factories import UserFactory, code_of
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


@pytest.mark.parametrize(
    ("wanted", "reached"), [("/admin/search/", "/admin/search/"), ("https://evil.example/", INDEX)]
)
def test_the_password_alone_is_no_log_in_and_a_code_of_the_app_completes_it(wanted, reached):
    factor = a_factor(is_superuser=True)

    client, answer = after_the_password(next=wanted)

    assert (answer.url, "_auth_user_id" in client.session) == (CODE, False)
    assert client.get(INDEX).headers["Location"].startswith(LOGIN)
    assert client.get("/admin/overview/now", headers={"x-poll": "1"}).headers["Location"].startswith(LOGIN)
    assert [client.get(f"/api/{path}").status_code for path in ("docs", "schema", "ping")] == [401] * 3
    assert client.submit(CODE, code=code_of(factor)).url == reached
    assert client.get(INDEX).status_code == 200


@pytest.mark.slow("opens many pages")
def test_between_the_steps_no_page_of_the_admin_opens():
    paths = [*addresses(row_of_each_model()), "/admin/autocomplete/", "/admin/search/", "/admin/overview/now"]
    paths += ["/admin/desk/", "/admin/desk/now", "/admin/wallboard/", OVERVIEW, SET_UP, CODES, OFF, "/admin/sessions/"]
    a_factor(is_superuser=True)
    client, _answer = after_the_password()

    opened = [path for path in paths if not client.get(path).headers.get("Location", "").startswith(LOGIN)]

    assert [path for path in opened if not path.startswith("/admin/jsi18n")] == []


@pytest.mark.parametrize(
    "change",
    [
        {"password": "another"},
        {"is_active": False},
        timedelta(minutes=11),
        None,
    ],
    ids=["changed password", "inactive", "eleven minutes later", "without the first step"],
)
def test_the_second_step_needs_the_first_of_the_same_user_within_ten_minutes(change, clock):
    factor = a_factor()
    client = after_the_password()[0] if change else Client()
    if isinstance(change, timedelta):
        clock.shift(change)
    elif change:
        User.objects.update(**change)

    assert client.post(CODE, {"code": code_of(factor)}).headers["Location"] == LOGIN


def test_a_person_without_second_factor_logs_in_by_the_password_alone():
    UserFactory(username="ewa", staff=True)

    _client, answer = after_the_password()

    assert answer.url == INDEX


# Codes


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # A phone may be thirty seconds early or late.
        *(([-2], [False]), ([-1], [True]), ([1], [True]), ([2], [False])),
        # A code works once, and an older one not after a newer one.
        *(([0, 0], [True, False]), ([0, -1], [True, False])),
    ],
)
def test_a_code_of_these_thirty_seconds_or_the_next_works_once(steps, expected, clock):
    factor = a_factor()
    codes = [code_of(factor, step) for step in steps]

    # It may be typed with spaces.
    assert [check_code(factor.user, f" {code[:3]} {code[3:]} ") for code in codes] == expected


@pytest.mark.parametrize("text", ["", " ", "12345", "１２３４５６", "-12345", "1e5", "x" * 40, "\ud83d"])
def test_other_texts_are_refused(text):
    assert check_code(a_factor().user, text) is False


def test_after_wrong_codes_a_right_one_has_to_wait(clock):
    factor = a_factor()

    for wait in (1, 2, 4):
        assert check_code(factor.user, WRONG) is False
        assert check_code(factor.user, code_of(factor)) is False
        clock.shift(timedelta(seconds=wait))

    assert check_code(factor.user, code_of(factor)) is True


def test_the_wait_after_wrong_codes_has_a_cap(clock):
    factor = a_factor()
    SecondFactor.objects.update(throttling_failure_count=60, throttling_failure_timestamp=timezone.now())

    assert check_code(factor.user, code_of(factor)) is False
    clock.shift(timedelta(seconds=512))

    assert check_code(factor.user, WRONG) is False
    factor.refresh_from_db()
    assert factor.waiting_seconds <= 512


def test_wrong_codes_lock_out_like_wrong_passwords_and_the_page_says_how_long_to_wait(settings, clock):
    settings.LOGIN_FAILURES_PER_LOGIN = 3
    factor = a_factor()
    client, _answer = after_the_password()

    answers = [client.post(CODE, {"code": WRONG}) for _ in range(4)]
    answers.append(client.post(CODE, {"code": code_of(factor)}))

    assert errors_of(answers[0]) == {"code": ["This code is wrong, or was used before. Wait 1 second."]}
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429, 429]
    assert answers[4].headers["Retry-After"]
    assert BackOffice().post(LOGIN, {"username": "ewa", "password": "user-pass"}).status_code == 429
    assert factor.user.recovery_codes.count() == 0


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_with_one_code_at_once_one_succeeds(committed_db):
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
