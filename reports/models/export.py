from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.models import ScopeColumns
from reports.periods import Aggregation

# An export that ended its workers so often is not started again.
MAX_ATTEMPTS = 5
FILES_KEPT = timedelta(days=30)
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


class Asked(models.Model):
    """The question and the columns of a table of a report, without its span."""

    class Format(models.TextChoices):
        CSV = "csv", "CSV"
        XLSX = "xlsx", "XLSX"

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
    format = models.CharField(_("format"), max_length=4, choices=Format, default=Format.CSV)
    language = models.CharField(
        _("language"), max_length=10, choices=settings.LANGUAGES, default=settings.LANGUAGE_CODE
    )

    class Meta:
        abstract = True

    @property
    def terms(self) -> dict[str, Any]:
        """The fields of the question, by name."""
        return {field.name: getattr(self, field.name) for field in Asked._meta.get_fields()}


def path_of(export: "Export", name: str) -> str:
    """Return the path of a file, which does not depend on the time of the attempt."""
    return f"exports/{export.created_at:%Y/%m}/{name}"


class ExportQuerySet(models.QuerySet["Export"]):
    def waiting(self) -> "ExportQuerySet":
        return self.filter(state__in=[Export.State.QUEUED, Export.State.RUNNING])

    def with_outdated_files(self) -> "ExportQuerySet":
        return self.exclude(file="").filter(finished_at__lt=timezone.now() - FILES_KEPT)


class Export(ScopeColumns, Asked):
    """A table of the report as a file: queued, running, finished or failed.

    A worker builds one at a time, from one snapshot (`read_at`). The row names the file only when the file is whole. A
    worker that dies leaves a running row, which the next worker starts again. The file is kept for 30 days, the row for
    ever. An export of a schedule has its `schedule`, and when it was due. It has the rows within the scope that the
    person who asked had then.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        FAILED = "failed", _("failed")

    begins_at = models.DateTimeField(_("from"))
    # Not included.
    ends_at = models.DateTimeField(_("to"))

    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    percent = models.PositiveSmallIntegerField(_("progress"), default=0)
    row_count = models.PositiveIntegerField(_("rows"), default=0)
    file = models.FileField(_("file"), upload_to=path_of, max_length=300, blank=True)
    file_size = models.PositiveBigIntegerField(_("size in bytes"), default=0)
    message = models.TextField(pgettext_lazy("of an error", "message"), blank=True)
    # Grows with every start, so that a worker notices that another worker has taken over.
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0, editable=False)
    # The id of the request that asked for it, also in the log lines of the worker.
    request_id = models.CharField(max_length=64, blank=True, editable=False)
    actor_kind = models.CharField(max_length=10, editable=False)
    actor_id = models.BigIntegerField(null=True, editable=False)
    actor_name = models.CharField(_("asked for by"), max_length=150, editable=False)
    created_at = models.DateTimeField(_("asked for"), db_default=Now(), editable=False)
    started_at = models.DateTimeField(_("started"), null=True, editable=False)
    # Intervals that go on end at this instant.
    read_at = models.DateTimeField(_("as of"), null=True, editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, editable=False)
    schedule = models.ForeignKey(
        "Schedule", models.SET_NULL, null=True, related_name="exports", verbose_name=_("scheduled report")
    )
    due_at = models.DateTimeField(_("due"), null=True, editable=False)

    objects = ExportQuerySet.as_manager()

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

    def __str__(self) -> str:
        return self.file_name

    @property
    def file_name(self) -> str:
        first, last = timezone.localtime(self.begins_at), timezone.localtime(self.last_second)
        return f"{self.report}-{first:%Y-%m-%d}-{last:%Y-%m-%d}-by-{self.aggregation}.{self.format}"

    @property
    def last_second(self) -> datetime:
        """The last second of the span."""
        return self.ends_at - timedelta(seconds=1)

    @property
    def has_ended(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED)

    @property
    def kept_until(self) -> datetime | None:
        return self.finished_at + FILES_KEPT if self.file and self.finished_at else None

    def names_of_files(self) -> Sequence[str]:
        """Return the names under which attempts may have left a file in the storage."""
        return [self.name_of_file(attempt) for attempt in range(1, self.attempts + 1)]

    def name_of_file(self, attempt: int) -> str:
        name: str = self.file.field.generate_filename(self, f"{self.pk}-{attempt}.{self.format}")
        return name

    def remove_file(self) -> None:
        """Delete the file; the row stays."""
        file = self.file.name
        self.file = ""
        self.save(update_fields=["file"])
        self.file.storage.delete(file)
