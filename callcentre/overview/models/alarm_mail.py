"""The mails of alarms."""

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import DueQuerySet, Retries
from callcentre.core.mail_outbox import QueuedMail
from callcentre.overview.models.alarm import Alarm

# Mails are kept for so long after the change that they report.
KEPT = timedelta(days=30)


class AlarmMailQuerySet(DueQuerySet):
    def outdated(self, now: datetime) -> "AlarmMailQuerySet":
        """Return mails that nothing happens to any more, of changes long ago."""
        return self.exclude(state=AlarmMail.State.QUEUED).filter(at__lt=now - KEPT)


class AlarmMail(QueuedMail):
    """A change of an alarm for one of its recipients, written in the transaction of the change."""

    delays = Retries.ALARM
    task = "overview.mail_alarm"

    alarm = models.ForeignKey(Alarm, models.CASCADE, related_name="mails", verbose_name=_("alarm"))
    is_raised = models.BooleanField(_("raised"))
    at = models.DateTimeField(_("time"))
    value = models.FloatField(_("value"), null=True)
    limit = models.FloatField(_("limit"))

    objects = AlarmMailQuerySet.as_manager()

    class Meta:
        verbose_name = _("mail of an alarm")
        verbose_name_plural = _("mails of alarms")
        ordering = ["-id"]
        indexes = [models.Index(fields=["next_attempt_at"], condition=Q(state="queued"), name="alarmmail_due")]
