"""Recordings of calls: expected of the switch, fetched by a worker, kept for a time, removed."""

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from telephony.models.connection import Connection

# A recording is fetched this long after the end of its call, even if the switch has not reported it as finished.
LOOKED_FOR_AFTER = timedelta(seconds=60)


class RecordingQuerySet(models.QuerySet["Recording"]):
    def open(self) -> "RecordingQuerySet":
        """Still to come."""
        return self.filter(state__in=[Recording.State.EXPECTED, Recording.State.FETCHING])

    def ready(self) -> "RecordingQuerySet":
        return self.filter(state=Recording.State.READY)

    def due(self, now: datetime) -> "RecordingQuerySet":
        return self.filter(state=Recording.State.FETCHING, next_attempt_at__lte=now)

    def overdue(self, now: datetime) -> "RecordingQuerySet":
        """The call is over, and the switch has not said that its recording is ready."""
        return self.filter(state=Recording.State.EXPECTED, connection__ended_at__lt=now - LOOKED_FOR_AFTER)

    def momentary(self) -> "RecordingQuerySet":
        """Of calls that ended within the second in which they were answered, or the next: there may be none."""
        second_after = models.F("started_at") + timedelta(seconds=1)
        return self.filter(connection__ended_at__range=(models.F("started_at"), second_after))

    def leaving(self, now: datetime) -> "RecordingQuerySet":
        """The switch need not keep them any longer."""
        return self.filter(leaves_switch_at__lte=now)

    def untranscribed(self) -> "RecordingQuerySet":
        """Of calls that are over, with nothing more to come, and nobody has asked for their transcription."""
        return (
            self.ready()
            .filter(is_considered=False, connection__state=Connection.State.ENDED)
            .exclude(connection__in=Recording.objects.open().order_by().values("connection"))
        )


class Recording(models.Model):
    """What the switch recorded of a call: from the first word together until the bridge goes. A call that is held or
    handed on has one for each stretch of talk.

    It is EXPECTED as soon as the switch was told to record; FETCHING once it can be read; READY when the file is
    ours; FAILED when it cannot be had; REMOVED when it has been kept for long enough.
    """

    class State(models.TextChoices):
        EXPECTED = "expected", _("being recorded")
        FETCHING = "fetching", _("being fetched")
        READY = "ready", _("ready")
        FAILED = "failed", _("failed")
        REMOVED = "removed", pgettext_lazy("of a recording", "removed")

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="recordings", verbose_name=_("call"))
    # By which the switch knows it: the connection's id, with -2, -3, … for further ones.
    name = models.CharField(_("name"), max_length=60, unique=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.EXPECTED)
    file = models.FileField(_("file"), max_length=200, blank=True)
    size = models.PositiveBigIntegerField(_("size in bytes"), default=0)
    seconds = models.FloatField(_("length in s"), default=0)
    started_at = models.DateTimeField(_("start"))
    ready_at = models.DateTimeField(_("ready"), null=True)
    # Grows with every attempt, and so tells a worker whether the recording is still its own.
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(null=True)
    # When the switch's own copy is to go: once it is kept here, or has been of no use for long enough. NULL while it
    # may be needed, and where there is none any more.
    leaves_switch_at = models.DateTimeField(null=True)
    error = models.CharField(_("error"), max_length=300, blank=True)
    # Whether its transcription was asked for; without a provider nobody can.
    is_considered = models.BooleanField(default=False)

    objects = RecordingQuerySet.as_manager()

    class Meta:
        verbose_name = _("recording")
        verbose_name_plural = _("recordings")
        ordering = ["-id"]
        indexes = [
            # The few that are still to come, those that wait for a transcription, and those that grow old.
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
            # Those that failed, among millions that did not.
            models.Index(fields=["state", "-id"], name="recording_state"),
        ]

    def __str__(self) -> str:
        return self.filename

    @property
    def filename(self) -> str:
        return f"{self.name}.wav"

    @property
    def path(self) -> str:
        """Where it is stored: one place for one recording, so that a second attempt leaves no second file."""
        return f"recordings/{self.started_at:%Y/%m/%d}/{self.filename}"
