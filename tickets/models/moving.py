"""What a change of status does to a ticket, whoever causes it."""

from datetime import datetime
from typing import Any

from telephony.verbs import ledger_changes
from tickets.models.noting import note_end
from tickets.models.owing import after_status
from tickets.models.status import TicketStatus, TicketSubstatus
from tickets.models.ticket import Ticket

Kind = TicketStatus.Kind


def status_of_kind(kind: str) -> TicketStatus:
    """What a ticket gets that moves to this kind by itself: the one with the lowest order."""
    return TicketStatus.objects.filter(kind=kind).order_by("order", "id")[0]


def full_name(status: TicketStatus, substatus: TicketSubstatus | None) -> str:
    return f"{status.name} - {substatus.name}" if substatus else status.name


def move(
    ticket: Ticket, status: TicketStatus, substatus: TicketSubstatus | None, now: datetime
) -> tuple[dict[str, Any], str]:
    """Columns that the change sets, and the note that it leaves; neither where the ticket has that status already.

    A ticket is closed by its assignee: call it once that one is set.
    """
    before = full_name(ticket.status, ticket.substatus)
    after = full_name(status, substatus)
    if (ticket.status_id, ticket.substatus_id) == (status.pk, substatus.pk if substatus else None):
        return {}, ""
    columns: dict[str, Any] = {"status": status, "substatus": substatus, **after_status(ticket, status, now)}
    if status.kind == Kind.CLOSED and ticket.closed_at is None:
        columns |= {"closed_at": now, "closed_by": ticket.agent}
        if ticket.agent_id:
            ledger_changes.record(ticket.agent_id, now, now)
    elif not status.is_over and ticket.closed_at is not None:
        note_end(ticket)
        columns |= {"closed_at": None, "closed_by": None}
    return columns, changed(before, after)


def changed(before: str, after: str) -> str:
    """In English whoever reads it: the sentence is kept, and programs look for it."""
    return f"Changed status from [{before}] to [{after}]"
