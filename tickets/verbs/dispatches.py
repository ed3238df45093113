"""The verbs of a dispatch: send it again, record a bounce."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import still_there, store
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode
from tickets.models.dispatch import Dispatch, refusals_in_words
from tickets.models.mail_senders import BouncedAddress
from tickets.models.ticket import Ticket
from tickets.verbs.ticket_row import log_ticket

State = Dispatch.State


def resend(dispatch: Dispatch, actor: Actor) -> None:
    """Send a failed, bounced or waiting message again, now, to the recipients for whom no server accepted it.

    Raise Conflict if the message was sent to all, or may be being sent.
    """
    with transaction.atomic():
        locked, now = _lock(dispatch), timezone.now()
        before, may_be_resent = locked.condition, locked.may_be_resent
        locked.refused = {}
        if not may_be_resent or (locked.is_mail and not locked.addressees):
            raise Conflict(ErrorCode.NOT_RESENT)
        values = {
            "state": State.QUEUED,
            "refused": {},
            "queued_at": now,
            "attempt_count": 0,
            "next_attempt_at": now,
            "begun_at": None,
            "sent_at": locked.sent_at if locked.accepted else None,
            "is_unknown": False,
            "error": "",
            "bounced_at": None,
        }
        _save(locked, actor, "resend", before, values)
        enqueue("tickets.dispatch", dispatch.pk)
    dispatch.refresh_from_db()


def record_bounce(dispatch: Dispatch, actor: Actor, reason: str = "", addresses: Iterable[str] = ()) -> None:
    """Record that a mail server could not deliver the message, to `addresses` if the server names some. The addresses
    are marked, so that the next reply warns.

    A bounce that is reported twice is recorded once.
    """
    with transaction.atomic():
        locked = _lock(dispatch)
        named = {each.lower() for each in addresses}
        bounced = [each for each in dict.fromkeys([*locked.recipients, *locked.copies]) if each.lower() in named]
        if locked.bounced_at is None or not locked.refused.keys() >= set(bounced):
            _save(locked, actor, "bounce", locked.condition, _after_bounce(locked, bounced, reason[:500]))
            all_of_them = [*locked.recipients, *locked.copies]
            for address in bounced or (all_of_them if len(all_of_them) == 1 else ()):
                BouncedAddress.mark(address, reason, timezone.now())
    dispatch.refresh_from_db()


def _after_bounce(dispatch: Dispatch, bounced: Sequence[str], reason: str) -> dict[str, Any]:
    now = timezone.now()
    waits = dispatch.state == State.QUEUED and bool(dispatch.accepted)
    accepted = dispatch.accepted if waits else [*dispatch.accepted, *dispatch.addressees]
    refused = {**dispatch.refused, **dict.fromkeys(bounced, reason)}
    is_one = len(dispatch.recipients) + len(dispatch.copies) == 1
    values: dict[str, Any] = {
        # Without names the bounce may be about any recipient.
        "accepted": [each for each in accepted if each not in bounced] if bounced else [],
        "refused": refused,
        "bounced_at": now,
        "error": reason if is_one or not bounced else refusals_in_words(refused),
    }
    if not waits:
        # A message that bounced was sent, even if its outcome was unknown or it counted as failed.
        over = {"state": State.SENT, "next_attempt_at": None, "is_unknown": False}
        values |= {"sent_at": dispatch.sent_at or now, **over}
    return values


def _lock(dispatch: Dispatch) -> Dispatch:
    rows = Dispatch.objects.select_for_update(no_key=True, of=("self",))
    locked: Dispatch = still_there(rows.filter(pk=dispatch.pk))
    return locked


def _save(dispatch: Dispatch, actor: Actor, action: str, before: str, values: Mapping[str, Any]) -> None:
    """Save the values and write the change of state to the ticket's history."""
    store(dispatch, **values)
    changes = {"message": [None, dispatch.message_id], "state": [before, dispatch.condition]}
    log_ticket(Ticket(pk=dispatch.message.ticket_id), actor, action, changes)
