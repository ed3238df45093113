"""The panels of a customer's page: tickets, calls, chats, notes, and customers who may be the same person."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from telephony.models import Connection
from tickets.models import Chat, Customer

# A panel shows the newest rows; the lists have the rest.
SHOWN = 10
MOST_ALIKE = 20


def panels_of(request: HttpRequest, customer: Customer) -> dict[str, Any]:
    """Return the panels that the user may see."""
    may = request.user.has_perm
    others = list(customer.merged.order_by("id"))
    emails = [*dict.fromkeys(one.email.lower() for one in (customer, *others) if one.email)]
    # Calls that began during a merge may still have the id of the merged customer.
    ids = [one.pk for one in (customer, *others)]
    context: dict[str, Any] = {
        "emails": [email for email in emails if email != customer.email.lower()],
        "others": others[:SHOWN],
        "alike": alike(customer),
        "notes": list(customer.notes.all()[:SHOWN]),
        "shown_limit": SHOWN,
    }
    if may("tickets.view_ticket"):
        context["tickets"] = list(customer.tickets.select_related("status", "substatus", "agent")[:SHOWN])
        context["tickets_url"] = f"{reverse('admin:tickets_ticket_changelist')}?customer__id__exact={customer.pk}"
    if may("telephony.view_connection"):
        calls = Connection.objects.filter(customer_id__in=ids).select_related("agent").order_by("-created_at", "-id")
        context["calls"] = list(calls[:SHOWN])
    if may("tickets.view_chat"):
        context["chats"] = list(Chat.objects.of_emails(emails).select_related("agent", "queue")[:SHOWN])
    return context


def alike(customer: Customer) -> list[dict[str, Any]]:
    """Return customers with the same number or address, and the numbers and address that they share."""
    numbers = {row.number for row in customer.numbers.all()}
    found = []
    for other in customer.perhaps_same().select_related("company").prefetch_related("numbers")[:MOST_ALIKE]:
        shared = [row.phone_number for row in other.numbers.all() if row.number in numbers]
        if other.email and other.email.lower() == customer.email.lower():
            shared.append(other.email)
        found.append({"customer": other, "shared": ", ".join(shared)})
    return found
