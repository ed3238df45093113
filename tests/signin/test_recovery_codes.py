"""Recovery codes: shown once, stored as hashes, each used once."""

import pytest

from callcentre.signin.models import RecoveryCode, SecondFactor
from callcentre.signin.verbs.second_factor import check_code
from tests.backoffice import after_a_while, errors_of
from tests.callcentre.factories import SecondFactorFactory, UserFactory
from tests.signin.second_factor import (
    CODE,
    CODES,
    INDEX,
    OFF,
    OVERVIEW,
    WRONG,
    after_the_password,
    recovery_codes,
    with_codes,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]


def test_a_recovery_code_completes_the_log_in_once() -> None:
    _factor, _client, codes = with_codes()
    first, _answer = after_the_password()
    second, _answer = after_the_password()

    assert first.submit(CODE, code=codes[3].upper()).url == INDEX
    assert "code" in errors_of(second.submit(CODE, code=codes[3], expected=200))
    assert RecoveryCode.objects.count() == 9


def test_recovery_codes_work_while_codes_of_the_app_have_to_wait() -> None:
    factor, _client, codes = with_codes()
    check_code(factor.user, WRONG)

    assert check_code(factor.user, codes[0]) is True


def test_recovery_codes_are_stored_as_hashes() -> None:
    _factor, _client, codes = with_codes()

    stored = set(RecoveryCode.objects.values_list("digest", flat=True))

    assert stored.isdisjoint({*codes, *(code.replace("-", "") for code in codes)})


def test_a_new_set_replaces_the_old_one() -> None:
    factor, client, codes = with_codes()

    fresh = recovery_codes(client.post(CODES, {"code": codes[1]}).content)

    assert check_code(factor.user, codes[0]) is False
    assert check_code(factor.user, fresh[0]) is True


def test_no_page_shows_recovery_codes_again() -> None:
    _factor, client, codes = with_codes()

    text = client.page(OVERVIEW) + client.page(CODES)

    assert not any(code in text for code in codes)


@pytest.mark.parametrize("path", [CODES, OFF])
def test_changes_of_the_second_factor_ask_for_a_code(path: str) -> None:
    factor, client, codes = with_codes()

    answers = [client.post(path, {}), client.post(path, {"code": WRONG})]

    assert all("code" in errors_of(answer) for answer in answers)
    assert SecondFactor.objects.get().confirmed is True
    assert check_code(factor.user, codes[0]) is True


@pytest.mark.parametrize("path", [CODES, OFF])
def test_changes_of_the_second_factor_ask_for_the_own_password(path: str) -> None:
    factor, client, codes = with_codes()
    after_a_while(client)

    answer = client.post(path, {"code": codes[1]})

    assert "own_password" in errors_of(answer)
    assert SecondFactor.objects.get().confirmed is True
    assert check_code(factor.user, codes[0]) is True


def test_another_persons_recovery_code_is_refused() -> None:
    _factor, _client, codes = with_codes()
    other = SecondFactorFactory(user=UserFactory(username="jan", staff=True))

    assert check_code(other.user, codes[0]) is False
