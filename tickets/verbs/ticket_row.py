"""The steps that every verb of a ticket takes: lock the row, save it, write its history, record its event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection

from callcentre.core.actor import Actor
from callcentre.core.advisory_locks import lock_until_commit
from callcentre.core.changes import change_columns
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.joined_rows import JoinedRows
from callcentre.core.statements import Statement
from telephony.models import Agent
from tickets.models.customer import Customer
from tickets.models.message import Message
from tickets.models.status import TicketStatus, TicketSubstatus
from tickets.models.ticket import Ticket, TicketChange
from tickets.models.ticket_queue import TicketQueue

_MERGES = 7_311
_JOINED = JoinedRows(t=Ticket, s=TicketStatus, ss=TicketSubstatus, q=TicketQueue, a=Agent, c=Customer)
_LOCK = "SELECT id FROM tickets_ticket WHERE id = %s FOR NO KEY UPDATE"
_READ = Statement("""
SELECT {columns} FROM tickets_ticket t
JOIN tickets_ticketstatus s ON s.id = t.status_id LEFT JOIN tickets_ticketsubstatus ss ON ss.id = t.substatus_id
JOIN tickets_ticketqueue q ON q.id = t.queue_id LEFT JOIN telephony_agent a ON a.id = t.agent_id
LEFT JOIN tickets_customer c ON c.id = t.customer_id
WHERE t.id = %s
""").of(columns=_JOINED.columns)


def lock_ticket(ticket: Ticket) -> Ticket:
    """Return the ticket as it is now, locked until the transaction ends. Raise Conflict if it was deleted.

    The row is locked before the joined rows are read. A statement that does both finds no row at all if another
    transaction has just changed the status that is joined.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [ticket.pk])
        if cursor.fetchone() is None:
            raise Conflict(ErrorCode.CONFLICT)
        cursor.execute(_READ, [ticket.pk])
        locked: Ticket
        (locked, *joined) = _JOINED.instances(cursor.fetchone())
    locked.status, locked.substatus, locked.queue, locked.agent, locked.customer = joined
    return locked


def lock_merges() -> None:
    """Let no other transaction merge tickets until this one ends, so that `merged_into` stays as it is."""
    lock_until_commit(_MERGES)


def save_ticket(ticket: Ticket, columns: Mapping[str, Any], now: datetime) -> None:
    for name, value in columns.items():
        setattr(ticket, name, value)
    ticket.updated_at = now
    ticket.save(update_fields=[*columns, "updated_at"])


def log_ticket(ticket: Ticket, actor: Actor, action: str, changes: Mapping[str, Any]) -> None:
    TicketChange.objects.create(ticket_id=ticket.pk, action=action, changes=changes, **change_columns(actor))


def add_system_comment(ticket: Ticket, text: str, now: datetime) -> None:
    Message.objects.create(ticket=ticket, type=Message.Type.COMMENT, system_comment=text, created_at=now)
