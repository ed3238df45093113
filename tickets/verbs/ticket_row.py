"""The steps that every verb of a ticket takes: lock the row, save it, write its history, record its event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection

from callcentre.core.actor import Actor
from callcentre.models import actor_columns, still_there
from tickets.models.message import Message
from tickets.models.ticket import Ticket, TicketChange

_MERGES = 7_311


def lock_ticket(ticket: Ticket) -> Ticket:
    """Return the ticket as it is now, locked until the transaction ends. Raise Conflict if it was deleted.

    The row is locked before the joined rows are read. A statement that does both finds no row at all if another
    transaction has just changed the status that is joined.
    """
    still_there(Ticket.objects.select_for_update(no_key=True).only("pk").filter(pk=ticket.pk))
    return Ticket.objects.select_related("status", "substatus", "queue", "agent", "customer").get(pk=ticket.pk)


def lock_merges() -> None:
    """Let no other transaction merge tickets until this one ends, so that `merged_into` stays as it is."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_MERGES])


def save_ticket(ticket: Ticket, columns: Mapping[str, Any], now: datetime) -> None:
    for name, value in columns.items():
        setattr(ticket, name, value)
    ticket.updated_at = now
    ticket.save(update_fields=[*columns, "updated_at"])


def log_ticket(ticket: Ticket, actor: Actor, action: str, changes: Mapping[str, Any]) -> None:
    TicketChange.objects.create(ticket_id=ticket.pk, action=action, changes=changes, **actor_columns(actor))


def add_system_comment(ticket: Ticket, text: str, now: datetime) -> None:
    Message.objects.create(ticket=ticket, type=Message.Type.COMMENT, system_comment=text, created_at=now)
