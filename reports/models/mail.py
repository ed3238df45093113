from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from reports.models.export import Export


class ExportMailQuerySet(models.QuerySet["ExportMail"]):
    def due(self, now: datetime) -> "ExportMailQuerySet":
        return self.filter(state=ExportMail.State.QUEUED, next_attempt_at__lte=now)


class ExportMail(models.Model):
    """A scheduled export on its way to one of its recipients.

    A QUEUED mail is due at `next_attempt_at`; a worker claims it by moving that past a lease. If the worker dies, the
    mail is tried again, so that a recipient may get the same file twice, but never none. A service without a mail
    server writes a mail to a file: the state is WRITTEN, and nothing was sent.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        SENT = "sent", _("sent")
        WRITTEN = "written", _("written to a file, not sent")
        FAILED = "failed", _("failed")

    export = models.ForeignKey(Export, models.CASCADE, related_name="mails", verbose_name=_("export of the report"))
    recipient = models.CharField(_("to"), max_length=320)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True, default=timezone.now)
    sent_at = models.DateTimeField(_("sent"), null=True)
    # The reason of a failure or of another attempt.
    error = models.CharField(_("error"), max_length=500, blank=True)

    objects = ExportMailQuerySet.as_manager()

    class Meta:
        verbose_name = _("mail of an export")
        verbose_name_plural = _("mails of exports")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["export", "recipient"], name="exportmail_is_unique")]
        indexes = [models.Index(fields=["next_attempt_at"], condition=Q(state="queued"), name="exportmail_due")]

    def __str__(self) -> str:
        return self.recipient

    @property
    def condition(self) -> str:
        if self.state == self.State.QUEUED and self.error:
            return str(_("waits for another attempt"))
        return str(self.get_state_display())
