"""The mails of alarms."""

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.overview.models.alarm import Alarm

# Mails are kept for so long after the change that they report.
KEPT = timedelta(days=30)


class AlarmMailQuerySet(models.QuerySet["AlarmMail"]):
    def due(self, now: datetime) -> "AlarmMailQuerySet":
        return self.filter(state=AlarmMail.State.QUEUED, next_attempt_at__lte=now)

    def outdated(self, now: datetime) -> "AlarmMailQuerySet":
        """Return mails that nothing happens to any more, of changes long ago."""
        return self.exclude(state=AlarmMail.State.QUEUED).filter(at__lt=now - KEPT)


class AlarmMail(models.Model):
    """A change of an alarm on its way to one of its recipients, written in the transaction of the change.

    A QUEUED mail is due at `next_attempt_at`; a worker claims it by moving that past a lease. If the worker dies, the
    mail is tried again, so that a recipient may get it twice, but never not at all. A service without a mail server
    writes a mail to a file: the state is WRITTEN, and nothing was sent.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        SENT = "sent", _("sent")
        WRITTEN = "written", _("written to a file, not sent")
        FAILED = "failed", _("failed")

    alarm = models.ForeignKey(Alarm, models.CASCADE, related_name="mails", verbose_name=_("alarm"))
    recipient = models.CharField(_("to"), max_length=320)
    is_raised = models.BooleanField(_("raised"))
    at = models.DateTimeField(_("time"))
    value = models.FloatField(_("value"), null=True)
    limit = models.FloatField(_("limit"))
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True, default=timezone.now)
    sent_at = models.DateTimeField(_("sent"), null=True)
    # The reason of a failure or of another attempt.
    error = models.CharField(_("error"), max_length=500, blank=True)

    objects = AlarmMailQuerySet.as_manager()

    class Meta:
        verbose_name = _("mail of an alarm")
        verbose_name_plural = _("mails of alarms")
        ordering = ["-id"]
        indexes = [models.Index(fields=["next_attempt_at"], condition=Q(state="queued"), name="alarmmail_due")]

    def __str__(self) -> str:
        return self.recipient
