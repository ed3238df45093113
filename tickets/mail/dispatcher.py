"""The dispatcher of messages that are due: claim a dispatch, send it, save the result.

A message is sent at most once, as far as we can know: `begun_at` is committed before the server gets the message. If
the worker dies or the connection breaks before the server's answer, the outcome is unknown, and only a person sends the
message again. Attempts go to the recipients that have neither accepted it nor refused it for good.
"""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from callcentre.core.due_work import Claim
from tickets.mail import marketplaces, smtp
from tickets.mail.queue_server import waits_until
from tickets.mail.send_results import Answer, Lost, Refused, Sent
from tickets.models import Dispatch, Source
from tickets.models.dispatch import UNKNOWN, refusals_in_words

State = Dispatch.State

# The threads of one process that may send mails, and replies to marketplaces. The limit keeps threads free to place
# calls and deliver webhooks while a server hangs.
_PLACES = {True: threading.BoundedSemaphore(4), False: threading.BoundedSemaphore(2)}
# After this time a task ends, so that its thread is free for others; the sweep enqueues the next task.
TURN_SECONDS = 30.0
# Rows that a message is composed with.
RELATED = (
    "message__agent__preferences",
    "message__ticket__queue",
    "message__ticket__customer",
    "message__ticket__agent",
)


def dispatch(pk: int) -> None:
    """Send this dispatch if it is due and not claimed, then the next ones that are due.

    If all threads for its kind are busy, return: each of them looks for the next dispatch before it ends.
    """
    source = Dispatch.objects.filter(pk=pk).values_list("source", flat=True).first()
    is_mail = source == Source.EMAIL
    if source is None or not _PLACES[is_mail].acquire(blocking=False):
        return
    try:
        _dispatch(pk)
        ends_at = time.monotonic() + TURN_SECONDS
        while time.monotonic() < ends_at and (following := _next_due(is_mail=is_mail)):
            _dispatch(following)
    finally:
        _PLACES[is_mail].release()


def _next_due(*, is_mail: bool) -> int | None:
    mails = Q(source=Source.EMAIL)
    due = Dispatch.objects.due().filter(mails if is_mail else ~mails)
    return due.order_by("next_attempt_at").values_list("pk", flat=True).first()


def _dispatch(pk: int) -> None:
    claim = Dispatch.objects.select_related(*RELATED).claim(pk)
    if claim is None:
        return
    with claim:
        due = claim.row
        if due.begun_at is not None:
            claim.finish(**due.given_up(""), attempt_count=due.attempt_count - 1)
            return
        if due.is_mail and (until := waits_until(due.message.ticket.queue)) is not None:
            claim.write(next_attempt_at=until, attempt_count=due.attempt_count - 1)
            return
        send = smtp.send if due.is_mail else marketplaces.send
        result: Sent | Refused | Lost
        try:
            result = send(due, _beginning(claim))
        except (Lost, Refused) as reason:
            result = reason
        _save_result(claim, result)


def _beginning(claim: Claim[Dispatch]) -> Callable[[], None]:
    def begin() -> None:
        """Commit that the server is about to get the message. Raise NotOurs."""
        now = timezone.now()
        claim.write(begun_at=now)
        claim.row.begun_at = now

    return begin


def _save_result(claim: Claim[Dispatch], result: Sent | Refused | Lost) -> None:
    """Save the result. Raise NotOurs if another worker has claimed the dispatch.

    A dispatch that was begun is still ours: others can only have marked its outcome as unknown, and now it is known.
    """
    due = claim.row
    ours = Dispatch.objects.filter(pk=due.pk, begun_at=due.begun_at, state__in=[State.QUEUED, State.FAILED])
    with transaction.atomic():
        if due.begun_at is None:
            claim.lock()
        # A bounce may have changed the row meanwhile.
        row = ours.select_for_update(no_key=True).first()
        if row is None:
            return
        values = {"next_attempt_at": None, "is_unknown": False, **_columns_after(row, result)}
        values["error"] = values["error"].replace("\0", "")[:500]
        Dispatch.objects.filter(pk=row.pk).update(**values)


def _columns_after(row: Dispatch, result: Sent | Refused | Lost) -> dict[str, Any]:
    """Return the columns after an attempt: who has the message, and when the next attempt is.

    There is none if the result is final or the attempts are used up; a person decides then.
    """
    if isinstance(result, Lost):
        return {"state": State.FAILED, "is_unknown": True, "error": f"{UNKNOWN}: {result}"}
    now, is_sent, answers = timezone.now(), isinstance(result, Sent), result.answers
    accepted = row.accepted + [each for each in row.addressees if is_sent and each not in answers]
    if accepted and not is_sent and not answers:
        answers = dict.fromkeys(row.addressees, Answer(str(result), result.is_final))
    is_over = result.is_final or row.attempt_count > len(row.delays)
    refused = row.refused | {each: answer.reason for each, answer in answers.items() if answer.is_final or is_over}
    reasons = refused | {each: answer.reason for each, answer in answers.items()}
    values: dict[str, Any] = {
        "accepted": accepted,
        "refused": refused,
        "error": refusals_in_words(reasons) or ("" if is_sent else str(result)),
    }
    if is_sent:
        values["sent_at"] = row.sent_at or now
    if not is_over:
        asked_for = 0.0 if isinstance(result, Sent) else result.retry_after
        delay = max(row.delays[row.attempt_count - 1], timedelta(seconds=asked_for))
        return values | {"state": State.QUEUED, "begun_at": None, "next_attempt_at": now + delay}
    if isinstance(result, Sent):
        return values | {"state": result.state}
    return values | {"state": State.SENT if accepted else State.FAILED, "begun_at": None}
