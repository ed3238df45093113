"""The effects that a change of status has on a ticket."""

from datetime import datetime
from typing import Any

from tickets.models.status import TicketStatus, TicketSubstatus, full_name
from tickets.models.ticket import Ticket
from tickets.verbs.due_times import after_status

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
    return columns, status_comment(ticket.full_status_name, full_name(status, substatus))


def status_comment(before: str, after: str) -> str:
    """Return the system comment about a change of status. It is always English, because programs search for it."""
    return f"Changed status from [{before}] to [{after}]"
