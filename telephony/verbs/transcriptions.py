"""Verbs of transcriptions: request, attempt, finish. Workers hold a lease on the transcription they attempt."""

import math
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection as database
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.enqueue import enqueue
from telephony import events
from telephony.models.connection import Connection
from telephony.models.recording import Recording
from telephony.models.transcription import (
    NOTHING_MADE,
    Transcription,
    TranscriptionQuerySet,
    TranscriptionUsage,
    is_configured,
)

# Delays between the attempts; the first attempt is made at once. After the last one the transcription has failed.
DELAYS = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30))
LONGEST_DELAY = timedelta(hours=1)
# The lease beyond the longest request. A worker renews its lease before each request.
LEASE_MARGIN = timedelta(minutes=2)

Status = Transcription.Status

# The update takes the seconds only while they fit; the insert begins the month with them.
_TAKE = """
INSERT INTO telephony_transcriptionusage AS u (month, seconds) SELECT %(month)s, %(seconds)s WHERE {first}
ON CONFLICT (month) DO UPDATE SET seconds = u.seconds + EXCLUDED.seconds WHERE {further}
"""
_TAKE_LIMITED = _TAKE.format(first="%(seconds)s <= %(limit)s", further="u.seconds + EXCLUDED.seconds <= %(limit)s")
_TAKE_ANY = _TAKE.format(first="true", further="true")


def request(connection_id: int) -> None:
    """Request the transcription of a call whose recordings are all stored. Repeating this is harmless."""
    with transaction.atomic():
        _lock_call(connection_id)
        Recording.objects.filter(connection=connection_id).update(is_considered=True)
        now = timezone.now()
        values = {"created_at": now, "next_attempt_at": now}
        Transcription.objects.get_or_create(connection_id=connection_id, defaults=values)
        enqueue("telephony.transcribe", connection_id)


def request_again(transcription: Transcription, actor: Actor) -> bool:
    """Discard a transcription and make it again. Return whether there is a recording and a provider for it."""
    with transaction.atomic():
        _lock_call(transcription.pk)
        if not is_configured() or not Recording.objects.ready().filter(connection=transcription.pk).exists():
            return False
        now = timezone.now()
        Transcription.objects.filter(pk=transcription.pk).update(
            status=Status.PENDING,
            parts=None,
            **NOTHING_MADE,
            created_at=now,
            next_attempt_at=now,
            finished_at=None,
            attempts=0,
            claim_number=F("claim_number") + 1,  # a worker that is at work on it loses its lease
            error="",
            charged_seconds=0,
            charged_month="",
            requested_by=actor.name[:150],
        )
        record(actor, AuditAction.TRANSCRIBE_AGAIN, transcription)
        enqueue("telephony.transcribe", transcription.pk)
    return True


def claim(transcription: Transcription) -> bool:
    """Acquire the lease for one attempt. Return whether the transcription was due and without a lease."""
    now = timezone.now()
    due = Transcription.objects.due(now).filter(pk=transcription.pk)
    counted = {"attempts": F("attempts") + 1, "claim_number": F("claim_number") + 1}
    if not due.update(next_attempt_at=now + _lease(), **counted):
        return False
    transcription.refresh_from_db()
    if transcription.attempts > len(DELAYS) + 1:  # the last attempt ended with its worker
        _end(transcription, Status.ERROR, error=transcription.error or "the attempts ended early")
        return False
    return True


def renew(transcription: Transcription) -> bool:
    """Extend the lease before a request. Return whether this worker still held it."""
    return bool(_leased(transcription).update(next_attempt_at=timezone.now() + _lease()))


def withdraw(transcription: Transcription) -> None:
    """Delete a transcription for which there is no provider any more. It is requested again once there is one."""
    with transaction.atomic():
        if _leased(transcription).delete()[0]:
            Recording.objects.filter(connection=transcription.pk).update(is_considered=False)


def charge(transcription: Transcription, seconds: float) -> bool:
    """Charge these seconds to the month, unless an earlier attempt did. Return false if they exceed the limit."""
    if transcription.charged_month:
        return True
    needed = math.ceil(seconds)
    month = f"{timezone.localtime():%Y-%m}"
    with transaction.atomic():
        if not take_seconds(month, needed):
            return False
        transcription.charged_month, transcription.charged_seconds = month, needed
        _leased(transcription).update(charged_month=month, charged_seconds=needed)
    return True


def take_seconds(month: str, seconds: int) -> bool:
    """Count these seconds in the month. Return false, and count none, if they exceed the limit."""
    limit = settings.TRANSCRIPTION_MONTHLY_MINUTES * 60
    with database.cursor() as cursor:
        values: dict[str, int | str] = {"month": month, "seconds": seconds, "limit": limit}
        cursor.execute(_TAKE_LIMITED if limit else _TAKE_ANY, values)
        return bool(cursor.rowcount)


def keep_parts(transcription: Transcription, parts: list[dict[str, Any]], seconds: float) -> None:
    """Store the words, so that a later attempt does not transcribe again."""
    transcription.parts, transcription.seconds = parts, seconds
    _leased(transcription).update(parts=parts, seconds=seconds)


def succeed(transcription: Transcription, **made: Any) -> None:
    """Mark the transcription as ready, with the model's analysis."""
    _end(transcription, Status.SUCCESS, **made)


def exceed_limit(transcription: Transcription) -> None:
    _end(transcription, Status.LIMIT_EXCEEDED)


def put_off(transcription: Transcription, error: str, *, is_final: bool = False, retry_after: float = 0) -> None:
    """Store why an attempt failed, and schedule the next attempt unless this was the last."""
    if is_final or transcription.attempts > len(DELAYS):
        _end(transcription, Status.ERROR, error=error[:300])
        return
    wait = max(DELAYS[transcription.attempts - 1], min(timedelta(seconds=retry_after), LONGEST_DELAY))
    _leased(transcription).update(error=error[:300], next_attempt_at=timezone.now() + wait)


def _end(transcription: Transcription, status: str, **values: Any) -> None:
    with transaction.atomic():
        call = _lock_call(transcription.pk)
        values = {"error": "", **values}
        if not _leased(transcription).update(status=status, finished_at=timezone.now(), next_attempt_at=None, **values):
            return
        if status == Status.ERROR and transcription.parts is None and transcription.charged_month:
            # The provider has returned no words.
            charged = TranscriptionUsage.objects.filter(month=transcription.charged_month)
            charged.update(seconds=F("seconds") - transcription.charged_seconds)
        events.transcription_ready(call.uid, status)


def _lock_call(connection_id: int) -> Connection:
    return Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=connection_id)


def _leased(transcription: Transcription) -> TranscriptionQuerySet:
    return Transcription.objects.filter(
        pk=transcription.pk, status=Status.PENDING, claim_number=transcription.claim_number
    )


def _lease() -> timedelta:
    """Return a lease longer than the longest request: an answer that trickles may take twice the time-out."""
    return 2 * timedelta(seconds=settings.TRANSCRIPTION_TIMEOUT_SECONDS) + LEASE_MARGIN
