"""The parts of a customer's page beside the timeline: merged customers, and those who may be the same person."""

from typing import Any

from django.db.models import prefetch_related_objects

from tickets.models import Customer

MOST_ALIKE = 20
# The most merged customers that the page names.
SHOWN = 10


def panels_of(customer: Customer) -> dict[str, Any]:
    """Return the context of the parts. Reads the merged customers once for the whole page."""
    prefetch_related_objects([customer], "merged")
    others = sorted(customer.merged.all(), key=lambda other: other.pk)
    emails = dict.fromkeys(one.email.lower() for one in (customer, *others) if one.email)
    return {
        "emails": [email for email in emails if email != customer.email.lower()],
        "others": others[:SHOWN],
        "alike": alike(customer),
    }


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
