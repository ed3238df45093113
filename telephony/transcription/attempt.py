"""One attempt at a transcription: its recordings to the provider, their words to the model, the outcome to its row."""

import logging
import threading
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core.enqueue import enqueue
from telephony.models import Connection, EvaluationCriterion, Recording, Transcription
from telephony.models.transcription import NOTHING_MADE, is_configured
from telephony.talk_ratio import CUSTOMER, UNKNOWN, USER
from telephony.transcription.analysis import analyse
from telephony.transcription.pieces import Piece, pieces
from telephony.transcription.provider import ProviderError, Segment, transcribe
from telephony.verbs import transcriptions

logger = logging.getLogger(__name__)

# Of the threads that also place calls, so many may wait for a provider at one time.
_slots = threading.BoundedSemaphore(4)
# What providers call the two, where they know.
AGENT_LABELS = {"agent", "user", "operator", "advisor"}
CUSTOMER_LABELS = {"customer", "client", "caller"}


class _NotOurs(Exception):
    """It took so long that another worker has it now."""


def run(connection_id: int) -> None:
    """Make one attempt, if it is due and a place is free; if none is, the sweep comes back to it."""
    if not _slots.acquire(blocking=False):
        return
    try:
        transcription = Transcription.objects.select_related("connection").filter(pk=connection_id).first()
        if transcription is not None and transcriptions.claim(transcription):
            _attempt(transcription)
    finally:
        _slots.release()
    for waiting in Transcription.objects.due(timezone.now()).order_by("next_attempt_at")[:1]:
        enqueue("telephony.transcribe", waiting.pk)


def _attempt(transcription: Transcription) -> None:
    if not is_configured():
        transcriptions.withdraw(transcription)
        return
    recordings = list(Recording.objects.ready().filter(connection=transcription.pk).order_by("id"))
    try:
        if transcription.parts is None:
            if not recordings:
                raise ProviderError("the recording is gone", is_final=True)
            if not transcriptions.charge(transcription, sum(recording.seconds for recording in recordings)):
                transcriptions.exceed_limit(transcription)
                return
            _hear(transcription, recordings)
        transcriptions.succeed(transcription, **_made_of(transcription))
    except ProviderError as error:
        logger.warning("transcription failed", extra={"connection": transcription.pk, "error": str(error)})
        transcriptions.put_off(transcription, str(error), is_final=error.is_final, retry_after=error.retry_after)
    except (OSError, EOFError) as error:
        transcriptions.put_off(transcription, f"the recording cannot be read: {error}")
    except _NotOurs:
        logger.warning("transcription was taken over", extra={"connection": transcription.pk})


def _hear(transcription: Transcription, recordings: list[Recording]) -> None:
    """Who said what, the recordings one after another."""
    parts: list[dict[str, Any]] = []
    offset = 0.0
    for recording in recordings:
        with default_storage.open(recording.path) as file:
            for piece in pieces(file):
                if not transcriptions.renew(transcription):
                    raise _NotOurs
                parts += _parts(piece, transcribe(piece), offset, transcription.connection)
        offset += recording.seconds
    parts.sort(key=lambda part: (part["begin"], part["end"]))
    transcriptions.keep_parts(transcription, parts, offset)


def _parts(piece: Piece, segments: list[Segment], offset: float, call: Connection) -> Iterator[dict[str, Any]]:
    speakers = _speakers(piece, segments, call)
    for segment in segments:
        yield {
            "begin": round(offset + piece.begin + segment.begin, 2),
            "end": round(offset + piece.begin + segment.end, 2),
            "speaker": speakers.get(segment.label, UNKNOWN),
            "text": segment.text,
        }


def _speakers(piece: Piece, segments: list[Segment], call: Connection) -> dict[str, str]:
    """The provider's label of each speaker -> who it is.

    A channel of his own says it best. Else labels do that mean something; of others we know that whoever picked up
    speaks first, in a recording that was heard in one piece: in the next one the same label may be somebody else.
    """
    labels = list(dict.fromkeys(segment.label for segment in segments))
    if piece.speaker:
        return dict.fromkeys(labels, piece.speaker)
    named = {
        label: USER if label.lower() in AGENT_LABELS else CUSTOMER
        for label in labels
        if label.lower() in AGENT_LABELS | CUSTOMER_LABELS
    }
    if named or "" in labels or len(labels) < 2 or not piece.is_whole:
        return named
    first, other = (USER, CUSTOMER) if call.direction == Connection.Direction.INBOUND else (CUSTOMER, USER)
    return dict.fromkeys(labels, other) | {labels[0]: first}


def _made_of(transcription: Transcription) -> dict[str, Any]:
    """What the model makes of the words; nothing where there is no model, or nobody said a word."""
    parts = transcription.parts or []
    if not settings.ANALYSIS_MODEL or not parts:
        return NOTHING_MADE
    if not transcriptions.renew(transcription):
        raise _NotOurs
    criteria = list(EvaluationCriterion.objects.for_queue(transcription.connection.queue_id))
    analysis = analyse(parts, criteria)
    if analysis.speakers:
        said = zip(parts, analysis.speakers, strict=True)
        parts = [part | {"speaker": speaker} if part["speaker"] == UNKNOWN else part for part, speaker in said]
    return {
        "parts": parts,
        "summary": analysis.summary,
        "sentiment": analysis.sentiment,
        "evaluated_criteria": analysis.evaluated_criteria,
    }
