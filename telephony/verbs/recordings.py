"""Verbs of recordings: expect, fetch in attempts, store, remove; and the tickets of messages that callers have left.

Each message gets one ticket, once its recording is stored or lost.
"""

import logging

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.due_work import Claim
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Invalid
from telephony import call_clock, events
from telephony.customers import open_ticket
from telephony.models import CallerMessage, Connection, Recording

# After this many attempts a recording that the switch does not have is given up.
REFUSED_ATTEMPTS = 3

State = Recording.State


def expect(connection: Connection) -> str:
    """Store that the switch is about to record a call, which is locked. Return the recording's name."""
    started_at = call_clock.on_call(connection.pk, call_clock.now()).replace(microsecond=0)
    recording = Recording(name=connection.recording_name, connection=connection, started_at=started_at)
    Recording.objects.bulk_create([recording], ignore_conflicts=True)
    return recording.name


def withdraw(name: str) -> None:
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


def store(claim: Claim[Recording], *, size: int, seconds: float) -> None:
    """Mark as ready a recording whose file is at its path. Raise NotOurs."""
    recording = claim.row
    with transaction.atomic():
        connection = Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=recording.connection_id)
        claim.finish(
            state=State.READY,
            file=recording.path,
            size=size,
            seconds=seconds,
            ready_at=timezone.now(),
            # We remove no files from the switch's folder.
            leaves_switch_at=None if settings.RECORDINGS_FOLDER else timezone.now(),
            error="",
        )
        events.recording_ready(connection.uid, filename=recording.filename)


def put_off(claim: Claim[Recording], error: str, *, is_absent: bool = False) -> None:
    """Store why the switch refused. It is asked less often than a switch that does not answer.

    `is_absent`: the switch has no such recording. For a call that ended at once, that is no failure.
    """
    recording, is_final = claim.row, claim.row.attempt_count >= REFUSED_ATTEMPTS
    if is_final and is_absent and Recording.objects.momentary().filter(pk=recording.pk).exists():
        recording.delete()
    else:
        claim.fail(error, is_final=is_final)


def fetch_again(recording: Recording, actor: Actor) -> bool:
    """Begin new attempts for a recording that has failed. Return whether it had failed."""
    failed = Recording.objects.filter(pk=recording.pk, state=State.FAILED)
    with transaction.atomic():
        again = {"attempt_count": 0, "next_attempt_at": timezone.now(), "leaves_switch_at": None}
        if not failed.update(state=State.FETCHING, **again):
            return False
        record(actor, AuditAction.FETCH_AGAIN, recording)
        enqueue("telephony.fetch_recording", recording.pk)
    return True


def remove(recording: Recording) -> None:
    """Delete the file. The row stays and tells that there was a recording."""
    default_storage.delete(recording.path)
    Recording.objects.filter(pk=recording.pk).update(state=State.REMOVED, file="")


logger = logging.getLogger(__name__)

# In a shorter recording nothing was said.
LEAST_SECONDS = 2
AT_ONCE = 100
_OVER = (Recording.State.READY, Recording.State.FAILED, Recording.State.REMOVED)


def open_tickets(recording_id: int | None = None) -> None:
    """Open the tickets that are due; of one recording only, if it is given."""
    due = CallerMessage.objects.filter(is_due=True, recording__state__in=_OVER)
    if recording_id:
        due = due.filter(pk=recording_id)
    for pk in due.values_list("pk", flat=True)[:AT_ONCE]:
        try:
            _open(pk)
        except Invalid as error:
            logger.warning("a message has no ticket yet", extra={"recording": pk, "error": str(error)})


@transaction.atomic
def _open(pk: int) -> None:
    locked = CallerMessage.objects.select_for_update(of=("self",), skip_locked=True).filter(pk=pk, is_due=True)
    message = locked.select_related("recording__connection__queue").first()
    if message is None:
        return
    recording, message.is_due = message.recording, False
    queue = recording.connection.queue
    is_said = recording.seconds >= LEAST_SECONDS or recording.state == Recording.State.FAILED
    if is_said and queue and queue.voicemail_ticket_queue_id:
        message.ticket_id = open_ticket(recording, queue.voicemail_ticket_queue_id)
    message.save(update_fields=["is_due", "ticket_id"])
