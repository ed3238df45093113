"""Recordings of calls. The switch makes them, a worker fetches them; they are removed after the retention time."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.due_work import DueQuerySet, DueWork, Retries
from callcentre.core.scope import Lookups
from telephony.models.connection import SCOPE_OF_PART, Connection

# A recording is fetched this long after the end of its call, even if the switch has not reported it as finished.
LOOKED_FOR_AFTER = timedelta(seconds=60)


class RecordingQuerySet(DueQuerySet):
    def open(self) -> "RecordingQuerySet":
        """Recordings that are not stored yet."""
        return self.filter(state__in=[Recording.State.EXPECTED, Recording.State.FETCHING])

    def ready(self) -> "RecordingQuerySet":
        return self.filter(state=Recording.State.READY)

    def overdue(self, now: datetime) -> "RecordingQuerySet":
        """Recordings of ended calls that the switch has not reported as finished."""
        return self.filter(state=Recording.State.EXPECTED, connection__ended_at__lt=now - LOOKED_FOR_AFTER)

    def momentary(self) -> "RecordingQuerySet":
        """Recordings of calls that ended at once, within a second; the switch may not have made them."""
        second_after = models.F("started_at") + timedelta(seconds=1)
        return self.filter(connection__ended_at__range=(models.F("started_at"), second_after))

    def leaving(self, now: datetime) -> "RecordingQuerySet":
        """Recordings whose copy at the switch is no longer needed."""
        return self.filter(leaves_switch_at__lte=now)

    def untranscribed(self) -> "RecordingQuerySet":
        """Recordings of ended calls, all of whose recordings are stored, without a requested transcription."""
        return (
            self.ready()
            .filter(is_considered=False, connection__state=Connection.State.ENDED)
            .exclude(connection__in=Recording.objects.open().order_by().values("connection"))
        )


class Recording(DueWork):
    """A recording of a call, from the join of the legs until the end of the bridge.

    A call that is held or transferred has several recordings. A recording is EXPECTED from the request to the switch,
    FETCHING once the switch has finished it, READY when the file is stored, FAILED when it cannot be fetched, and
    REMOVED after the retention time.
    """

    scope_lookups: ClassVar[Lookups] = SCOPE_OF_PART
    waits = Q(state="fetching")
    delays = Retries.RECORDING
    task = "telephony.fetch_recording"

    class State(models.TextChoices):
        EXPECTED = "expected", _("being recorded")
        FETCHING = "fetching", _("being fetched")
        READY = "ready", _("ready")
        FAILED = "failed", _("failed")
        REMOVED = "removed", pgettext_lazy("of a recording", "removed")

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="recordings", verbose_name=_("call"))
    # The name at the switch: the connection's id, with -2, -3, … for further recordings.
    name = models.CharField(_("name"), max_length=60, unique=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.EXPECTED)
    file = models.FileField(_("file"), max_length=200, blank=True)
    size = models.PositiveBigIntegerField(_("size in bytes"), default=0)
    seconds = models.FloatField(_("length in s"), default=0)
    started_at = models.DateTimeField(_("start"))
    ready_at = models.DateTimeField(_("ready"), null=True)
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0, db_column="attempts")
    next_attempt_at = models.DateTimeField(null=True)
    # When to remove the switch's copy: once it is stored here, or after the retention time of a failed one. NULL while
    # the copy may be needed, and after its removal.
    leaves_switch_at = models.DateTimeField(null=True)
    error = models.CharField(_("error"), max_length=300, blank=True)
    # Whether the transcription was requested. Without a provider it is not.
    is_considered = models.BooleanField(default=False)

    objects = RecordingQuerySet.as_manager()

    class Meta:
        verbose_name = _("recording")
        verbose_name_plural = _("recordings")
        ordering = ["-id"]
        indexes = [
            # The few that are not stored yet, those without a transcription, and those that reach the retention time.
            models.Index(
                fields=["state", "next_attempt_at"],
                condition=Q(state__in=["expected", "fetching"]),
                name="recording_open",
            ),
            models.Index(fields=["-id"], condition=Q(state="ready", is_considered=False), name="recording_considered"),
            models.Index(fields=["ready_at"], condition=Q(state="ready"), name="recording_kept"),
            models.Index(
                fields=["leaves_switch_at"], condition=Q(leaves_switch_at__isnull=False), name="recording_on_switch"
            ),
            models.Index(fields=["state", "-id"], name="recording_state"),
            models.Index(fields=["-started_at", "-id"], name="recording_newest"),
        ]

    def __str__(self) -> str:
        return self.filename

    @property
    def filename(self) -> str:
        return f"{self.name}.wav"

    def given_up(self, error: str) -> dict[str, Any]:
        return {**super().given_up(error), "leaves_switch_at": timezone.now() + settings.RECORDING_RETENTION}

    @property
    def path(self) -> str:
        """The path in our storage, always the same, so that a second attempt replaces the file."""
        return f"recordings/{self.started_at:%Y/%m/%d}/{self.filename}"


class CallerMessage(models.Model):
    """A recording that is the message of a caller: for it a ticket is opened, once, in the queue's ticket queue.

    `is_due` until the ticket is there, or no ticket is needed: the queue has no tickets, or nothing was said.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "recording__connection__queue_id"}

    recording = models.OneToOneField(Recording, models.CASCADE, primary_key=True, related_name="message")
    is_due = models.BooleanField(default=True)
    # A ticket; telephony knows its id only.
    ticket_id = models.BigIntegerField(null=True)

    class Meta:
        default_permissions = ()
        ordering = ["recording"]
        indexes = [models.Index(fields=["recording"], condition=Q(is_due=True), name="callermessage_due")]

    def __str__(self) -> str:
        return str(self.recording_id)
