"""The due times of a ticket's response and resolution. docs/tickets.md has the rules in a table."""

from datetime import datetime
from typing import Any

from django.db.models import Max, Min

from callcentre.core.times import zone
from tickets.models.message import Message
from tickets.models.status import TicketStatus
from tickets.models.ticket import Ticket
from tickets.models.working_time import add_working_time

# Columns that the due times depend on.
_FACTS = ("queue", "awaiting_since", "targets_began_at", "waits")


def set_columns(ticket: Ticket, columns: dict[str, Any]) -> dict[str, Any]:
    """Set the columns on the ticket, and return them together with the due times that follow from them."""
    for name, value in columns.items():
        setattr(ticket, name, value)
    if not any(name in columns for name in _FACTS):
        return columns
    found = due_times(ticket)
    for name, value in found.items():
        setattr(ticket, name, value)
    return columns | found


def due_times(ticket: Ticket) -> dict[str, datetime | None]:
    """Return when the response and the resolution are due. Nothing is due while the ticket waits for the customer."""
    queue = ticket.queue
    targets = (
        # Without a reply the first response has a due time in the report, also if the customer was answered otherwise.
        (
            "response_due_at",
            ticket.awaiting_since or (None if ticket.first_agent_responded_at else _began_at(ticket)),
            queue.first_response_minutes,
        ),
        ("resolution_due_at", _began_at(ticket), queue.resolution_minutes),
    )
    running = [(name, start, minutes) for name, start, minutes in targets if start and minutes is not None]
    found: dict[str, datetime | None] = {name: None for name, _start, _minutes in targets}
    if running and not _is_paused(ticket):
        hours = list(queue.opening_hours.values_list("weekday", "opens_at", "closes_at"))
        pauses = list(zip(ticket.waits[::2], ticket.waits[1::2], strict=True))
        for name, start, minutes in running:
            found[name] = add_working_time(start, minutes, hours, zone(), pauses)
    return found


def after_status(ticket: Ticket, status: TicketStatus, now: datetime) -> dict[str, Any]:
    """Return the columns that another status sets: reopening begins new targets, waiting for the customer a pause."""
    is_waiting = status.meaning.stops_clock
    if ticket.closed_at is not None and not status.meaning.is_over:
        is_answered = ticket.first_agent_responded_at or ticket.awaiting_since is None
        awaiting_since = None if is_answered else now
        return {"targets_began_at": now, "waits": [now] if is_waiting else [], "awaiting_since": awaiting_since}
    return {"waits": [*ticket.waits, now]} if is_waiting != _is_paused(ticket) else {}


def after_reply(ticket: Ticket, at: datetime) -> dict[str, Any]:
    """Return the columns that an agent's reply sets. A reply from before the customer's message does not answer it."""
    if ticket.awaiting_since is None:
        return {"awaiting_since": None} if ticket.response_due_at else {}
    # A date from the API has minutes only.
    return {"awaiting_since": None} if at >= ticket.awaiting_since.replace(second=0, microsecond=0) else {}


def awaited_after_merge(source: Ticket, target: Ticket) -> datetime | None:
    """Return the time since which the customer of two merged tickets waits for a response; None if none is owed."""
    waited = [ticket.awaiting_since for ticket in (source, target) if ticket.closed_at is None]
    return min((since for since in waited if since and not _is_answered(target, since)), default=None)


def unanswered_since(ticket: Ticket, contact_at: datetime | None = None) -> datetime | None:
    """Return the time of the first message in the ticket that no agent has answered, there or in a contact later."""
    last = _answers(ticket).aggregate(at=Max("created_at"))["at"]
    last = max(filter(None, (last, contact_at)), default=None)
    mails = ticket.messages.filter(type=Message.Type.MAIL, is_automatic=False, created_at__gte=_began_at(ticket))
    if last is not None:
        mails = mails.filter(created_at__gt=last)
    first: datetime | None = mails.aggregate(at=Min("created_at"))["at"]
    return first


def first_response(ticket: Ticket) -> datetime | None:
    """Return the time of the first reply of an agent among the ticket's messages.

    A merge can bring replies that are older than the ticket. They answered another question and do not count.
    """
    first: datetime | None = (
        _replies(ticket).filter(created_at__gte=ticket.created_at).aggregate(at=Min("created_at"))["at"]
    )
    return first


def _is_answered(ticket: Ticket, since: datetime) -> bool:
    return bool(_answers(ticket).filter(created_at__gte=since).exists())


def _answers(ticket: Ticket) -> Any:
    return _replies(ticket) | ticket.messages.filter(is_answer=True)


def _replies(ticket: Ticket) -> Any:
    return ticket.messages.filter(type=Message.Type.REPLY, agent__isnull=False, is_automatic=False)


def _is_paused(ticket: Ticket) -> bool:
    """Return whether the last pause has begun and not ended: the number of instants is odd."""
    return len(ticket.waits) % 2 == 1


def _began_at(ticket: Ticket) -> datetime:
    return ticket.targets_began_at or ticket.created_at
