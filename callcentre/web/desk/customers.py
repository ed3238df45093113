"""The customer of the call or of the offered record, with the last contacts."""

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from callcentre.admin import may_see, user_of
from callcentre.web.desk.situation import Situation
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
    number, customer = desk.number, desk.customer
    user = user_of(desk.request)
    context: dict[str, Any] = {
        "customer": customer,
        "customer_number": number,
        "may_see_customer": may_see(user, "tickets", "customer"),
        "new_ticket_url": _new_ticket_url(customer, number) if user.has_perm("tickets.add_ticket") else "",
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


def _new_ticket_url(customer: Customer | None, number: str) -> str:
    """Return the address of the form of a ticket by phone, with the customer and the number."""
    query = {"sender": comparable(number), **({"customer": customer.pk} if customer else {})}
    return f"{reverse('admin:tickets_ticket_add')}?{urlencode(query)}"
