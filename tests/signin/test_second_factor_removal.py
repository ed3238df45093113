"""Switching the second factor off: by its person, and by an administrator."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission

from callcentre.core.audit import AuditAction, AuditEntry
from callcentre.models import User
from callcentre.signin.models import RecoveryCode, SecondFactor
from tests.backoffice import BackOffice, after_a_while, errors_of, messages_of, page_of, superuser
from tests.callcentre.factories import UserFactory, code_of
from tests.signin.second_factor import (
    CODE,
    CODES,
    INDEX,
    OFF,
    SET_UP,
    a_factor,
    after_the_password,
    recovery_codes,
    with_codes,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "quick_hashes")]


def test_switching_off_removes_key_and_recovery_codes() -> None:
    factor, client, _codes = with_codes()

    client.post(OFF, {"code": code_of(factor)})

    assert (SecondFactor.objects.count(), RecoveryCode.objects.count()) == (0, 0)
    assert after_the_password()[1].url == INDEX


def test_an_administrator_removes_the_second_factor_of_a_person() -> None:
    factor = a_factor()
    client = superuser()

    answer = client.submit(page_of(factor.user, "remove_factor"))

    assert messages_of(answer) == ["The second factor is removed, and the person is logged out."]
    assert not SecondFactor.objects.exists()


@pytest.mark.parametrize("by_administrator", [False, True])
def test_removing_the_second_factor_ends_the_other_sessions(by_administrator: bool) -> None:
    factor, client, codes = with_codes()
    other = BackOffice()
    other.force_login(factor.user)

    if by_administrator:
        client = superuser()
        client.submit(page_of(factor.user, "remove_factor"))
    else:
        client.post(OFF, {"code": codes[0]})

    assert other.get(INDEX).status_code == 302
    assert client.get(INDEX).status_code == 200


def test_removing_the_second_factor_of_a_person_asks_for_the_own_password() -> None:
    factor = a_factor()
    client = after_a_while(superuser())

    answer = client.post(page_of(factor.user, "remove_factor"), {})

    assert "own_password" in errors_of(answer)
    assert SecondFactor.objects.exists()


@pytest.mark.parametrize("page", ["remove_factor", "log_ins"])
def test_the_second_factor_and_sessions_of_a_stronger_person_are_out_of_reach(page: str) -> None:
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


def test_the_audit_log_has_setting_up_using_a_recovery_code_and_removing(clock: Any) -> None:
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
