"""Switching the second factor off: by its person, and by an administrator."""

import pytest
from django.contrib.auth.models import Permission

from callcentre.core.audit import AuditAction, AuditEntry
from callcentre.models import User
from callcentre.signin.models import RecoveryCode, SecondFactor
from callcentre.signin.verbs import check_code
from tests.backoffice import BackOffice, after_a_while, errors_of, messages_of, page_of, superuser
from tests.callcentre.factories import SecondFactorFactory, UserFactory, code_of
from tests.signin.second_factor import (
    CODE,
    CODES,
    INDEX,
    OFF,
    OVERVIEW,
    SET_UP,
    WRONG,
    a_factor,
    after_the_password,
    recovery_codes,
    with_codes,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]


@pytest.mark.parametrize("by_administrator", [False, True])
def test_removing_the_second_factor_removes_key_and_codes_and_ends_the_other_sessions(by_administrator):
    factor, client, codes = with_codes()
    other = BackOffice()
    other.force_login(factor.user)

    if by_administrator:
        client = superuser()
        answer = client.submit(page_of(factor.user, "remove_factor"))
        assert messages_of(answer) == ["The second factor is removed, and the person is logged out."]
    else:
        client.post(OFF, {"code": codes[0]})

    assert [each.get(INDEX).status_code for each in (other, client)] == [302, 200]
    assert (SecondFactor.objects.count(), RecoveryCode.objects.count()) == (0, 0)
    assert after_the_password()[1].url == INDEX


def test_removing_the_second_factor_of_a_person_asks_for_the_own_password():
    factor = a_factor()
    client = after_a_while(superuser())

    answer = client.post(page_of(factor.user, "remove_factor"), {})

    assert "own_password" in errors_of(answer)
    assert SecondFactor.objects.exists()


@pytest.mark.parametrize("page", ["remove_factor", "log_ins"])
def test_the_second_factor_and_sessions_of_a_stronger_person_are_out_of_reach(page):
    factor = a_factor(is_superuser=True)
    stronger, _answer = after_the_password()
    stronger.submit(CODE, code=code_of(factor))
    editor = UserFactory(staff=True)
    editor.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    client = BackOffice()
    client.force_login(editor)

    answers = [client.get(page_of(factor.user, page)).status_code, client.post(page_of(factor.user, page)).status_code]

    assert answers == [403, 403]
    assert SecondFactor.objects.exists()
    assert stronger.get(INDEX).status_code == 200


def test_the_audit_log_has_setting_up_using_a_recovery_code_and_removing(clock):
    UserFactory(username="ewa", staff=True)
    client, _answer = after_the_password()
    client.page(SET_UP)
    codes = recovery_codes(client.post(SET_UP, {"code": code_of(SecondFactor.objects.get())}).content)
    other, _answer = after_the_password()
    other.submit(CODE, code=codes[0])
    client.post(CODES, {"code": code_of(SecondFactor.objects.get(), 1)})

    superuser().submit(page_of(User.objects.get(username="ewa"), "remove_factor"))

    ours = [
        *(AuditAction.SET_UP_FACTOR, AuditAction.USE_RECOVERY_CODE),
        *(AuditAction.RENEW_RECOVERY_CODES, AuditAction.REMOVE_FACTOR),
    ]
    entries = AuditEntry.objects.filter(action__in=ours).order_by("pk")
    assert [(entry.action, entry.object_name) for entry in entries] == [(action, "ewa") for action in ours]
    assert [entry.actor_name == "ewa" for entry in entries] == [True, True, True, False]


def test_a_recovery_code_completes_the_log_in_once():
    _factor, _client, codes = with_codes()
    first, _answer = after_the_password()
    second, _answer = after_the_password()

    assert first.submit(CODE, code=codes[3].upper()).url == INDEX
    assert "code" in errors_of(second.submit(CODE, code=codes[3], expected=200))
    assert RecoveryCode.objects.count() == 9


def test_recovery_codes_are_of_one_person_and_work_while_codes_of_the_app_have_to_wait():
    factor, _client, codes = with_codes()
    other = SecondFactorFactory(user=UserFactory(username="jan", staff=True))

    assert [check_code(user, code) for user, code in ((other.user, codes[0]), (factor.user, WRONG))] == [False, False]
    assert check_code(factor.user, codes[0]) is True


def test_recovery_codes_are_stored_as_hashes_not_shown_again_and_replaced_by_a_new_set():
    factor, client, codes = with_codes()

    stored = set(RecoveryCode.objects.values_list("digest", flat=True))
    text = client.page(OVERVIEW) + client.page(CODES)
    fresh = recovery_codes(client.post(CODES, {"code": codes[1]}).content)

    assert stored.isdisjoint({*codes, *(code.replace("-", "") for code in codes)})
    assert not any(code in text for code in codes)
    assert [check_code(factor.user, code) for code in (codes[0], fresh[0])] == [False, True]


@pytest.mark.parametrize("path", [CODES, OFF])
def test_changes_of_the_second_factor_ask_for_a_code_and_the_own_password(path):
    factor, client, codes = with_codes()

    answers = [client.post(path, {}), client.post(path, {"code": WRONG})]
    late = after_a_while(client).post(path, {"code": codes[1]})

    assert all("code" in errors_of(answer) for answer in answers)
    assert "own_password" in errors_of(late)
    assert SecondFactor.objects.get().confirmed is True
    assert check_code(factor.user, codes[0]) is True
