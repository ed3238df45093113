"""Asking for a new password by mail."""

from django.conf import settings
from django.db import transaction

from callcentre.core.enqueue import enqueue
from callcentre.signin.models import PasswordReset
from callcentre.signin.models.password_reset import MOST_PER_LOGIN, MOST_PER_SOURCE


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
