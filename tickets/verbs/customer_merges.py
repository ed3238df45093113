"""Merge two customers: everything of one moves to the other, and its id and address lead there.

Other work goes on during a merge. A transaction that links something to a customer locks the row of the customer
(`hold`). A merge waits half a second for such a lock, then releases its own locks and tries again. So it blocks others
only briefly, and no deadlock can arise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns, differences
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from telephony.models import Connection
from tickets import events
from tickets.models.customer import Customer
from tickets.models.customer_fields import FORM_FIELDS
from tickets.models.ticket import Ticket, TicketChange
from tickets.verbs.customers import log_customer, set_numbers

# Columns that move to the target if they are empty there.
COLUMNS = tuple(field.name for field in FORM_FIELDS)
TRIES = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """The values of the target customer after a merge, and the values of the source that are dropped."""

    # Columns that change, with all custom fields, and all phone numbers.
    values: Mapping[str, Any]
    numbers: list[tuple[str, str]]
    # Column -> (the target's value, the source's) where both have one: the target's stays, the history keeps the other.
    left: Mapping[str, tuple[Any, Any]]
    # The same by the id of a custom field.
    left_fields: Mapping[str, tuple[Any, Any]]


def plan_merge(source: Customer, target: Customer) -> Plan:
    mine = {name: getattr(target, name) for name in COLUMNS}
    others = {name: getattr(source, name) for name in COLUMNS}
    given = {name: value for name, value in others.items() if value and not mine[name]}
    left = {
        name: (mine[name], value) for name, value in others.items() if value and mine[name] not in (value, "", None)
    }
    fields = {**source.custom_fields, **target.custom_fields}
    left_fields = {key: (fields[key], value) for key, value in source.custom_fields.items() if fields[key] != value}
    spelled: dict[str, str] = {}
    for number in [*target.numbers.all(), *source.numbers.all()]:
        spelled.setdefault(number.number, number.phone_number)
    numbers = [(raw, number) for number, raw in spelled.items()]
    return Plan({**given, "custom_fields": fields}, numbers, left, left_fields)


def merge_customers(source: Customer, target: Customer, actor: Actor) -> None:
    """Move everything of `source` to `target`. Raise Conflict if one was deleted or merged, or stays locked."""
    if source.pk == target.pk:
        raise Invalid([Fault(ErrorCode.CUSTOMER_MERGED_WITH_ITSELF)])
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL lock_timeout = '500ms'")
                _merge(source.pk, target.pk, actor)
                return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
    raise Conflict(ErrorCode.CUSTOMER_BUSY)


def _merge(source_id: int, target_id: int, actor: Actor) -> None:
    # Lock tickets first, like all verbs that set the customer of a ticket.
    list(Ticket.objects.filter(customer=source_id).select_for_update(no_key=True).order_by("id").values_list("pk"))
    locked = Customer.objects.select_for_update().order_by("id").in_bulk([source_id, target_id])
    if len(locked) < 2:  # one was deleted meanwhile
        raise Conflict(ErrorCode.CONFLICT)
    source, target = locked[source_id], locked[target_id]
    if source.merged_into_id or target.merged_into_id:
        raise Conflict(ErrorCode.CUSTOMER_MERGED)
    done = plan_merge(source, target)
    changes = differences(target, dict(done.values))
    before, after = target.phone_numbers, [raw for raw, _number in done.numbers]
    if before != after:
        changes["phone_numbers"] = [before, after]
    # The source is no longer current before the target gets its identifier and numbers.
    source.merged_into = target
    source.save(update_fields=["merged_into", "updated_at"])
    source.merged.update(merged_into=target)
    set_numbers(source, [])
    set_numbers(target, done.numbers)
    for name, value in done.values.items():
        setattr(target, name, value)
    target.save(update_fields=[*done.values, "updated_at"])
    _move(source, target, actor)
    changes |= {name: [other, mine] for name, (mine, other) in done.left.items()}
    log_customer(source, actor, "merge", {"merged_into": [None, f"{target} ({target.pk})"]})
    log_customer(target, actor, "merge", {"merged": [None, f"{source} ({source.pk})"], **changes})
    events.customer_updated(source)
    events.customer_updated(target)


def _move(source: Customer, target: Customer, actor: Actor) -> None:
    """Move tickets, calls and notes. `updated_at` of the tickets stays: nothing has happened in them."""
    tickets = list(source.tickets.order_by("id").values_list("pk", flat=True))
    source.tickets.update(customer=target)
    change = {"customer": [str(source), str(target)]}
    TicketChange.objects.bulk_create(
        (TicketChange(ticket_id=pk, action="edit", changes=change, **change_columns(actor)) for pk in tickets),
        batch_size=1000,
    )
    Connection.objects.filter(customer_id=source.pk).update(customer_id=target.pk)
    source.notes.update(customer=target)
