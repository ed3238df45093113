from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.core.files import File
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.models import actor_columns
from campaigns.models.campaign import Campaign

# A worker renews its lease every second or two; one that is silent for this long is dead.
LEASE = timedelta(seconds=30)
# How long a queued import may wait for a worker before its message is sent once more.
RESEND_AFTER = timedelta(seconds=60)
# An import that has ended its workers this often is not started again.
MAX_ATTEMPTS = 5
FILES_KEPT = timedelta(days=30)


def default_region() -> str:
    return str(settings.DEFAULT_REGION)


class RecordImportQuerySet(models.QuerySet["RecordImport"]):
    def due(self) -> "RecordImportQuerySet":
        """Queued or running, and nobody has been heard of for too long."""
        return self.filter(
            state__in=[RecordImport.State.QUEUED, RecordImport.State.RUNNING], leased_until__lt=timezone.now()
        )

    def with_outdated_files(self) -> "RecordImportQuerySet":
        """Their files are to go: old enough, and nobody is at work on them."""
        return self.filter(~Q(file="") | ~Q(error_file=""), created_at__lt=timezone.now() - FILES_KEPT).exclude(
            state__in=[RecordImport.State.QUEUED, RecordImport.State.RUNNING]
        )


class RecordImport(models.Model):
    """A file of records and what becomes of it: uploaded, described, queued, running, finished or failed.

    Its records appear in one transaction, together with the state `finished`, or not at all: an import that a crash
    cut short is started again by the sweep once its lease has run out. One made by the command has no `file`.
    """

    class State(models.TextChoices):
        UPLOADED = "uploaded", _("uploaded")
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")
        FAILED = "failed", _("failed")

    class Duplicates(models.TextChoices):
        SKIP = "skip", _("leave out numbers that the campaign already has")
        ALLOW = "allow", _("add them as further records")

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="imports", verbose_name=_("campaign"))
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
    records_events = models.BooleanField(_("an event for each record"), default=False)

    state = models.CharField(_("state"), max_length=10, choices=State, default=State.UPLOADED)
    # How far it is: reading the file is the first half, merging the second.
    progress_percent = models.PositiveSmallIntegerField(_("progress"), default=0)
    read_count = models.PositiveIntegerField(_("rows read"), default=0)
    added_count = models.PositiveIntegerField(_("records added"), default=0)
    # Left out because the campaign, or an earlier row, has the number.
    duplicate_count = models.PositiveIntegerField(_("duplicates"), default=0)
    faulty_count = models.PositiveIntegerField(_("faulty rows"), default=0)
    error_file = models.FileField(_("rows not imported"), upload_to="imports/%Y/%m/", max_length=300, blank=True)
    message = models.TextField(pgettext_lazy("of an error", "message"), blank=True)
    # While running: until when its worker counts as alive. While queued: when the sweep sends its message again.
    leased_until = models.DateTimeField(null=True, editable=False)
    # Grows with every start, and so tells a worker whether the import is still its own.
    attempts = models.PositiveIntegerField(default=0, editable=False)
    # Of the request that queued it: also in the log lines of an import that had to be started again.
    request_id = models.CharField(max_length=20, blank=True, editable=False)
    actor_kind = models.CharField(max_length=10, editable=False)
    actor_id = models.BigIntegerField(null=True, editable=False)
    actor_name = models.CharField(_("imported by"), max_length=150, editable=False)
    created_at = models.DateTimeField(_("uploaded"), db_default=Now(), editable=False)
    started_at = models.DateTimeField(_("started"), null=True, editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, editable=False)

    objects = RecordImportQuerySet.as_manager()

    class Meta:
        verbose_name = _("import of records")
        verbose_name_plural = _("imports of records")
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.file_name

    @property
    def actor(self) -> Actor:
        """Who the history of the records says added them."""
        return Actor("import", self.pk, self.file_name)

    @property
    def has_ended(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED)

    @property
    def seconds(self) -> int | None:
        """The seconds that it took, or has been taking."""
        if self.started_at is None:
            return None
        return max(round(((self.finished_at or timezone.now()) - self.started_at).total_seconds()), 0)

    @classmethod
    def upload(cls, actor: Actor, campaign: Campaign, file: "File[bytes]", **values: Any) -> "RecordImport":
        """Keep a file that is to be imported; `values` as guessed from it."""
        name = (file.name or "records.csv").replace("\\", "/").rpartition("/")[2][-200:]
        return cls.objects.create(
            campaign=campaign, file=file, file_name=name, file_size=file.size, **actor_columns(actor), **values
        )

    def describe(self, actor: Actor, **values: Any) -> None:
        """Say how the file is to be read: columns, region, … Raises Conflict once it is queued."""
        with transaction.atomic():
            self._lock(self.State.UPLOADED, self.State.FAILED)
            for name, value in values.items():
                setattr(self, name, value)
            self.save(update_fields=values)

    def queue(self, actor: Actor) -> None:
        """Let a worker import the file, as described by now; a failed import begins anew. Raises Conflict."""
        with transaction.atomic():
            self._lock(self.State.UPLOADED, self.State.FAILED)
            self.state = self.State.QUEUED
            self.message = ""
            self.attempts = self.progress_percent = self.read_count = 0
            self.started_at = self.finished_at = None
            self.leased_until = timezone.now() + RESEND_AFTER
            self.request_id = structlog.contextvars.get_contextvars().get("request_id", "")
            for name, value in actor_columns(actor).items():
                setattr(self, name, value)
            self.save()
            enqueue("campaigns.import_records", self.pk)

    def resume(self) -> None:
        """Start again what lost its message or its worker; one that cannot be, or ends every worker, has failed."""
        with transaction.atomic():
            ours = (
                RecordImport.objects.due()
                .select_for_update(skip_locked=True, no_key=True, of=("self",))
                .filter(pk=self.pk)
            )
            if not ours.exists():
                return
            if not self.file:
                self.fail(_("The command ended before the import did; start it again."))
            elif self.attempts >= MAX_ATTEMPTS:
                self.fail(_("The import was started %s times and ended early each time.") % self.attempts)
            else:
                ours.update(leased_until=timezone.now() + RESEND_AFTER, state=self.State.QUEUED)
                enqueue("campaigns.import_records", self.pk)

    def fail(self, message: Any) -> None:
        """Nothing was imported, and this is why."""
        RecordImport.objects.filter(pk=self.pk).exclude(state=self.State.FINISHED).update(
            state=self.State.FAILED, message=str(message), finished_at=timezone.now(), leased_until=None
        )

    def finish(self, attempt: int, values: Mapping[str, Any]) -> None:
        """In the transaction that adds the records. Raises Conflict when another worker has taken over."""
        ours = RecordImport.objects.filter(pk=self.pk, state=self.State.RUNNING, attempts=attempt)
        if not ours.update(
            state=self.State.FINISHED,
            message="",
            progress_percent=100,
            finished_at=timezone.now(),
            leased_until=None,
            **values,
        ):
            raise Conflict(ErrorCode.CONFLICT)

    def remove_files(self) -> None:
        """Forget what was uploaded and what was refused; the counts stay."""
        for file in (self.file, self.error_file):
            if file:
                file.delete(save=False)
        self.save(update_fields=["file", "error_file"])

    def _lock(self, *states: str) -> None:
        if RecordImport.objects.select_for_update(no_key=True).get(pk=self.pk).state not in states:
            raise Conflict(ErrorCode.CONFLICT)
