"""The due times of a ticket's response and resolution, their ends, and changes of status, on which they depend.

docs/tickets.md has the rules in a table.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max, Min

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.errors import Conflict
from callcentre.core.statements import Statement, rows_of
from tickets.models.message import Message
from tickets.models.service_level import LEVELS, ReadyLevel
from tickets.models.status import TicketStatus, TicketSubstatus, full_name
from tickets.models.ticket import REPLY_SOURCES, Ticket
from tickets.models.vocabulary import FACTS
from tickets.verbs.ticket_row import lock_ticket, log_ticket

# Columns that the due times depend on, and those by which a service level is chosen: all that conditions ask for.
_DUE = frozenset({"awaiting_since", "targets_began_at", "waits", "first_agent_responded_at"})
_FACTS = _DUE | {"closed_at"}
_CHOOSING = frozenset(fact.changed or fact.column for fact in FACTS) | {"customer", "custom_fields"}


def set_columns(ticket: Ticket, columns: dict[str, Any]) -> dict[str, Any]:
    """Set the columns on the ticket. Return them with what follows: the level, the due times, whether they were met."""
    for name, value in columns.items():
        setattr(ticket, name, value)
    is_new = ticket.pk is None
    is_over = ticket.closed_at is not None and "closed_at" not in columns
    may_move = not is_over and bool(columns)
    may_move = may_move and (ticket.service_level_id is None or not _CHOOSING.isdisjoint(columns))
    if not (is_new or may_move or _FACTS.intersection(columns)):
        return columns
    levels = LEVELS.get()
    found: dict[str, Any] = {}
    held = _level(ticket, levels)
    if may_move and (level_id := level_of(ticket, levels)) != ticket.service_level_id:
        found["service_level_id"] = ticket.service_level_id = level_id
    if found or is_new or _DUE.intersection(columns):
        found |= due_times(ticket, levels)
    # A change that ends a target is judged by the level that the ticket had until then.
    level = held or _level(ticket, levels)
    if "first_agent_responded_at" in columns:
        minutes = level.first_response if level else None
        responded_at = ticket.first_agent_responded_at
        found["first_response_met"] = _is_met(ticket, level, ticket.created_at, minutes, responded_at)
    if "closed_at" in columns:
        minutes = level.resolution if level else None
        found["resolution_met"] = _is_met(ticket, level, _began_at(ticket), minutes, ticket.closed_at)
    for name, value in found.items():
        setattr(ticket, name, value)
    return columns | found


def level_of(ticket: Ticket, levels: Iterable[ReadyLevel]) -> int | None:
    """Return the first service level whose conditions hold for the ticket."""
    return next((level.pk for level in levels if level.matches(ticket)), None)


def _is_met(
    ticket: Ticket, level: ReadyLevel | None, start: datetime, minutes: int | None, end: datetime | None
) -> bool | None:
    """Return whether the end is within the target; None before, and without a target."""
    if level is None or minutes is None or end is None:
        return None
    waits = [*ticket.waits, max(end, ticket.waits[-1])] if _is_paused(ticket) else ticket.waits
    return level.working_time.add(start, minutes, _pauses(waits)) >= end


def due_times(ticket: Ticket, levels: Iterable[ReadyLevel]) -> dict[str, datetime | None]:
    """Return when the response and the resolution are due. Nothing is due while the ticket waits for the customer."""
    level = _level(ticket, levels)
    if level is None or _is_paused(ticket):
        return {"response_due_at": None, "resolution_due_at": None}
    # Without a reply the first response has a due time in the report, also if the customer was answered otherwise.
    is_first = ticket.first_agent_responded_at is None
    response_from = ticket.awaiting_since or (_began_at(ticket) if is_first else None)
    response = level.first_response if is_first else level.next_response
    pauses = _pauses(ticket.waits)
    return {
        name: level.working_time.add(start, minutes, pauses) if start and minutes is not None else None
        for name, start, minutes in (
            ("response_due_at", response_from, response),
            ("resolution_due_at", _began_at(ticket), level.resolution),
        )
    }


def _level(ticket: Ticket, levels: Iterable[ReadyLevel]) -> ReadyLevel | None:
    return next((level for level in levels if level.pk == ticket.service_level_id), None)


def _pauses(waits: Sequence[datetime]) -> list[tuple[datetime, datetime]]:
    return list(zip(waits[::2], waits[1::2], strict=False))


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
    answers = _answers(target)
    owed = (since for since in waited if since and not answers.filter(created_at__gte=since).exists())
    return min(owed, default=None)


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


def _answers(ticket: Ticket) -> Any:
    return _replies(ticket) | ticket.messages.filter(is_answer=True)


def _replies(ticket: Ticket) -> Any:
    return ticket.messages.filter(type=Message.Type.REPLY, agent__isnull=False, is_automatic=False)


def _is_paused(ticket: Ticket) -> bool:
    """Return whether the last pause has begun and not ended: the number of instants is odd."""
    return len(ticket.waits) % 2 == 1


def _began_at(ticket: Ticket) -> datetime:
    return ticket.targets_began_at or ticket.created_at


# The newest contact since the customer waits: a call of an agent to the customer that was answered, not one of a
# dialler, or a message of an agent in a chat. Starts of calls are whole seconds.
_IS_ANSWER = """c.created_at >= date_trunc('second', t.awaiting_since) AND c.answered_at >= t.awaiting_since
    AND c.direction = 'OUTBOUND' AND c.agent_id IS NOT NULL AND c.campaign_code = ''"""
_CONTACTS = Statement("""
SELECT t.id, contact.way, contact.at FROM tickets_ticket t LEFT JOIN tickets_customer owner ON owner.id = t.customer_id
CROSS JOIN LATERAL (
  SELECT 'call' AS way, c.answered_at AS at FROM telephony_connection c
  WHERE c.customer_id = t.customer_id AND {is_answer}
  UNION ALL
  SELECT 'call', c.answered_at FROM telephony_connection c
  WHERE t.sender <> '' AND c.dst_number = t.sender AND {is_answer}
  UNION ALL
  SELECT 'chat', m.created_at FROM tickets_chat h JOIN tickets_chatmessage m ON m.chat_id = h.id
  WHERE h.client_email <> '' AND upper(h.client_email) IN (upper(t.sender), upper(owner.email))
    AND (h.closed_at IS NULL OR h.closed_at >= t.awaiting_since)
    AND m.agent_id IS NOT NULL AND m.created_at >= t.awaiting_since
  ORDER BY at DESC LIMIT 1
) contact
WHERE t.closed_at IS NULL AND t.response_due_at IS NOT NULL AND t.awaiting_since IS NOT NULL
  AND t.source <> ALL(%(others)s)
