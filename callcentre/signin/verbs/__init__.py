"""Sessions ended, new passwords asked for, second factors set up, checked and removed."""

import base64
import os
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import store
from callcentre.core.enqueue import enqueue
from callcentre.models import User, hash_secret
from callcentre.signin.models import PasswordReset, RecoveryCode, SecondFactor, UserSession
from callcentre.signin.models.second_factor import DIGITS, new_key
from callcentre.signin.models.session import MOST_PER_LOGIN, MOST_PER_SOURCE


def sessions_of(user: User) -> list[UserSession]:
    """Return the sessions of the user that still count, the last active one first."""
    sessions = UserSession.objects.filter(user=user, expire_date__gt=timezone.now())
    counting = [session for session in sessions if session.admits(user)]
    return sorted(counting, key=lambda session: session.seen_at or session.expire_date, reverse=True)


def end_session(user: User, actor: Actor, name: str) -> int:
    """End the session with this name. Return the number of ended sessions."""
    return _end(user, actor, [session for session in sessions_of(user) if session.name == name])


def end_sessions(user: User, actor: Actor, but: str | None = None) -> int:
    """End all sessions of the user but the one with this key. Return the number of ended sessions."""
    return _end(user, actor, [session for session in sessions_of(user) if session.session_key != but])


def _end(user: User, actor: Actor, sessions: list[UserSession]) -> int:
    keys = [session.session_key for session in sessions]
    with transaction.atomic():
        count = UserSession.objects.filter(user=user, session_key__in=keys).delete()[0]
        if count:
            record(actor, AuditAction.END_SESSIONS, user)
    return count


CODE_COUNT = 10
# A session that sets up a second factor sees the same key for so long.
KEPT = timedelta(minutes=10)


def has_second_factor(user: User) -> bool:
    return SecondFactor.objects.confirmed_of(user).exists()


def begin_second_factor(user: User, begun: datetime | None = None) -> SecondFactor:
    """Return the confirmed second factor as it is, or an unconfirmed one.

    `begun` is the time at which this session began to set it up: the key stays for KEPT. Another session gets a new
    key, since a stranger who knows the password may have seen the first one.
    """
    now = timezone.now()
    with transaction.atomic():
        factors = SecondFactor.objects.select_for_update(no_key=True)
        factor, is_new = factors.get_or_create(user=user, defaults={"created_at": now})
        is_kept = factor.created_at == begun and now - factor.created_at < KEPT
        if not (is_new or factor.confirmed or is_kept):
            store(factor, key=new_key(), created_at=now)
    return factor


def confirm_second_factor(user: User, actor: Actor, text: str) -> list[str]:
    """Switch on the second factor with a first code. Return the recovery codes, or nothing after a wrong code."""
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update(no_key=True).filter(user=user, confirmed=False).first()
        if factor is None or not _is_of_app(code := _plain(text)) or not factor.verify_token(code):
            return []
        store(factor, confirmed=True)
        record(actor, AuditAction.SET_UP_FACTOR, user)
        return _new_codes(user)


def check_code(user: User, text: str) -> bool:
    """Return whether this is a code of the user's app, or an unused recovery code, and use it up."""
    code = _plain(text)
    with transaction.atomic():
        factor = SecondFactor.objects.select_for_update(no_key=True).filter(user=user, confirmed=True).first()
        if factor is None:
            return False
        if _is_of_app(code):
            return factor.verify_token(code)
        if not code.isascii() or not RecoveryCode.objects.filter(user=user, digest=hash_secret(code)).delete()[0]:
            return False
        factor.throttle_reset()
        record(user.actor, AuditAction.USE_RECOVERY_CODE, user)
        return True


def waiting_seconds(user: User) -> int:
    """Return the seconds for which no code of the user's app is compared, after wrong ones; 0 if it is compared."""
    factor = SecondFactor.objects.filter(user=user).first()
    return factor.waiting_seconds if factor else 0


def renew_recovery_codes(user: User, actor: Actor) -> list[str]:
    """Replace the recovery codes by a new set, and return it. Only their hashes are kept."""
    with transaction.atomic():
        if not SecondFactor.objects.select_for_update(no_key=True).filter(user=user, confirmed=True).first():
            return []
        record(actor, AuditAction.RENEW_RECOVERY_CODES, user)
        return _new_codes(user)


def remove_second_factor(user: User, actor: Actor, but: str | None = None) -> bool:
    """Remove the second factor and the recovery codes. End the user's sessions but the one with this key.

    Return whether there was a second factor.
    """
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        is_removed = bool(SecondFactor.objects.filter(user=user).delete()[0])
        if is_removed:
            record(actor, AuditAction.REMOVE_FACTOR, user)
            end_sessions(user, actor, but=but)
        return is_removed


def _new_codes(user: User) -> list[str]:
    codes = [base64.b32encode(os.urandom(10)).decode().lower() for _ in range(CODE_COUNT)]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create([RecoveryCode(user=user, digest=hash_secret(code)) for code in codes])
    return ["-".join(code[start : start + 4] for start in range(0, len(code), 4)) for code in codes]


def _plain(text: str) -> str:
    """Return a code without the spaces and hyphens that pages show in it."""
    return "".join(text.split()).replace("-", "").lower()


def _is_of_app(code: str) -> bool:
    return len(code) == DIGITS and code.isascii() and code.isdecimal()


def may_ask(source: str) -> bool:
    """Return whether this network address may ask for another password now."""
    return PasswordReset.objects.recent().filter(source=source).count() < MOST_PER_SOURCE


def ask_for_reset(typed: str, source: str, site: str, language: str) -> None:
    """Record a request, which a worker answers by mail if there is such a user.

    A login that was asked for too often within the hour gets no further mail.
    """
    with transaction.atomic():
        is_too_often = PasswordReset.objects.recent().filter(typed__iexact=typed).count() >= MOST_PER_LOGIN
        reset = PasswordReset.objects.create(
            typed=typed, source=source, site=settings.PUBLIC_URL or site, language=language
        )
        if is_too_often:
            PasswordReset.objects.filter(pk=reset.pk).update(next_attempt_at=None)
        else:
            enqueue("signin.mail_reset", reset.pk)
