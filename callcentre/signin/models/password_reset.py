"""Requests for a new password."""

from datetime import timedelta
from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import DueQuerySet, Retries
from callcentre.core.mail_outbox import DueMail

# Requests are counted and kept for so long.
WINDOW = timedelta(hours=1)
KEPT = timedelta(days=1)
# Requests within the window for one login or e-mail address, and from one network address.
MOST_PER_LOGIN = 5
MOST_PER_SOURCE = 30


class PasswordResetQuerySet(DueQuerySet):
    def recent(self) -> "PasswordResetQuerySet":
        return self.filter(created_at__gt=timezone.now() - WINDOW)

    def outdated(self) -> "PasswordResetQuerySet":
        return self.filter(created_at__lt=timezone.now() - KEPT)


class PasswordReset(DueMail):
    """A request for a new password, with the text that a stranger typed: a login, an e-mail address, or neither.

    A row is written in each case, and a worker looks for the user, so that neither the answer nor its time tells
    whether there is one.
    """

    waits = Q()
    delays = Retries.PASSWORD
    task = "signin.mail_reset"

    typed = models.CharField(_("login or e-mail address"), max_length=254)
    source = models.CharField(_("address"), max_length=50)
    site = models.CharField(max_length=300)
    language = models.CharField(max_length=10)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    objects = PasswordResetQuerySet.as_manager()

    class Meta:
        verbose_name = _("request for a new password")
        verbose_name_plural = _("requests for a new password")
        ordering = ["-id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(next_attempt_at__isnull=False), name="reset_due"),
            models.Index(fields=["created_at"], name="reset_created_at"),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    def given_up(self, error: str) -> dict[str, Any]:
        return {}