""").of(is_answer=_IS_ANSWER)


def end_answered_targets() -> None:
    """End the response targets of tickets whose customers were answered in a call or chat. Mail waits for a reply."""
    for ticket_id, way, at in rows_of(_CONTACTS, {"others": list(REPLY_SOURCES)}):
        end_target(Ticket(pk=ticket_id), SYSTEM, way, at)


def end_target(ticket: Ticket, actor: Actor, way: str, at: datetime) -> None:
    """End the response target of a ticket whose customer was answered at this time.

    A message of the customer after that time starts it again.
    """
    with transaction.atomic():
        try:
            ticket = lock_ticket(ticket)
        except Conflict:  # it was deleted meanwhile
            return
        if ticket.awaiting_since is None or ticket.awaiting_since > at:
            return
        columns = set_columns(ticket, {"awaiting_since": unanswered_since(ticket, at)})
        ticket.save(update_fields=list(columns))
        log_ticket(ticket, actor, "answer", {"answered": [None, way]})


Kind = TicketStatus.Kind


def status_of_kind(kind: str) -> TicketStatus:
    """Return the status that a ticket gets when the service moves it to this kind: the one with the lowest order."""
    return TicketStatus.objects.filter(kind=kind).order_by("order", "id")[0]


def change_status(
    ticket: Ticket, status: TicketStatus, substatus: TicketSubstatus | None, now: datetime
) -> tuple[dict[str, Any], str]:
    """Return the columns to set and the system comment; both are empty if the ticket has this status already.

    The assignee counts as the agent who closed the ticket, so set `ticket.agent` before.
    """
    if (ticket.status_id, ticket.substatus_id) == (status.pk, substatus.pk if substatus else None):
        return {}, ""
    columns: dict[str, Any] = {"status": status, "substatus": substatus, **after_status(ticket, status, now)}
    if status.kind == Kind.CLOSED and ticket.closed_at is None:
        columns |= {"closed_at": now, "closed_by": ticket.agent}
    elif not status.meaning.is_over and ticket.closed_at is not None:
        columns |= {"closed_at": None, "closed_by": None}
    if ticket.postponed_until:
        columns["postponed_until"] = None
    return columns, status_comment(ticket.full_status_name, full_name(status, substatus))


def status_comment(before: str, after: str) -> str:
    """Return the system comment about a change of status. It is always English, because programs search for it."""
    return f"Changed status from [{before}] to [{after}]"
