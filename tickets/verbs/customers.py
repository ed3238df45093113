"""The verbs of customers and companies: create, edit, add a note."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns, differences, still_there
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, check_lines, numbered
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.phone_zones import UNREADABLE, zone_named
from callcentre.core.row_inserts import RowInsert, mark_stored
from callcentre.core.statements import Statement
from tickets import events
from tickets.addresses import is_address
from tickets.models import custom_values
from tickets.models.custom_field import CustomField
from tickets.models.customer import Company, Customer, CustomerNote, CustomerNumber
from tickets.models.rules import active_agent

_ADDED = RowInsert("customer", Customer)
_ADD = Statement("""{query}, history AS (
  INSERT INTO tickets_customerchange (customer_id, actor_kind, actor_id, actor_name, actor_address, action, changes)
  SELECT id, %(actor_kind)s, %(actor_id)s, %(actor_name)s, %(actor_address)s::inet, 'create', '{{}}' FROM customer
)""").of(query=_ADDED.query)


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
        kept, wrong = custom_values.read(CustomField.Owner.CUSTOMER, custom_fields or {}, {})
        values = _with_name_of_zone(values, faults)
        _check(Customer(), values, faults)
        if faults := faults + wrong:
            raise Invalid(faults)
        customer = add_customer(actor, custom_fields=kept, **values)
        _add_numbers(customer, numbers)
    return customer


def add_customer(actor: Actor, **values: Any) -> Customer:
    """Write a customer whose values were checked, its history and its event, in one statement."""
    customer = Customer(created_at=timezone.now(), **values)
    parameters = {**_ADDED.parameters(customer), **change_columns(actor)}
    mark_stored(customer, events.customer_created_by(_ADD, customer, parameters, result="(SELECT id FROM customer)"))
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
        kept, wrong = custom_values.read(CustomField.Owner.CUSTOMER, custom_fields or {}, locked.custom_fields)
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
        for name, value in values.items():
            setattr(customer, name, value)
        customer.save(update_fields=[*values, "updated_at"])
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
