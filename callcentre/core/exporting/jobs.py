"""The row of an export: asked for, built by a worker, kept as a file for a while."""

from datetime import datetime, timedelta
from typing import Any, ClassVar
from zlib import crc32

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.advisory_locks import lock_until_commit
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import AskedFor, AskedForQuerySet, actor_columns, languages, store
from callcentre.core.due_work import DueQuerySet, DueWork, Retries
from callcentre.core.enqueue import enqueue
from callcentre.core.file_removals import FileRemoval
from callcentre.core.request_id import current_request_id

FILES_KEPT = timedelta(days=30)
# The most exports of a model that wait for one person.
MOST_WAITING = 10
_ASK_LOCK = 0x61736B65


CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


class Written(models.Model):
    class Format(models.TextChoices):
        CSV = "csv", "CSV"
        XLSX = "xlsx", "XLSX"

    format = models.CharField(_("format"), max_length=4, choices=Format, default=Format.CSV)
    language = models.CharField(_("language"), max_length=10, choices=languages, default=settings.LANGUAGE_CODE)

    class Meta:
        abstract = True


def path_of(job: "FileJob", name: str) -> str:
    """Return the path of a file, which does not depend on the time of the attempt."""
    return f"{job.folder}/{job.created_at:%Y/%m}/{name}"


class FileJobQuerySet(AskedForQuerySet, DueQuerySet):  # type: ignore[override]  # as_manager, made by the plugin
    def check_may_ask(self, actor: Actor) -> None:
        """Raise ValidationError if too many exports of the person wait. Requests at once wait for each other."""
        lock_until_commit(_ASK_LOCK, crc32(f"{actor.kind}:{actor.id}".encode()) - 2**31)
        if self.waiting().filter(actor_kind=actor.kind, actor_id=actor.id).count() >= MOST_WAITING:
            raise ValidationError(_("%(count)s exports of yours wait already."), params={"count": MOST_WAITING})

    @transaction.atomic
    def ask(self, actor: Actor, *, name: str = "", changes: dict[str, Any] | None = None, **values: Any) -> Any:
        """Create an export and let a worker build it. The audit log names it, with these changes."""
        job = self.create(request_id=current_request_id(), **actor_columns(actor), **values)
        record(actor, AuditAction.EXPORT, job, name=name or job.file_name, changes=changes)
        enqueue(self.model.task)
        return job

    @transaction.atomic
    def forget_files(self) -> None:
        """Remove all files. An export that is being built begins again."""
        written = self.exclude(file="")
        FileRemoval.add(list(written.values_list("file", flat=True)))
        written.update(file="")
        # Their builder notices it when the file is done, and removes it.
        self.waiting().update(state=FileJob.State.QUEUED, next_attempt_at=timezone.now())

    def waiting(self) -> "FileJobQuerySet":
        return self.filter(FileJob.waits)

    def enqueue_due(self, most: int = 1) -> None:
        """Enqueue the task, which chooses the export."""
        if self.due().exists():
            enqueue(self.model.task)

    def with_outdated_files(self) -> "FileJobQuerySet":
        return self.exclude(file="").filter(finished_at__lt=timezone.now() - FILES_KEPT)


class FileJob(AskedFor, Written, DueWork):
    """An export: queued, running, finished or failed.

    A worker builds one of a person at a time, from one snapshot (`read_at`). The row names the file only when the file
    is whole. The file is kept for 30 days, the row for ever.
    """

    waits = Q(state__in=["queued", "running"])
    delays = Retries.JOB

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        FAILED = "failed", _("failed")

    # The folder of the files in the storage.
    folder: ClassVar[str] = "exports"

    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    percent = models.PositiveSmallIntegerField(_("progress"), default=0)
    row_count = models.PositiveIntegerField(_("rows"), default=0)
    file = models.FileField(_("file"), upload_to=path_of, max_length=300, blank=True)
    file_size = models.PositiveBigIntegerField(_("size in bytes"), default=0)
    message = models.TextField(pgettext_lazy("of an error", "message"), blank=True)
    # Counts the starts.
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0, editable=False, db_column="attempts")
    # Of an export that a web server of the release before asks for: the database says now.
    next_attempt_at = models.DateTimeField(null=True, editable=False, default=timezone.now, db_default=Now())
    # The id of the request that asked for it, also in the log lines of the worker.
    request_id = models.CharField(max_length=64, blank=True, editable=False)
    created_at = models.DateTimeField(_("asked for"), db_default=Now(), editable=False)
    started_at = models.DateTimeField(_("started"), null=True, editable=False)
    # The instant of the snapshot.
    read_at = models.DateTimeField(_("as of"), null=True, editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, editable=False)

    objects = FileJobQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.file_name

    @property
    def file_name(self) -> str:
        raise NotImplementedError

    @property
    def has_ended(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED)

    @property
    def kept_until(self) -> datetime | None:
        return self.finished_at + FILES_KEPT if self.file and self.finished_at else None

    @property
    def content_type(self) -> str:
        return CONTENT_TYPES[self.format]

    def name_of_file(self, attempt: int) -> str:
        return str(self.file.field.generate_filename(self, f"{self.pk}-{attempt}.{self.format}"))

    def forget_files(self) -> None:
        """Delete the files that attempts left in the storage; no row names them before the export is finished."""
        for attempt in range(1, self.attempt_count + 1):
            self.file.storage.delete(self.name_of_file(attempt))

    def remove_file(self) -> None:
        """Delete the file; the row stays."""
        file = self.file.name or ""
        store(self, file="")
        self.file.storage.delete(file)

    def given_up(self, error: str) -> dict[str, Any]:
        with translation.override(self.language):
            said = error or _("The export was started %s times and ended early each time.") % self.attempt_count
            return {"state": self.State.FAILED, "message": str(said), "finished_at": timezone.now()}


def remove_outdated_files(model: type[FileJob]) -> None:
    for job in FileJobQuerySet(model).with_outdated_files():
        job.remove_file()
