"""Two customers are one person: everything of one goes to the other, and his id and address lead there.

Programs and mail go on working meanwhile. Who is about to link something to a customer holds him (`Customer.hold`);
a merge waits for those who do for half a second at a time, and lets go of what it has in between: so it stands in
nobody's way, and no two wait for each other for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.models import actor_columns, differences
from telephony.models import Connection
from tickets import events
from tickets.models.customer import Customer
from tickets.models.ticket import Ticket, TicketChange

# Of a person; where the one who stays has none, he gets the other's.
COLUMNS = ("name", "email", "company_id", "identifier")
TRIES = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """What a merge does to the one who stays."""

    # Columns that he gets, and what he has besides, of numbers and custom fields, afterwards.
    values: Mapping[str, Any]
    numbers: list[tuple[str, str]]
    # Column -> (his, the other's) where each has one of his own: his stays, the history keeps the other's.
    left: Mapping[str, tuple[Any, Any]]
    # Custom field id -> the same.
    left_fields: Mapping[str, tuple[Any, Any]]


def plan(source: Customer, target: Customer) -> Plan:
    mine = {name: getattr(target, name) for name in COLUMNS}
    others = {name: getattr(source, name) for name in COLUMNS}
    given = {name: value for name, value in others.items() if value and not mine[name]}
    left = {
        name: (mine[name], value) for name, value in others.items() if value and mine[name] not in (value, "", None)
    }
    if source.surname != target.surname:
        left["surname"] = (target.surname, source.surname)
    fields = {**source.custom_fields, **target.custom_fields}
    left_fields = {key: (fields[key], value) for key, value in source.custom_fields.items() if fields[key] != value}
    spelled: dict[str, str] = {}
    for number in [*target.numbers.all(), *source.numbers.all()]:
        spelled.setdefault(number.number, number.phone_number)
    numbers = [(raw, number) for number, raw in spelled.items()]
    return Plan({**given, "custom_fields": fields}, numbers, left, left_fields)


def merge(actor: Actor, source: Customer, target: Customer) -> None:
    """All of `source` goes to `target`. Raises Invalid, and Conflict where one is gone already or in use for long."""
    if source.pk == target.pk:
        raise Invalid([Fault(ErrorCode.CUSTOMER_MERGED_WITH_ITSELF)])
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL lock_timeout = '500ms'")
                _merge(actor, source.pk, target.pk)
                return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
    raise Conflict(ErrorCode.CUSTOMER_BUSY)


def _merge(actor: Actor, source_id: int, target_id: int) -> None:
    # Tickets first, as those do who give a ticket to a customer.
    list(Ticket.objects.filter(customer=source_id).select_for_update(no_key=True).order_by("id").values_list("pk"))
    locked = Customer.objects.select_for_update().order_by("id").in_bulk([source_id, target_id])
    if len(locked) < 2:  # one was deleted meanwhile
        raise Conflict(ErrorCode.CONFLICT)
    source, target = locked[source_id], locked[target_id]
    if source.merged_into_id or target.merged_into_id:
        raise Conflict(ErrorCode.CUSTOMER_MERGED)
    done = plan(source, target)
    changes = differences(target, dict(done.values))
    before, after = target.phone_numbers, [raw for raw, _number in done.numbers]
    if before != after:
        changes["phone_numbers"] = [before, after]
    # First, so that two are never current who have one identifier or number.
    source.merged_into = target
    source.save(update_fields=["merged_into", "updated_at"])
    source.merged.update(merged_into=target)
    source.set_numbers([])
    target.set_numbers(done.numbers)
    for name, value in done.values.items():
        setattr(target, name, value)
    target.save(update_fields=[*done.values, "updated_at"])
    _move(actor, source, target)
    changes |= {name: [other, mine] for name, (mine, other) in done.left.items()}
    source.log(actor, "merge", {"merged_into": [None, f"{target} ({target.pk})"]})
    target.log(actor, "merge", {"merged": [None, f"{source} ({source.pk})"], **changes})
    events.customer_updated(source.pk, source.company_id)
    events.customer_updated(target.pk, target.company_id)


def _move(actor: Actor, source: Customer, target: Customer) -> None:
    """What points at one points at the other. A ticket's time of change stays: nothing has happened in it."""
    tickets = list(source.tickets.order_by("id").values_list("pk", flat=True))
    source.tickets.update(customer=target)
    change = {"customer": [str(source), str(target)]}
    TicketChange.objects.bulk_create(
        (TicketChange(ticket_id=pk, action="edit", changes=change, **actor_columns(actor)) for pk in tickets),
        batch_size=1000,
    )
    Connection.objects.filter(customer_id=source.pk).update(customer_id=target.pk)
    source.notes.update(customer=target)
