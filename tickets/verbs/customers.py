"""The verbs of customers and companies: create, edit, add a note."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection, transaction
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns, differences, still_there, store_edit
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, check_lines, numbered
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.phone_zones import UNREADABLE, zone_named
from telephony.models import Connection
from tickets import events
from tickets.addresses import is_address
from tickets.models import custom_field
from tickets.models.custom_field import CustomField
from tickets.models.customer import Company, Customer, CustomerNote, CustomerNumber
from tickets.models.customer_fields import FORM_FIELDS
from tickets.models.rules import active_agent
from tickets.models.ticket import Ticket, TicketChange


def create_company(actor: Actor, faults: Sequence[Fault] = (), *, name: str = "") -> Company:
    if faults:
        raise Invalid(faults)
    return Company.objects.create(name=name)


def create_customer(
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    phone_numbers: Sequence[str] = (),
    custom_fields: Mapping[str, Any] | None = None,
    **values: Any,
) -> Customer:
    """Create a customer with phone numbers and custom fields (by name)."""
    faults = list(faults)
    numbers = _normal_forms(phone_numbers, faults)
    with transaction.atomic():
        kept, wrong = custom_field.read(CustomField.Owner.CUSTOMER, custom_fields or {}, {})
        values = _with_name_of_zone(values, faults)
        _check(Customer(), values, faults)
        if faults := faults + wrong:
            raise Invalid(faults)
        customer = add_customer(actor, custom_fields=kept, **values)
        _add_numbers(customer, numbers)
    return customer


def add_customer(actor: Actor, **values: Any) -> Customer:
    """Write a customer whose values were checked, its history and its event."""
    customer = Customer.objects.create(created_at=timezone.now(), **values)
    log_customer(customer, actor, "create", {})
    events.customer_created(customer)
    return customer


def edit_customer(
    customer: Customer,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    phone_numbers: Sequence[str] | None = None,
    custom_fields: Mapping[str, Any] | None = None,
    **values: Any,
) -> None:
    """Change the given fields. Phone numbers replace all numbers; custom fields (by name) that are not given stay."""
    faults = list(faults)
    numbers = None if phone_numbers is None else _normal_forms(phone_numbers, faults)
    with transaction.atomic():
        locked = still_there(Customer.objects.select_for_update(no_key=True).filter(pk=customer.pk))
        if locked.merged_into_id is not None:
            raise Conflict(ErrorCode.CUSTOMER_MERGED)
        kept, wrong = custom_field.read(CustomField.Owner.CUSTOMER, custom_fields or {}, locked.custom_fields)
        values = _with_name_of_zone(values, faults)
        _check(customer, values, faults)
        if faults := faults + wrong:
            raise Invalid(faults)
        values = {**values, "custom_fields": kept}
        changes = differences(locked, values)
        before = locked.phone_numbers
        if numbers is not None and [raw for raw, _number in numbers] != before:
            changes["phone_numbers"] = [before, [raw for raw, _number in numbers]]
            set_numbers(locked, numbers)
        if not changes:
            return
        store_edit(customer, **values)
        log_customer(customer, actor, "edit", changes)
        events.customer_updated(customer)


def add_customer_note(
    customer: Customer, actor: Actor, faults: Sequence[Fault] = (), *, message: str = "", agent_login: str = ""
) -> CustomerNote:
    faults = list(faults)
    with transaction.atomic():
        locked = still_there(Customer.objects.select_for_update(no_key=True).filter(pk=customer.pk))
        agent = active_agent(agent_login, faults)
        if faults:
            raise Invalid(faults)
        author = agent.full_name or agent.login if agent else actor.name
        note = CustomerNote.objects.create(
            customer_id=locked.merged_into_id or locked.pk, agent=agent, author_name=author, message=message
        )
        events.note_added(note, agent_login)
    return note


def set_numbers(customer: Customer, numbers: Sequence[tuple[str, str]]) -> None:
    customer.numbers.all().delete()
    _add_numbers(customer, numbers)


def _add_numbers(customer: Customer, numbers: Sequence[tuple[str, str]]) -> None:
    CustomerNumber.objects.bulk_create(
        CustomerNumber(customer=customer, phone_number=raw, number=number) for raw, number in numbers
    )


def log_customer(customer: Customer, actor: Actor, action: str, changes: Mapping[str, Any]) -> None:
    customer.history.create(action=action, changes=changes, **change_columns(actor))


def _normal_forms(phone_numbers: Sequence[str], faults: list[Fault]) -> list[tuple[str, str]]:
    """Return (as given, normal form) of each number once; add invalid numbers to the faults."""
    found: dict[str, str] = {}
    for position, raw in numbered(phone_numbers):
        try:
            found.setdefault(normalise(raw), raw)
        except PhoneError as error:
            faults.append(error.fault(f"phone_numbers.{position}"))
    return [(raw, number) for number, raw in found.items()]


def _with_name_of_zone(values: Mapping[str, Any], faults: list[Fault]) -> dict[str, Any]:
    """Return the values, with the time zone in the spelling of its name; add the fault of an unknown one."""
    if not (text := values.get("time_zone")):
        return dict(values)
    if (name := zone_named(text)) == UNREADABLE:
        faults.append(Fault(ErrorCode.ZONE_UNKNOWN, "time_zone", {"name": text}))
    return {**values, "time_zone": name}


def _check(customer: Customer, values: Mapping[str, Any], faults: list[Fault]) -> None:
    company_id, identifier = values.get("company_id"), values.get("identifier")
    if company_id is not None and not Company.objects.filter(pk=company_id).exists():
        faults.append(Fault(ErrorCode.COMPANY_NOT_FOUND, "company_id"))
    if (email := values.get("email")) and not is_address(email):
        faults.append(Fault(ErrorCode.ADDRESS_MALFORMED, "email"))
    others = Customer.objects.current().exclude(pk=customer.pk)
    faults += check_lines(identifier=identifier or "")
    if identifier and others.filter(identifier=identifier).exists():
        faults.append(Fault(ErrorCode.CUSTOMER_IDENTIFIER_TAKEN, "identifier"))


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
    store_edit(source, merged_into=target)
    source.merged.update(merged_into=target)
    set_numbers(source, [])
    set_numbers(target, done.numbers)
    store_edit(target, **done.values)
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
