"""Listing and ending the sessions of a person."""

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.models import User
from callcentre.signin.models import UserSession


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
