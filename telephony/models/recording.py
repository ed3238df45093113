"""Recordings of calls: expected of the switch, fetched by a worker, kept for a time, removed."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from telephony import clocks, events
from telephony.models.connection import Connection

# Between the attempts to fetch a recording; the first is made at once.
DELAYS = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
)
# A switch that says it has no such recording is believed after so many attempts.
REFUSED_ATTEMPTS = 3
# How long a worker may keep what it has claimed. It renews its lease while it reads.
LEASE = timedelta(minutes=5)
# A recording whose end nobody told of is looked for after the call has been over for this long.
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

    @classmethod
    def begin(cls, connection: Connection) -> str:
        """The switch is about to be told to record a call, which the caller has locked. The recording's name."""
        started_at = clocks.on_call(connection.pk, clocks.now()).replace(microsecond=0)
        recording = Recording(name=connection.recording_name, connection=connection, started_at=started_at)
        Recording.objects.bulk_create([recording], ignore_conflicts=True)
        return recording.name

    @classmethod
    def withdraw(cls, name: str) -> None:
        """The switch does not record this after all: forget that it was to."""
        cls.objects.filter(name=name, state=cls.State.EXPECTED).delete()

    @classmethod
    def finish(cls, name: str, *, is_failed: bool = False) -> None:
        """The switch says that this recording can be read, or never will be. Told twice it is told once."""
        expected = cls.objects.filter(name=name, state=cls.State.EXPECTED)
        if is_failed:
            # Nothing was said that could have been recorded.
            expected.filter(pk__in=expected.momentary().values("pk")).delete()
            expected.update(
                state=cls.State.FAILED,
                error="the switch could not record",
                leaves_switch_at=timezone.now() + settings.RECORDING_RETENTION,
            )
            return
        with transaction.atomic():
            if expected.update(state=cls.State.FETCHING, next_attempt_at=timezone.now()):
                enqueue("telephony.fetch_recording", cls.objects.values_list("pk", flat=True).get(name=name))

    def claim(self) -> bool:
        """Take it for one attempt, if it is due and nobody has it."""
        now = timezone.now()
        due = Recording.objects.due(now).filter(pk=self.pk)
        if not due.update(attempts=models.F("attempts") + 1, next_attempt_at=now + LEASE):
            return False
        self.refresh_from_db(fields=["attempts"])
        if self.attempts > len(DELAYS) + 1:  # the last one ended its worker
            self.put_off(self.error or "the attempts ended early")
            return False
        return True

    def renew(self) -> bool:
        """Keep it for another while; whether it is still ours."""
        return bool(self._ours().update(next_attempt_at=timezone.now() + LEASE))

    def store(self, *, size: int, seconds: float) -> bool:
        """The file lies at `path`: say so. Whether it was still ours."""
        with transaction.atomic():
            connection = Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=self.connection_id)
            stored = self._ours().update(
                state=self.State.READY,
                file=self.path,
                size=size,
                seconds=seconds,
                ready_at=timezone.now(),
                next_attempt_at=None,
                # A folder belongs to whoever fills it.
                leaves_switch_at=None if settings.RECORDINGS_FOLDER else timezone.now(),
                error="",
            )
            if stored:
                events.recording_ready(connection.uid, self.filename)
        return bool(stored)

    def put_off(self, error: str, *, is_refused: bool = False, is_absent: bool = False) -> None:
        """Write down that this attempt failed: there is another, or it was the last.

        `is_absent`: the switch has no such recording. Of a call that was over at once, that is no failure.
        """
        now = timezone.now()
        is_last = self.attempts > len(DELAYS) or (is_refused and self.attempts >= REFUSED_ATTEMPTS)
        if is_last and is_absent and Recording.objects.momentary().filter(pk=self.pk).exists():
            self._ours().delete()
            return
        values: dict[str, Any] = (
            {
                "state": self.State.FAILED,
                "next_attempt_at": None,
                "leaves_switch_at": now + settings.RECORDING_RETENTION,
            }
            if is_last
            else {"next_attempt_at": now + DELAYS[self.attempts - 1]}
        )
        self._ours().update(error=error[:300], **values)

    def fetch_again(self, actor: Actor) -> bool:
        """Try once more to get one that had failed; whether it had."""
        failed = Recording.objects.filter(pk=self.pk, state=self.State.FAILED)
        with transaction.atomic():
            again = {"attempts": 0, "next_attempt_at": timezone.now(), "leaves_switch_at": None}
            if not failed.update(state=self.State.FETCHING, **again):
                return False
            enqueue("telephony.fetch_recording", self.pk)
        return True

    def remove(self) -> None:
        """Forget what was said; that there was a recording stays known."""
        default_storage.delete(self.path)
        Recording.objects.filter(pk=self.pk).update(state=self.State.REMOVED, file="")

    def _ours(self) -> RecordingQuerySet:
        return Recording.objects.filter(pk=self.pk, state=self.State.FETCHING, attempts=self.attempts)
