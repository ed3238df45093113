"""The steps that every verb of a ticket takes: lock the row, save it, write its history, record its event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Model

from callcentre.core.actor import Actor
from callcentre.core.advisory_locks import lock_until_commit
from callcentre.core.changes import change_columns
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.statements import Statement
from tickets.models.message import Message
from tickets.models.ticket import Ticket, TicketChange


class RowInsert:
    """The INSERT of one row of a model, which returns its id. Other parts of the statement see it by the name."""

    def __init__(self, name: str, model: type[Model], **expressions: str) -> None:
        """Compose the WITH query. `expressions` are SQL for columns that the instance does not give."""
        self._fields = [
            (f"{name}_{field.attname}", field)
            for field in model._meta.concrete_fields
            if not field.primary_key and field.column not in expressions
        ]
        columns = ", ".join([*expressions, *(f'"{field.column}"' for _parameter, field in self._fields)])
        values = ", ".join([*expressions.values(), *(f"%({parameter})s" for parameter, _field in self._fields)])
        table = model._meta.db_table
        insert = Statement("INSERT INTO {table} ({columns}) VALUES ({values}) RETURNING id").of(
            table=table, columns=columns, values=values
        )
        self.query = f"{name} AS ({insert})"

    def parameters(self, instance: Model) -> dict[str, Any]:
        """Return the values of the instance as the ORM would store them."""
        return {
            parameter: field.get_db_prep_save(field.pre_save(instance, add=True), connection)
            for parameter, field in self._fields
        }


def mark_stored(instance: Model, pk: int) -> None:
    """Give the instance the id of its new row. From then on the ORM changes that row and adds no other."""
    instance.pk = pk
    instance._state.adding, instance._state.db = False, connection.alias


_MERGES = 7_311
_JOINED = ("status", "substatus", "queue", "category", "type", "team", "agent", "customer")


def lock_ticket(ticket: Ticket) -> Ticket:
    """Return the ticket as it is now, locked until the transaction ends. Raise Conflict if it was deleted.

    The row is locked before the joined rows are read. A statement that does both finds no row at all if another
    transaction has just changed the status that is joined.
    """
    rows = Ticket.objects.filter(pk=ticket.pk)
    if rows.select_for_update(no_key=True).values_list("pk").first() is None:
        raise Conflict(ErrorCode.CONFLICT)
    return rows.select_related(*_JOINED).get()


def lock_merges() -> None:
    """Let no other transaction merge tickets until this one ends, so that `merged_into` stays as it is."""
    lock_until_commit(_MERGES)


def save_ticket(ticket: Ticket, columns: Mapping[str, Any], now: datetime) -> None:
    for name, value in columns.items():
        setattr(ticket, name, value)
    ticket.updated_at = now
    ticket.save(update_fields=[*columns, "updated_at"])


def log_ticket(ticket: Ticket, actor: Actor, action: str, changes: Mapping[str, Any]) -> int:
    """Write an entry of the history, and return its id."""
    entry = TicketChange(ticket_id=ticket.pk, action=action, changes=changes, **change_columns(actor))
    entry.save(force_insert=True)
    return entry.pk


def add_system_comment(ticket: Ticket, text: str, now: datetime) -> None:
    Message.objects.create(ticket=ticket, type=Message.Type.COMMENT, system_comment=text, created_at=now)
