"""Verbs of transcriptions: request, attempt, finish."""

import math
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.due_work import Claim
from callcentre.core.enqueue import enqueue
from callcentre.core.statements import rows_of
from telephony import events
from telephony.models.connection import Connection
from telephony.models.recording import Recording
from telephony.models.transcription import NOTHING_MADE, Transcription, TranscriptionUsage, is_configured

LONGEST_DELAY = timedelta(hours=1)

Status = Transcription.Status

# The update takes the seconds only while they fit; the insert begins the month with them.
_TAKE = """
INSERT INTO telephony_transcriptionusage AS u (month, seconds) SELECT %(month)s, %(seconds)s WHERE {first}
ON CONFLICT (month) DO UPDATE SET seconds = u.seconds + EXCLUDED.seconds WHERE {further} RETURNING seconds
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
            next_attempt_at=now,  # a worker that is at work on it loses its claim
            finished_at=None,
            attempt_count=0,
            error="",
            charged_seconds=0,
            charged_month="",
            requested_by=actor.name[:150],
        )
        record(actor, AuditAction.TRANSCRIBE_AGAIN, transcription)
        enqueue("telephony.transcribe", transcription.pk)
    return True


def withdraw(claim: Claim[Transcription]) -> None:
    """Delete a transcription for which there is no provider any more. It is requested again once there is one."""
    with transaction.atomic():
        claim.lock()
        Recording.objects.filter(connection=claim.row.pk).update(is_considered=False)
        claim.row.delete()


def charge(claim: Claim[Transcription], seconds: float) -> bool:
    """Charge these seconds to the month, unless an earlier attempt did. Return false if they exceed the limit."""
    transcription = claim.row
    if transcription.charged_month:
        return True
    needed = math.ceil(seconds)
    month = f"{timezone.localtime():%Y-%m}"
    with transaction.atomic():
        if not take_seconds(month, needed):
            return False
        transcription.charged_month, transcription.charged_seconds = month, needed
        claim.write(charged_month=month, charged_seconds=needed)
    return True


def take_seconds(month: str, seconds: int) -> bool:
    """Count these seconds in the month. Return false, and count none, if they exceed the limit."""
    limit = settings.TRANSCRIPTION_MONTHLY_MINUTES * 60
    taken = _TAKE_LIMITED if limit else _TAKE_ANY
    return bool(rows_of(taken, {"month": month, "seconds": seconds, "limit": limit}))


def keep_parts(claim: Claim[Transcription], parts: list[dict[str, Any]], seconds: float) -> None:
    """Store the words, so that a later attempt does not transcribe again."""
    claim.row.parts, claim.row.seconds = parts, seconds
    claim.write(parts=parts, seconds=seconds)


def put_off(claim: Claim[Transcription], error: str = "", *, is_final: bool = False, retry_after: float = 0) -> None:
    """Store why an attempt failed, and schedule the next attempt unless this was the last."""
    with transaction.atomic():
        transcription, call = claim.row, _lock_call(claim.row.pk)
        claim.fail(error, is_final=is_final, retry_after=min(timedelta(seconds=retry_after), LONGEST_DELAY))
        if not (is_final or claim.is_last):
            return
        if transcription.parts is None and transcription.charged_month:
            # The provider has returned no words.
            charged = TranscriptionUsage.objects.filter(month=transcription.charged_month)
            charged.update(seconds=F("seconds") - transcription.charged_seconds)
        events.transcription_ready(call.uid, status=Status.ERROR)


def end(claim: Claim[Transcription], status: str, **values: Any) -> None:
    """Store that there is nothing more to do: the words are ready, or over the limit."""
    with transaction.atomic():
        call = _lock_call(claim.row.pk)
        claim.finish(status=status, finished_at=timezone.now(), error="", **values)
        events.transcription_ready(call.uid, status=status)


def _lock_call(connection_id: int) -> Connection:
    return Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=connection_id)
