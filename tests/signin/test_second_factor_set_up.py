"""Setting up the second factor."""

import base64
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection

from callcentre.signin.models import SecondFactor
from callcentre.signin.verbs.second_factor import confirm_second_factor
from tests.backoffice import BackOffice, after_a_while, errors_of, superuser
from tests.callcentre.factories import SecondFactorFactory, UserFactory, code_of
from tests.signin.second_factor import (
    CODE,
    INDEX,
    OVERVIEW,
    SET_UP,
    WRONG,
    a_factor,
    after_the_password,
    recovery_codes,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]


def test_a_person_sets_up_the_second_factor_and_logs_in_with_it(clock: Any) -> None:
    UserFactory(username="ewa", staff=True)
    client, _answer = after_the_password()
    client.page(SET_UP)
    factor = SecondFactor.objects.get()

    codes = recovery_codes(client.post(SET_UP, {"code": code_of(factor)}).content)

    assert factor.confirmed is False
    assert len(set(codes)) == 10
    clock.shift(timedelta(seconds=30))
    second, answer = after_the_password()
    assert answer.url == CODE
    assert second.submit(CODE, code=code_of(SecondFactor.objects.get())).url == INDEX


def test_the_qr_code_holds_the_key_for_the_app() -> None:
    client = superuser()

    values = client.values(SET_UP)

    factor = SecondFactor.objects.get()
    address = urlsplit(values["address"])
    assert (address.scheme, address.netloc) == ("otpauth", "totp")
    assert parse_qs(address.query)["secret"] == [factor.key] == [values["key"].replace(" ", "")]
    assert len(base64.b32decode(factor.key)) == 20
    assert values["image"].startswith("data:image/svg+xml")


def test_the_key_stays_for_ten_minutes_in_a_session(clock: Any) -> None:
    client = superuser()
    first = client.values(SET_UP)["key"]

    clock.shift(timedelta(minutes=9))
    second = client.values(SET_UP)["key"]
    client.post(SET_UP, {"code": WRONG})
    third = client.values(SET_UP)["key"]
    clock.shift(timedelta(minutes=2))

    assert first == second == third
    assert client.values(SET_UP)["key"] != first


def test_another_session_gets_another_key() -> None:
    """A stranger with the password must not know the key that the person then confirms."""
    UserFactory(username="ewa", admin=True)
    stranger, _answer = after_the_password()
    client, _answer = after_the_password()
    first = stranger.values(SET_UP)["key"]

    second = client.values(SET_UP)["key"]
    shown = stranger.post(SET_UP, {"code": WRONG}).context["key"]

    assert len({first, second, shown}) == 3


def test_the_key_is_encrypted_in_the_database() -> None:
    factor = a_factor()

    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM signin_secondfactor")
        stored = cursor.fetchone()[0]

    assert factor.key not in stored


def test_a_wrong_code_does_not_switch_on_the_second_factor() -> None:
    client = superuser()
    client.page(SET_UP)

    answer = client.post(SET_UP, {"code": WRONG})

    assert "code" in errors_of(answer)
    assert SecondFactor.objects.get().confirmed is False


def test_an_unconfirmed_second_factor_is_not_asked_for() -> None:
    SecondFactorFactory(user=UserFactory(username="ewa", staff=True), confirmed=False)

    assert after_the_password()[1].url == INDEX


def test_setting_up_asks_for_the_own_password() -> None:
    client = after_a_while(superuser())
    client.page(SET_UP)

    answer = client.post(SET_UP, {"code": code_of(SecondFactor.objects.get())})

    assert "own_password" in errors_of(answer)
    assert SecondFactor.objects.get().confirmed is False


def test_setting_up_ends_the_other_sessions() -> None:
    UserFactory(username="ewa", admin=True)
    other, _answer = after_the_password()
    client, _answer = after_the_password()
    client.page(SET_UP)

    client.post(SET_UP, {"code": code_of(SecondFactor.objects.get())})

    assert other.get(INDEX).status_code == 302
    assert client.get(INDEX).status_code == 200


def test_a_second_factor_that_is_on_is_not_replaced() -> None:
    factor = a_factor()
    client = BackOffice()
    client.force_login(factor.user)

    assert client.get(SET_UP).headers["Location"] == OVERVIEW
    assert confirm_second_factor(factor.user, factor.user.actor, code_of(factor)) == []
