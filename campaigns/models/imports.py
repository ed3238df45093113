from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.changes import AskedFor
from callcentre.core.due_work import DueQuerySet, DueWork, Retries
from callcentre.core.scope import Lookups
from campaigns.models.campaign import Campaign

FILES_KEPT = timedelta(days=30)


def default_region() -> str:
    return str(settings.DEFAULT_REGION)


class RecordImportQuerySet(DueQuerySet):
    def with_outdated_files(self) -> "RecordImportQuerySet":
        """Return old imports that still have files and are neither queued nor running."""
        has_files = ~Q(file="") | ~Q(error_file="")
        return self.filter(has_files, ~RecordImport.waits, created_at__lt=timezone.now() - FILES_KEPT)


class RecordImport(AskedFor, DueWork):
    """A file of records or do-not-call entries, and its import: uploaded, described, queued, running, finished, failed.

    One transaction adds all rows and sets the state `finished`; after a crash the import is started again. An import by
    the command has no `file`, and neither has one of another campaign's records.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_outbounds": "campaign_id"}
    waits = Q(state__in=["queued", "running"])
    delays = Retries.JOB
    task = "campaigns.import_records"

    class State(models.TextChoices):
        UPLOADED = "uploaded", _("uploaded")
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        FAILED = "failed", _("failed")

    class Target(models.TextChoices):
        RECORDS = "records", _("records of a campaign")
        DO_NOT_CALL = "do_not_call", _("do-not-call entries, to add")
        REMOVAL = "removal", _("do-not-call entries, to remove")

    class Duplicates(models.TextChoices):
        SKIP = "skip", _("leave out numbers that the campaign already has")
        ALLOW = "allow", _("add them as further records")

    target = models.CharField(
        _("content"), max_length=20, choices=Target, default=Target.RECORDS, db_default=Target.RECORDS
    )
    # NULL for do-not-call entries: each row names its campaign, or means all.
    campaign = models.ForeignKey(
        Campaign, models.CASCADE, null=True, related_name="imports", verbose_name=_("campaign")
    )
    # Of records of another campaign, to be called again: {"source": its id, "statuses": …, "outcomes": …}.
    recycled = models.JSONField(null=True, editable=False)
    file = models.FileField(_("file"), upload_to="imports/%Y/%m/", max_length=300, blank=True)
    file_name = models.CharField(_("file name"), max_length=200)
    file_size = models.PositiveBigIntegerField(_("size in bytes"))
    encoding = models.CharField(_("encoding"), max_length=20)
    delimiter = models.CharField(_("delimiter"), max_length=1)
    has_header = models.BooleanField(_("first row names the columns"), default=True)
    # Column number, as a string -> "phone_number", "identifier", …, or "field:<primary key>".
    columns = models.JSONField(_("columns"), default=dict)
    region = models.CharField(_("region of national numbers"), max_length=2, default=default_region)
    duplicates = models.CharField(_("duplicates"), max_length=10, choices=Duplicates, default=Duplicates.SKIP)
    refuses_invalid = models.BooleanField(_("numbers that are not valid are refused"), default=False, db_default=False)
    records_events = models.BooleanField(_("an event for each record"), default=False)

    state = models.CharField(_("state"), max_length=10, choices=State, default=State.UPLOADED)
    # The first half is reading the file, the second merging.
    progress_percent = models.PositiveSmallIntegerField(_("progress"), default=0)
    read_count = models.PositiveIntegerField(_("rows read"), default=0)
    added_count = models.PositiveIntegerField(_("records added"), default=0)
    # Rows whose number the campaign or an earlier row has.
    duplicate_count = models.PositiveIntegerField(_("duplicates"), default=0)
    faulty_count = models.PositiveIntegerField(_("faulty rows"), default=0)
    error_file = models.FileField(_("rows not imported"), upload_to="imports/%Y/%m/", max_length=300, blank=True)
    message = models.TextField(pgettext_lazy("of an error", "message"), blank=True)
    next_attempt_at = models.DateTimeField(null=True, editable=False, db_column="leased_until")
    # Counts the starts.
    attempt_count = models.PositiveIntegerField(default=0, editable=False, db_column="attempts")
    # The id of the request that queued the import, for its log lines, also after a new start.
    request_id = models.CharField(max_length=20, blank=True, editable=False)
    actor_name = models.CharField(_("imported by"), max_length=150, editable=False)
    # The address of the request that asked, for what the worker writes into histories.
    actor_address = models.GenericIPAddressField(null=True, editable=False)
    created_at = models.DateTimeField(_("uploaded"), db_default=Now(), editable=False)
    started_at = models.DateTimeField(_("started"), null=True, editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, editable=False)

    objects = RecordImportQuerySet.as_manager()

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="recordimport_of_records_has_campaign", condition=~Q(target="records") | Q(campaign__isnull=False)
            )
        ]

    def __str__(self) -> str:
        return self.file_name

    @property
    def actor(self) -> Actor:
        """The actor that the history of the added records names."""
        return self.asker if self.recycled is not None else Actor("import", self.pk, self.file_name)

    @property
    def asker(self) -> Actor:
        return Actor(self.actor_kind, self.actor_id, self.actor_name)  # type: ignore[arg-type]

    @property
    def percent(self) -> int:
        return self.progress_percent

    @property
    def is_of_records(self) -> bool:
        return self.target == self.Target.RECORDS

    @property
    def can_start_again(self) -> bool:
        return bool(self.file) or self.recycled is not None

    @property
    def has_ended(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED)

    def given_up(self, error: str) -> dict[str, Any]:
        said = error or _("The import was started %s times and ended early each time.") % self.attempt_count
        return {"state": self.State.FAILED, "message": str(said), "finished_at": timezone.now()}

    @property
    def seconds(self) -> int | None:
        """The duration until the end, or until now."""
        if self.started_at is None:
            return None
        return max(round(((self.finished_at or timezone.now()) - self.started_at).total_seconds()), 0)
