"""One attempt at a transcription: the provider transcribes the recordings, the model analyses the words."""

import threading
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage

from callcentre.core.due_work import Claim
from telephony.models import Connection, EvaluationCriterion, Recording, Transcription
from telephony.models.transcription import NOTHING_MADE, is_configured
from telephony.talk_ratio import CUSTOMER, UNKNOWN, USER
from telephony.transcription.analysis import analyse
from telephony.transcription.pieces import Piece, pieces
from telephony.transcription.provider import ProviderError, Segment, transcribe
from telephony.verbs import transcriptions

# The most threads of a worker, which also place calls, that wait for a provider at one time.
_slots = threading.BoundedSemaphore(4)
# Labels of providers that recognise the speakers.
AGENT_LABELS = {"agent", "user", "operator", "advisor"}
CUSTOMER_LABELS = {"customer", "client", "caller"}


def run(connection_id: int) -> None:
    """Make one attempt at a transcription that is due. Without a free slot, the sweep retries it."""
    if not _slots.acquire(blocking=False):
        return
    try:
        claim = Transcription.objects.select_related("connection").claim(connection_id, transcriptions.put_off)
        if claim:
            with claim:
                _attempt(claim)
    finally:
        _slots.release()
    Transcription.objects.enqueue_due(1)


def _attempt(claim: Claim[Transcription]) -> None:
    transcription = claim.row
    if not is_configured():
        transcriptions.withdraw(claim)
        return
    recordings = list(Recording.objects.ready().filter(connection=transcription.pk).order_by("id"))
    try:
        if transcription.parts is None:
            if not recordings:
                raise ProviderError("the recording is gone", is_final=True)
            if not transcriptions.charge(claim, sum(recording.seconds for recording in recordings)):
                transcriptions.exceed_limit(claim)
                return
            _transcribe(claim, recordings)
        transcriptions.succeed(claim, **_analysis_of(claim))
    except ProviderError as error:
        transcriptions.put_off(claim, str(error), is_final=error.is_final, retry_after=error.retry_after)
    except (OSError, EOFError) as error:
        transcriptions.put_off(claim, f"the recording cannot be read: {error}")


def _transcribe(claim: Claim[Transcription], recordings: list[Recording]) -> None:
    """Transcribe the recordings one after another, and store the words."""
    parts: list[dict[str, Any]] = []
    offset = 0.0
    for recording in recordings:
        with default_storage.open(recording.path) as file:
            for piece in pieces(file):
                claim.check()
                parts += _parts(piece, transcribe(piece), offset, claim.row.connection)
        offset += recording.seconds
    parts.sort(key=lambda part: (part["begin"], part["end"]))
    transcriptions.keep_parts(claim, parts, offset)


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
    """Return the speakers by the provider's labels.

    A channel of its own identifies a speaker, and so does a label with a meaning. Otherwise the party that picked up
    speaks first. This holds for a recording of one piece only: in the next piece a label may be another speaker.
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


def _analysis_of(claim: Claim[Transcription]) -> dict[str, Any]:
    """Return the model's analysis of the words; empty without a model or words."""
    parts = claim.row.parts or []
    if not settings.ANALYSIS_MODEL or not parts:
        return NOTHING_MADE
    claim.check()
    criteria = list(EvaluationCriterion.objects.for_queue(claim.row.connection.queue_id))
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
