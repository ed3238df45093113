"""Files of recordings: fetched from the switch or a folder into our storage, and removed after the retention time."""

import logging
import tempfile
import threading
import wave
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from callcentre.core.due_work import Claim, NotOurs
from callcentre.core.free_space import is_full
from callcentre.core.personal_data import without_held
from telephony.calls import presumed_ends
from telephony.models import Recording
from telephony.models.transcription import is_configured
from telephony.switch import current_switch
from telephony.switch.base import SwitchError, SwitchUnreachable
from telephony.verbs import recordings, transcriptions
from telephony.wav import mend

logger = logging.getLogger(__name__)

PIECE_BYTES = 64 * 1024
# More than 37 hours of a telephone's voice: no call is longer.
MOST_BYTES = 2 * 1024**3
REMOVED_AT_ONCE = 500
# Before the switch is asked again to remove a copy.
AGAIN_AFTER = timedelta(minutes=10)
# The most threads of a worker, which also place calls, that fetch recordings at one time.
_slots = threading.BoundedSemaphore(4)
REQUESTED_AT_ONCE = 100


def fetch(pk: int) -> None:
    """Make one attempt to fetch a recording that is due. Without a free slot or free space, the sweep retries it."""
    if is_full() or not _slots.acquire(blocking=False):
        return
    try:
        if claim := Recording.objects.claim(pk):
            with claim:
                _attempt(claim)
    finally:
        _slots.release()
    Recording.objects.enqueue_due(1)


def _attempt(claim: Claim[Recording]) -> None:
    recording = claim.row
    try:
        size, seconds = _copy(claim)
    except SwitchUnreachable as error:
        claim.fail(error)
    except SwitchError as error:
        recordings.put_off(claim, str(error), is_absent=True)
    except (wave.Error, EOFError) as error:
        recordings.put_off(claim, f"no WAV with sound: {error or 'it ends early'}")
    except OSError as error:
        claim.fail(f"cannot be stored: {error.strerror or error}")
    else:
        try:
            with transaction.atomic():
                recordings.store(claim, size=size, seconds=seconds)
                presumed_ends.correct(recording.connection_id)
        except NotOurs:
            # Remove the file of a recording that was deleted meanwhile. Another worker's file stays.
            if not Recording.objects.exclude(state=Recording.State.REMOVED).filter(pk=recording.pk).exists():
                default_storage.delete(recording.path)
            raise
        if not settings.RECORDINGS_FOLDER:
            with suppress(SwitchUnreachable):  # the sweep retries it
                _remove_from_switch(recording)
        recordings.open_tickets(recording.pk)
        request_transcription(recording.connection_id)


def request_transcription(connection_id: int) -> None:
    """Request the transcription of a call that is over and has all its recordings, if there is a provider."""
    if is_configured() and Recording.objects.untranscribed().filter(connection=connection_id).exists():
        transcriptions.request(connection_id)


def _copy(claim: Claim[Recording]) -> tuple[int, float]:
    """Copy the recording into our storage. Return its size in bytes and its length in seconds."""
    recording = claim.row
    with tempfile.NamedTemporaryFile() as copy:
        size = 0
        for piece in _pieces(recording.name):
            size += copy.write(piece)
            if size > MOST_BYTES:
                raise SwitchError(f"longer than {MOST_BYTES} bytes")
        if not (seconds := mend(copy, size)):
            # As from an Asterisk without a timing module.
            raise wave.Error("it is empty")
        claim.check()
        # The storage would choose another name if an earlier attempt has left a file.
        default_storage.delete(recording.path)
        copy.seek(0)
        default_storage.save(recording.path, File(copy))
    return size, seconds


def _pieces(name: str) -> Iterator[bytes]:
    if not settings.RECORDINGS_FOLDER:
        yield from current_switch().recording(name)
        return
    try:
        with (Path(settings.RECORDINGS_FOLDER) / f"{name}.wav").open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece
    except OSError as error:  # the file does not exist yet, or the folder is not mounted
        raise SwitchUnreachable(f"RECORDINGS_FOLDER: {error.strerror}") from error


def clear_switch(now: datetime) -> None:
    """Remove the switch's copies that are no longer needed, to keep its disk free."""
    if settings.RECORDINGS_FOLDER:
        return
    leaving = Recording.objects.leaving(now).order_by("leaves_switch_at")
    try:
        for recording in leaving[:REMOVED_AT_ONCE]:
            _remove_from_switch(recording)
    except SwitchUnreachable as error:
        logger.warning("recordings stay at the switch", extra={"error": str(error)})
        leaving.update(leaves_switch_at=now + AGAIN_AFTER)


def _remove_from_switch(recording: Recording) -> None:
    again_at = None
    try:
        current_switch().remove_recording(recording.name)
    except SwitchUnreachable:
        raise
    except SwitchError as error:
        logger.warning("a recording stays", extra={"recording": recording.name, "error": str(error)})
        again_at = timezone.now() + AGAIN_AFTER
    Recording.objects.filter(pk=recording.pk).update(leaves_switch_at=again_at)


def sweep(now: datetime) -> None:
    """Fetch recordings that the switch has not reported, and request transcriptions that had no provider."""
    for name in Recording.objects.overdue(now).values_list("name", flat=True)[:REQUESTED_AT_ONCE]:
        recordings.finish(name)
    recordings.open_tickets()
    if is_configured():
        untranscribed = Recording.objects.untranscribed().order_by("-id")
        for connection_id in untranscribed.values_list("connection_id", flat=True)[:REQUESTED_AT_ONCE]:
            transcriptions.request(connection_id)


def prune(now: datetime) -> None:
    outdated = Recording.objects.ready().filter(ready_at__lt=now - settings.RECORDING_RETENTION).order_by("ready_at")
    while kept := list(without_held(outdated)[:REMOVED_AT_ONCE]):
        for recording in kept:
            recordings.remove(recording)
