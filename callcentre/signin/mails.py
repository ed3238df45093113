"""The mail with the link to a new password: find the users, send it, try again if the mail server does not answer."""

import logging
import smtplib
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMessage, get_connection
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from callcentre.core.actor import SYSTEM
from callcentre.core.audit import AuditAction, record
from callcentre.core.mail_refusals import is_final, said
from callcentre.models import User
from callcentre.signin.models import PasswordReset

logger = logging.getLogger(__name__)

# Longer than any sending takes.
LEASE = timedelta(minutes=5)
# A person who waits longer asks again.
DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 15))
BATCH = 100
# Users with one e-mail address that get a mail each.
MOST_USERS = 5


def due_now() -> list[int]:
    """Return the requests that are due. Drop those that ended every worker."""
    now = timezone.now()
    PasswordReset.objects.due(now).filter(attempt_count__gt=len(DELAYS)).update(next_attempt_at=None)
    return list(PasswordReset.objects.due(now).order_by("next_attempt_at").values_list("pk", flat=True)[:BATCH])


def send(pk: int) -> None:
    """Send the mails of this request, if it is due and no other worker has claimed it."""
    now = timezone.now()
    claimed = PasswordReset.objects.due(now).filter(pk=pk)
    if not claimed.update(next_attempt_at=now + LEASE, attempt_count=F("attempt_count") + 1):
        return
    reset = PasswordReset.objects.get(pk=pk)
    users = users_of(reset.typed)
    if reset.attempt_count == 1:
        for user in users:
            record(SYSTEM, AuditAction.ASK_RESET, user, changes={"address": [None, reset.source]})
    next_attempt_at = None
    try:
        with translation.override(reset.language):
            messages = [_message(reset, user) for user in users]
        if messages:
            get_connection().send_messages(messages)
    except (smtplib.SMTPException, OSError) as error:
        logger.warning("password reset not mailed", extra={"reset": pk, "error": said(error)})
        if not is_final(error) and reset.attempt_count <= len(DELAYS):
            next_attempt_at = timezone.now() + DELAYS[reset.attempt_count - 1]
    PasswordReset.objects.filter(pk=pk).update(next_attempt_at=next_attempt_at)


def users_of(typed: str) -> list[User]:
    """Return the users who may get a mail: active, with a password and an e-mail address."""
    found = User.objects.filter(Q(username=typed) | Q(email__iexact=typed), is_active=True, is_staff=True)
    users = found.exclude(email="").order_by("pk")[:MOST_USERS]
    return [user for user in users if user.has_usable_password()]


def _message(reset: PasswordReset, user: User) -> EmailMessage:
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
    return EmailMessage(
        _("New password"),
        "\n".join(lines),
        settings.DEFAULT_FROM_EMAIL,
        [user.email],
        headers={"Auto-Submitted": "auto-generated"},
    )
