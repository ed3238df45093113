"""The customer of the call or of the offered record, with the last contacts."""

from typing import Any

from callcentre.admin import may_see, user_of
from callcentre.web.desk.situation import Situation
from campaigns.models import Record
from telephony.customers import customers_of
from telephony.numbers import comparable
from tickets.models import Customer
from tickets.timeline import Reader, kinds, read_page

CONTACTS = 5


def customer_facts(desk: Situation) -> Any:
    """Return what names the customer; None without a call and an offer."""
    if offer := desk.offer:
        return "offer", offer.pk
    call = desk.shown_call
    return ("call", call.connection.pk, call.connection.customer_id) if call else None


def customer_context(desk: Situation, facts: Any) -> dict[str, Any]:
    """Return the card of the customer. An agent needs no permission for the customer of the present call."""
    number = _number(desk)
    customer = _customer(desk, number)
    user = user_of(desk.request)
    context: dict[str, Any] = {
        "customer": customer,
        "customer_number": number,
        "may_see_customer": may_see(user, "tickets", "customer"),
    }
    if customer is None:
        return context
    known = kinds()
    names = frozenset(kind.name for kind in known)
    reader = Reader(names, sees_recordings=False, sees_summaries=False, scope=user.scope)
    # One more, because the present call may be among them.
    page = read_page(customer, reader, limit=CONTACTS + 1)
    call = desk.shown_call
    uid = call.connection.uid if call else ""
    context["contacts"] = [
        {"kind": kind, "entry": entry, "may_open": may_see(user, kind.app, kind.model)}
        for kind, entry in page.entries
        if entry.id != uid
    ][:CONTACTS]
    return context


def person_of(desk: Situation) -> Customer | None:
    """Return the customer of the call or of the offered record, if there is one."""
    return _customer(desk, _number(desk))


def _number(desk: Situation) -> str:
    if desk.offer:
        record = Record.objects.filter(pk=desk.offer.record_id).only("phone_number").first()
        return record.phone_number if record else ""
    return desk.shown_call.connection.customer_number if desk.shown_call else ""


def _customer(desk: Situation, number: str) -> Customer | None:
    pk = desk.shown_call.connection.customer_id if desk.shown_call and not desk.offer else None
    if pk is None and number:
        found = customers_of([comparable(number)])
        pk = next(iter(found.values())).id if found else None
    customers = Customer.objects.select_related("company", "merged_into__company")
    customer = customers.filter(pk=pk).first() if pk else None
    return customer.merged_into or customer if customer else None
