from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import DueQuerySet, Retries
from callcentre.core.mail_outbox import QueuedMail
from reports.models.export import Export


class ExportMail(QueuedMail):
    """A scheduled export for one of its recipients."""

    delays = Retries.REPORT
    task = "reports.mail_export"

    export = models.ForeignKey(Export, models.CASCADE, related_name="mails", verbose_name=_("export of the report"))

    objects = DueQuerySet.as_manager()

    class Meta:
        verbose_name = _("mail of an export")
        verbose_name_plural = _("mails of exports")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["export", "recipient"], name="exportmail_is_unique")]
        indexes = [models.Index(fields=["next_attempt_at"], condition=Q(state="queued"), name="exportmail_due")]

    @property
    def condition(self) -> str:
        if self.state == self.State.QUEUED and self.error:
            return str(_("waits for another attempt"))
        return str(self.get_state_display())
