"""A field in which a customer is found by typing. Names are not enough: of two Jan Kowals each is told by more."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.urls import reverse

from callcentre.admin.autocomplete import Autocomplete
from callcentre.core.integers import integer_of
from tickets.models import Customer, Ticket


class CustomerChoices(Autocomplete):
    """What the field offers: found as in the list of customers, by whoever may see that."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, Any]:
        return {"id": str(obj.pk), "text": told_apart(obj)}


class CustomerSelect(AutocompleteSelect):
    def __init__(self, choices: Any) -> None:
        field = Ticket._meta.get_field("customer")
        super().__init__(field, admin.site, attrs={"class": "cc-select"}, choices=choices)

    def get_url(self) -> str:
        return reverse("admin:tickets_customer_choices")

    def optgroups(self, name: str, value: Any, attr: Any = None) -> Any:
        """What an address or a form brings here may be no id: then nobody is chosen."""
        return super().optgroups(name, [one for one in value if integer_of(str(one)) is not None], attr)


def told_apart(customer: Customer) -> str:
    """His name, and by what he is reached."""
    reached = ", ".join(filter(None, [customer.email, *customer.phone_numbers[:1]]))
    return f"{customer} ({reached})" if reached else str(customer)
