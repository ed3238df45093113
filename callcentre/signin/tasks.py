"""The mails with the link to a new password: their users and their content."""

from operator import attrgetter

from celery import shared_task
from django.contrib.auth.tokens import default_token_generator
from django.db.models import Q
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from callcentre.core.actor import SYSTEM
from callcentre.core.audit import AuditAction, record
from callcentre.core.mail_outbox import Letter, Outbox
from callcentre.models import User
from callcentre.signin.models import PasswordReset
from callcentre.signin.verbs.provider_sessions import check_sessions

# Users with one e-mail address that get a mail each.
MOST_USERS = 5


def users_of(typed: str) -> list[User]:
    """Return the users who may get a mail: active, with a password and an e-mail address."""
    found = User.objects.filter(Q(username=typed) | Q(email__iexact=typed), is_active=True, is_staff=True)
    users = found.exclude(email="").order_by("pk")[:MOST_USERS]
    return [user for user in users if user.has_usable_password()]


def _letters(reset: PasswordReset) -> list[Letter]:
    """Return a letter for each user. The first attempt records the request in the audit log of the users."""
    users = users_of(reset.typed)
    if reset.attempt_count == 1:
        for user in users:
            record(SYSTEM, AuditAction.ASK_RESET, user, changes={"address": [None, reset.source]})
    return [_letter(reset, user) for user in users]


def _letter(reset: PasswordReset, user: User) -> Letter:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    lines = [
        _("A new password was asked for the login %(login)s.") % {"login": user.get_username()},
        "",
        _("Choose it here. The link works once, within one hour:"),
        reset.site + reverse("password-reset-confirm", args=[uid, token]),
        "",
        _("If you did not ask for it, do nothing: your password stays."),
    ]
    return Letter(user.email, _("New password"), lines, key=str(user.pk))


outbox = Outbox(
    PasswordReset,
    compose=_letters,
    language=attrgetter("language"),
    written_at=attrgetter("created_at"),
)


@shared_task(name="signin.mail_reset")
def mail_reset(pk: int) -> None:
    """Mail the link to a new password."""
    outbox.send(pk)


@shared_task(name="signin.check_provider_sessions")
def check_provider_sessions() -> None:
    """Check the log-ins by the provider whose time has come."""
    check_sessions()


@shared_task(name="signin.prune_resets")
def prune_resets() -> None:
    """Delete the requests of yesterday."""
    PasswordReset.objects.outdated().delete()
