from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from callcentre.actor import Actor
from callcentre.models import actor_columns
from callcentre.wake import wake
from campaigns.models.campaign import Campaign


def default_region() -> str:
    return str(settings.DEFAULT_REGION)


class RecordImport(models.Model):
    """A file of records and what becomes of it: uploaded, described, queued, running, finished or failed.

    Its records appear in one transaction, together with the state `finished`, or not at all: an import that a crash
    cut short is started again by the sweep once its lease has run out.
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
    file = models.FileField(_("file"), upload_to="imports/%Y/%m/", max_length=300)
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
    # How far it is: bytes read of file_size, then rows merged; percent is what people see.
    progress_percent = models.PositiveSmallIntegerField(_("progress"), default=0)
    read_count = models.PositiveIntegerField(_("rows read"), default=0)
    added_count = models.PositiveIntegerField(_("records added"), default=0)
    duplicate_count = models.PositiveIntegerField(_("duplicates"), default=0)
    faulty_count = models.PositiveIntegerField(_("faulty rows"), default=0)
    error_file = models.FileField(_("rows not imported"), upload_to="imports/%Y/%m/", max_length=300, blank=True)
    message = models.TextField(_("message"), blank=True)
    leased_until = models.DateTimeField(null=True, editable=False)
    actor_kind = models.CharField(max_length=10, editable=False)
    actor_id = models.BigIntegerField(null=True, editable=False)
    actor_name = models.CharField(_("imported by"), max_length=150, editable=False)
    created_at = models.DateTimeField(_("uploaded"), db_default=Now(), editable=False)
    started_at = models.DateTimeField(_("started"), null=True, editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, editable=False)

    class Meta:
        verbose_name = _("import of records")
        verbose_name_plural = _("imports of records")
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.file_name

    def queue(self, actor: Actor) -> None:
        """Let a worker import the file, as described by now."""
        self.state = self.State.QUEUED
        self.message = ""
        for name, value in actor_columns(actor).items():
            setattr(self, name, value)
        self.save()
        wake("campaigns.import_records", self.pk)
