"""The look-ups of customers that telephony and campaigns use (telephony.customers)."""

from collections.abc import Collection, Mapping

from django.urls import reverse

from callcentre.core.actor import SYSTEM
from telephony.customers import Customer as KnownCustomer
from tickets.models import Customer, CustomerNumber
from tickets.verbs import unknown_customers

CUSTOMER_OF = "SELECT customer_id FROM tickets_customernumber WHERE number = {} ORDER BY customer_id LIMIT 1"


def customers_of(numbers: Collection[str]) -> Mapping[str, KnownCustomer]:
    """Return the oldest customer of each number, in its normal form. Merged customers have no numbers."""
    found = CustomerNumber.objects.filter(number__in=numbers).order_by("number", "customer_id").distinct("number")
    return {
        number: KnownCustomer(pk, f"{name} {surname}".strip())
        for number, pk, name, surname in found.values_list(
            "number", "customer_id", "customer__name", "customer__surname"
        )
    }


def customer_of_caller(caller: str, number: str) -> KnownCustomer | None:
    """Return the customer of an inbound call, or create one if the settings say so."""
    customer = unknown_customers.customer_of_caller(SYSTEM, caller, number)
    return KnownCustomer(customer.pk, str(customer)) if customer else None


def pages_of_customers(ids: Collection[int]) -> Mapping[int, tuple[KnownCustomer, str]]:
    return {
        customer.pk: (
            KnownCustomer(customer.pk, str(customer)),
            reverse("admin:tickets_customer_change", args=[customer.pk]),
        )
        for customer in Customer.objects.filter(pk__in=ids)
    }
