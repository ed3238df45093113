"""The person that an export or an erasure is about, and legal holds on customers and tickets."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models.functions import Lower

from callcentre.core.actor import Actor
from callcentre.core.deletions import checked_reason
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.legal_holds import LegalHold
from callcentre.core.personal_data import Person
from callcentre.core.phone import PhoneError, normalise
from tickets.addresses import any_of, is_address
from tickets.deletions.customers import emails_of, ids_of
from tickets.models import Customer, CustomerNumber, Ticket


def find_person(
    faults: Sequence[Fault] = (),
    *,
    customer_id: int | None = None,
    phone_numbers: Sequence[str] = (),
    emails: Sequence[str] = (),
) -> Person:
    """Return the person of a customer, or of numbers and addresses that no customer has.

    A customer has its numbers and addresses, and those of customers merged into it, but not what another customer has
    too: that leads to rows of the other one. Raise Invalid.
    """
    faults = list(faults)
    customers = tuple(ids_of(customer_id)) if customer_id else ()
    if customer_id and not customers:
        faults.append(Fault(ErrorCode.CUSTOMER_NOT_FOUND, "customer_id"))
    given = {"phone_numbers": _numbers(phone_numbers, faults), "emails": _emails(emails, faults)}
    if not faults and not customer_id and not any(given.values()):
        faults.append(Fault(ErrorCode.PERSON_REQUIRED, "customer_id"))
    for name, texts in given.items():
        for text in texts:
            owners = (_with_number if name == "phone_numbers" else _with_email)(text) - {*customers}
            if owners:
                ids = ", ".join(map(str, sorted(owners)))
                faults.append(Fault(ErrorCode.HAS_CUSTOMER, name, {"value": text, "ids": ids}))
    if faults:
        raise Invalid(faults)
    own_numbers = CustomerNumber.objects.filter(customer__in=customers).order_by().values_list("number", flat=True)
    numbers = [number for number in own_numbers if not _with_number(number) - {*customers}]
    return Person(
        customers,
        tuple(sorted({*numbers, *given["phone_numbers"]})),
        tuple(sorted({*emails_of(customers), *given["emails"]})),
    )


def _numbers(texts: Sequence[str], faults: list[Fault]) -> list[str]:
    found = []
    for text in texts:
        try:
            found.append(normalise(text))
        except PhoneError as error:
            faults.append(error.fault("phone_numbers"))
    return found


def _emails(texts: Sequence[str], faults: list[Fault]) -> list[str]:
    faults += [Fault(ErrorCode.ADDRESS_MALFORMED, "emails") for text in texts if not is_address(text)]
    return [text.lower() for text in texts]


def _with_number(number: str) -> set[int]:
    return set(CustomerNumber.objects.filter(number=number).order_by().values_list("customer", flat=True))


def _with_email(email: str) -> set[int]:
    """Return the customers with an address, merged ones included."""
    return set(Customer.objects.filter(any_of("email", [email])).order_by().values_list("pk", flat=True))


def on_hold() -> Person | None:
    """Return what all legal holds keep, as one person: customers and tickets with those merged with them, all numbers
    and addresses of the customers. None without a hold.
    """
    holds = list(LegalHold.objects.filter(ended_at=None).order_by().values_list("kind", "object_id"))
    if not holds:
        return None
    customers = _together(Customer, {pk for kind, pk in holds if kind == LegalHold.Kind.CUSTOMER})
    # The messages of a customer on hold may have moved to the ticket of another one.
    taken = Ticket.objects.filter(merged__customer__in=customers).order_by().values_list("pk", flat=True)
    tickets = _together(Ticket, {pk for kind, pk in holds if kind == LegalHold.Kind.TICKET} | set(taken))
    numbers = CustomerNumber.objects.filter(customer__in=customers).order_by().values_list("number", flat=True)
    emails = Customer.objects.filter(pk__in=customers).exclude(email="").order_by()
    return Person(customers, tuple(numbers), tuple(emails.values_list(Lower("email"), flat=True)), tickets)


def _together(model: Any, ids: set[int]) -> tuple[int, ...]:
    """Return these rows, those that they were merged into, and all that were merged into one of them."""
    if not ids:
        return ()
    into = model.objects.filter(pk__in=ids, merged_into__isnull=False).order_by()
    heads = {*ids, *into.values_list("merged_into", flat=True)}
    return (*heads, *model.objects.filter(merged_into__in=heads).exclude(pk__in=heads).values_list("pk", flat=True))


def begin_hold(actor: Actor, kind: str, object_id: int, reason: str) -> LegalHold:
    """Begin a legal hold. Raise Invalid without a reason or for an unknown row, Conflict if there is a hold already."""
    reason = checked_reason(reason)
    model = {LegalHold.Kind.CUSTOMER: Customer, LegalHold.Kind.TICKET: Ticket}[LegalHold.Kind(kind)]
    if not model._default_manager.filter(pk=object_id).exists():
        code = ErrorCode.CUSTOMER_NOT_FOUND if model is Customer else ErrorCode.TICKET_NOT_FOUND
        raise Invalid([Fault(code, "object_id")])
    with transaction.atomic():
        hold, is_new = LegalHold.objects.get_or_create(
            kind=kind, object_id=object_id, ended_at=None, defaults={"reason": reason, "begun_by": actor.name[:150]}
        )
    if not is_new:
        raise Conflict(ErrorCode.LEGAL_HOLD)
    return hold
