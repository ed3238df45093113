"""Log-ins by the provider of OpenID Connect: beginning them, checking them again, ending them."""

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _now

from callcentre.core.actor import SYSTEM
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import store
from callcentre.core.scope import ALL, Scope
from callcentre.core.sender import acting
from callcentre.models import User
from callcentre.signin.models import ProviderGroup, ProviderIdentity, ProviderSession
from callcentre.signin.models.provider import CHECKED_AFTER, LONGEST_SUBJECT
from callcentre.signin.provider import ProviderError, ProviderRefusal, claim, groups_in, provider, text_of

logger = logging.getLogger(__name__)

# The pause until the next question to a provider that does not answer. Log-ins go on meanwhile.
UNANSWERED_PAUSE = timedelta(minutes=1)
CHECKED_AT_ONCE = 200


class NotAdmitted(Exception):
    """The provider knows the person, and this service does not let them in. The text is for the person."""


def admit(claims: dict[str, Any], token: dict[str, Any]) -> ProviderSession:
    """Return a log-in of the person of these claims, who is made or updated before. Raise NotAdmitted."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or "\0" in subject:
        raise ProviderError("the claim sub names no person")
    # The service does it, also where another person was logged in at this browser.
    with acting(SYSTEM, None), transaction.atomic():
        identities = ProviderIdentity.objects.select_related("user")
        identity = identities.filter(issuer=settings.OIDC_ISSUER, subject=subject).first()
        user = identity.user if identity else _linked(claims, subject)
        if user.is_superuser:
            raise NotAdmitted(_now("You are a superuser here: log in with your password."))
        if not user.is_active:
            raise NotAdmitted(_now("Your account is not active. Ask an administrator."))
        if not _take_over(user, groups_in(claims)):
            raise NotAdmitted(_now("None of your groups at the provider has a role here. Ask an administrator."))
        names = {"first_name": "given_name", "last_name": "family_name", "email": "email"}
        told = {name: text_of(claims[source]) for name, source in names.items() if claims.get(source)}
        _update(user, is_staff=True, **told)
        return ProviderSession.objects.create(
            user=user,
            sid=text_of(claims.get("sid"), 255),
            check_at=timezone.now() + CHECKED_AFTER,
            **_tokens(token),
        )


def check_sessions() -> None:
    """Check the log-ins whose time has come, the longest due first, until the provider does not answer.

    One after another: a provider that hangs holds up no other work.
    """
    due = ProviderSession.objects.filter(check_at__lte=timezone.now()).order_by("check_at")
    for pk in list(due.values_list("pk", flat=True)[:CHECKED_AT_ONCE]):
        if not check_session(pk):
            break


def check_session(pk: int) -> bool:
    """Read the groups of the person again. A person without groups or log-in at the provider is logged out.

    While the provider does not answer, the log-in goes on and is checked every minute; so it is if this worker dies.
    Return False if there was no answer.
    """
    row = ProviderSession.objects.filter(pk=pk)
    if not row.filter(check_at__lte=timezone.now()).update(check_at=timezone.now() + UNANSWERED_PAUSE):
        return True
    session = row.select_related("user__provider_identity").first()
    if session is None:
        return True
    if not settings.OIDC_ISSUER or not session.sessions.filter(expire_date__gt=timezone.now()).exists():
        session.delete()
        return True
    try:
        _check(session)
    except ProviderError as error:
        logger.warning("provider gave no answer", extra={"error": str(error)})
        return False
    except ProviderRefusal:
        _end([session])
    return True


def _check(session: ProviderSession) -> None:
    row = ProviderSession.objects.filter(pk=session.pk)
    token: dict[str, Any] = {"access_token": session.access_token}
    if session.refresh_token:
        token = provider().renew(session.refresh_token)
        # The old refresh token may be void from now on.
        row.update(**_tokens(token, session))
    claims = provider().claims_of(token)
    if claims.get("sub") != session.user.provider_identity.subject:
        raise ProviderError("the answer is about another person")
    with transaction.atomic():
        if session.user.is_active and not session.user.is_superuser and _take_over(session.user, groups_in(claims)):
            row.update(check_at=timezone.now() + CHECKED_AFTER)
        else:
            _end([session])


def end_by_provider(logout_token: str) -> None:
    """End the log-ins that the provider's logout token names. Raise ProviderError, ProviderRefusal."""
    subject, sid = provider().read_logout(logout_token)
    of_person = Q(user__provider_identity__issuer=settings.OIDC_ISSUER, user__provider_identity__subject=subject)
    # A log-in whose provider told no `sid` is found by the person.
    named = Q(sid=sid) | (of_person & Q(sid="")) if sid else of_person
    _end(ProviderSession.objects.filter(named).select_related("user"))


def _linked(claims: dict[str, Any], subject: str) -> User:
    """Return the user with the login of the claims, made if there is none. From now on the provider knows them.

    A person whom the provider before this one knew is linked anew.
    """
    login = text_of(claim(claims, settings.OIDC_LOGIN_CLAIM))
    user = User.objects.select_for_update(no_key=True).filter(username=login).first() or User(username=login)
    former = ProviderIdentity.objects.filter(user=user.pk).first()
    if user.is_superuser or (former and former.issuer == settings.OIDC_ISSUER):
        raise NotAdmitted(_now("The login %(login)s belongs to another person here.") % {"login": login})
    user.set_unusable_password()
    try:
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        raise NotAdmitted(
            _now("The provider sent no login that can be used here: %(login)s") % {"login": login}
        ) from error
    user.save()
    user.user_permissions.clear()
    user.provider_sessions.all().delete()
    known_as = {"issuer": settings.OIDC_ISSUER, "subject": subject}
    ProviderIdentity.objects.update_or_create(user=user, defaults=known_as)
    return user


def _take_over(user: User, names: list[str]) -> bool:
    """Give the user the roles and the scope of these groups at the provider. Return False if none has any here."""
    rows = list(ProviderGroup.objects.filter(name__in=names).prefetch_related("groups"))
    roles = {role for row in rows for role in row.groups.all()}
    if set(user.groups.all()) != roles:
        user.groups.set(roles)
    if rows:
        _update(user, **_united(row.scope for row in rows).by_column)
    return bool(roles)


def _united(scopes: Iterable[Scope]) -> Scope:
    """Return the scope that has the rows of each: of one without a limit, all."""
    columns = zip(*(scope.by_column.values() for scope in scopes), strict=True)
    lists = (list(column) for column in columns)
    united = [None if None in each else tuple(sorted({pk for ids in each for pk in ids or ()})) for each in lists]
    return Scope(*united) if united else ALL


def _update(user: User, **values: Any) -> None:
    if changed := {name: value for name, value in values.items() if getattr(user, name) != value}:
        store(user, **changed)


def _tokens(token: dict[str, Any], session: ProviderSession | None = None) -> dict[str, str]:
    """Return the columns of the tokens. An answer without one leaves the one before."""
    names = ("access_token", "refresh_token", "id_token")
    return {name: str(token.get(name) or getattr(session, name, "")) for name in names}


def _end(sessions: Iterable[ProviderSession]) -> None:
    for session in sessions:
        with transaction.atomic():
            record(SYSTEM, AuditAction.END_SESSIONS, session.user)
            session.delete()
