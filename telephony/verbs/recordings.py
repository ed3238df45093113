"""Verbs of recordings: expect, fetch in attempts, store, remove. Workers hold a lease on the recording they fetch."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.enqueue import enqueue
from telephony import call_clock, events
from telephony.models.connection import Connection
from telephony.models.recording import Recording, RecordingQuerySet

# Delays between the attempts to fetch a recording; the first attempt is made at once.
DELAYS = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
)
# After this many attempts a recording that the switch does not have is given up.
REFUSED_ATTEMPTS = 3
# A worker renews its lease while it reads.
LEASE = timedelta(minutes=5)

State = Recording.State


def expect(connection: Connection) -> str:
    """Store that the switch is about to record a call, which is locked. Return the recording's name."""
    started_at = call_clock.on_call(connection.pk, call_clock.now()).replace(microsecond=0)
    recording = Recording(name=connection.recording_name, connection=connection, started_at=started_at)
    Recording.objects.bulk_create([recording], ignore_conflicts=True)
    return recording.name


def withdraw(name: str) -> None:
    """Delete the row of a recording that the switch refused to make."""
    Recording.objects.filter(name=name, state=State.EXPECTED).delete()


def finish(name: str, *, is_failed: bool = False) -> None:
    """Fetch a recording that the switch has finished, or mark it as failed. Repeating this is harmless."""
    expected = Recording.objects.filter(name=name, state=State.EXPECTED)
    if is_failed:
        # The call was too short to be recorded.
        expected.filter(pk__in=expected.momentary().values("pk")).delete()
        expected.update(
            state=State.FAILED,
            error="the switch could not record",
            leaves_switch_at=timezone.now() + settings.RECORDING_RETENTION,
        )
        return
    with transaction.atomic():
        if expected.update(state=State.FETCHING, next_attempt_at=timezone.now()):
            enqueue("telephony.fetch_recording", Recording.objects.values_list("pk", flat=True).get(name=name))


def claim(recording: Recording) -> bool:
    """Acquire the lease for one attempt. Return whether the recording was due and without a lease."""
    now = timezone.now()
    due = Recording.objects.due(now).filter(pk=recording.pk)
    if not due.update(attempts=F("attempts") + 1, next_attempt_at=now + LEASE):
        return False
    recording.refresh_from_db(fields=["attempts"])
    if recording.attempts > len(DELAYS) + 1:  # the last attempt ended with its worker
        put_off(recording, recording.error or "the attempts ended early")
        return False
    return True


def renew(recording: Recording) -> bool:
    """Extend the lease. Return whether this worker still held it."""
    return bool(_leased(recording).update(next_attempt_at=timezone.now() + LEASE))


def store(recording: Recording, *, size: int, seconds: float) -> bool:
    """Mark as ready a recording whose file is at its path. Return whether this worker still held the lease."""
    with transaction.atomic():
        connection = Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=recording.connection_id)
        is_stored = _leased(recording).update(
            state=State.READY,
            file=recording.path,
            size=size,
            seconds=seconds,
            ready_at=timezone.now(),
            next_attempt_at=None,
            # We remove no files from the switch's folder.
            leaves_switch_at=None if settings.RECORDINGS_FOLDER else timezone.now(),
            error="",
        )
        if is_stored:
            events.recording_ready(connection.uid, recording.filename)
    return bool(is_stored)


def put_off(recording: Recording, error: str, *, is_refused: bool = False, is_absent: bool = False) -> None:
    """Store why an attempt failed, and schedule the next attempt unless this was the last.

    `is_absent`: the switch has no such recording. For a call that ended at once, that is no failure.
    """
    now = timezone.now()
    is_last = recording.attempts > len(DELAYS) or (is_refused and recording.attempts >= REFUSED_ATTEMPTS)
    if is_last and is_absent and Recording.objects.momentary().filter(pk=recording.pk).exists():
        _leased(recording).delete()
        return
    values: dict[str, Any] = (
        {"state": State.FAILED, "next_attempt_at": None, "leaves_switch_at": now + settings.RECORDING_RETENTION}
        if is_last
        else {"next_attempt_at": now + DELAYS[recording.attempts - 1]}
    )
    _leased(recording).update(error=error[:300], **values)


def fetch_again(recording: Recording, actor: Actor) -> bool:
    """Begin new attempts for a recording that has failed. Return whether it had failed."""
    failed = Recording.objects.filter(pk=recording.pk, state=State.FAILED)
    with transaction.atomic():
        again = {"attempts": 0, "next_attempt_at": timezone.now(), "leaves_switch_at": None}
        if not failed.update(state=State.FETCHING, **again):
            return False
        record(actor, AuditAction.FETCH_AGAIN, recording)
        enqueue("telephony.fetch_recording", recording.pk)
    return True


def remove(recording: Recording) -> None:
    """Delete the file. The row stays and tells that there was a recording."""
    default_storage.delete(recording.path)
    Recording.objects.filter(pk=recording.pk).update(state=State.REMOVED, file="")


def _leased(recording: Recording) -> RecordingQuerySet:
    return Recording.objects.filter(pk=recording.pk, state=State.FETCHING, attempts=recording.attempts)
