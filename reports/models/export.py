from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.exporting.jobs import FileJob, Written
from callcentre.models import ScopeColumns
from reports.periods import Aggregation

# The longest time within which an answered offer may count as in time, in seconds.
MOST_SECONDS = 3600

AGGREGATIONS = {
    Aggregation.HOUR_OF_DAY: _("hour of the day"),
    Aggregation.MINUTE: _("minute"),
    Aggregation.HOUR: _("hour"),
    Aggregation.DAY: _("day"),
    Aggregation.WEEK: _("week"),
    Aggregation.MONTH: _("month"),
    Aggregation.YEAR: _("year"),
}


class ReportKind(models.TextChoices):
    """The reports, each of which can be exported and scheduled."""

    AGENTS = "agents", _("Agents work report")
    QUEUES = "queues", _("Queues report")
    OUTBOUNDS = "outbounds", _("Campaigns report")
    TICKETS = "tickets", _("Tickets report")


class Asked(Written):
    """The question and the columns of a table of a report, without its span."""

    report = models.CharField(
        _("report"), max_length=10, choices=ReportKind, default=ReportKind.AGENTS, db_default=ReportKind.AGENTS
    )
    # Both empty: all agents. Ids, so that an agent with another login, or a group with another name, stays meant.
    agent_ids = ArrayField(models.BigIntegerField(), default=list, blank=True, verbose_name=_("agents"))
    agent_group_ids = ArrayField(models.BigIntegerField(), default=list, blank=True, verbose_name=_("agent groups"))
    aggregation = models.CharField(_("period of a row"), max_length=12, choices=list(AGGREGATIONS.items()))
    threshold = models.PositiveIntegerField(_("threshold of outbound calls in s"), default=0)
    answered_within = models.PositiveIntegerField(
        _("answered in time within s"), default=20, validators=[MaxValueValidator(MOST_SECONDS)]
    )
    # Empty: everything.
    queue_ids = ArrayField(models.BigIntegerField(), default=list, blank=True, verbose_name=_("queues"))
    campaign_ids = ArrayField(
        models.BigIntegerField(), default=list, db_default=[], blank=True, verbose_name=_("campaigns")
    )
    # Names of the measures of the report.
    columns = ArrayField(models.CharField(max_length=60), default=list, verbose_name=_("columns"))

    class Meta:
        abstract = True

    @property
    def terms(self) -> dict[str, Any]:
        """The fields of the question, by name."""
        return {field.name: getattr(self, field.name) for field in Asked._meta.get_fields()}


class Export(ScopeColumns, Asked, FileJob):
    """A table of the report as a file: queued, running, finished or failed.

    A worker builds one at a time, from one snapshot (`read_at`). The row names the file only when the file is whole.
    The file is kept for 30 days, the row for ever. An export of a schedule has its `schedule`, and when it was due. It
    has the rows within the scope that the person who asked had then.
    """

    task = "reports.build_exports"

    begins_at = models.DateTimeField(_("from"))
    # Not included.
    ends_at = models.DateTimeField(_("to"))

    schedule = models.ForeignKey(
        "Schedule", models.SET_NULL, null=True, related_name="exports", verbose_name=_("scheduled report")
    )
    due_at = models.DateTimeField(_("due"), null=True, editable=False)

    class Meta:
        verbose_name = _("export of the report")
        verbose_name_plural = _("exports of the report")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["schedule", "due_at"], name="export_once_a_turn")]
        indexes = [
            models.Index(fields=["id"], condition=Q(state__in=["queued", "running"]), name="export_waiting"),
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="export_scheduled"),
            models.Index(fields=["actor_id", "-id"], condition=Q(actor_kind="user"), name="export_of_user"),
        ]

    @property
    def file_name(self) -> str:
        first, last = timezone.localtime(self.begins_at), timezone.localtime(self.last_second)
        return f"{self.report}-{first:%Y-%m-%d}-{last:%Y-%m-%d}-by-{self.aggregation}.{self.format}"

    @property
    def last_second(self) -> datetime:
        """The last second of the span."""
        return self.ends_at - timedelta(seconds=1)
