"""The select field of a customer, with a search. It shows addresses too, as customers can have the same name."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.urls import reverse

from callcentre.admin.autocomplete import Autocomplete
from callcentre.core.integers import integer_of
from tickets.models import Customer, Ticket


class CustomerChoices(Autocomplete):
    """The customers that the field offers: the search of the list, for people who may see customers."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, Any]:
        return {"id": str(obj.pk), "text": label_of(obj)}


class CustomerSelect(AutocompleteSelect):
    def __init__(self, choices: Any) -> None:
        field = Ticket._meta.get_field("customer")
        super().__init__(field, admin.site, attrs={"class": "cc-select"}, choices=choices)

    def get_url(self) -> str:
        return reverse("admin:tickets_customer_choices")

    def optgroups(self, name: str, value: Any, attr: Any = None) -> Any:
        """Ignore a value from an address or a form that is no id."""
        return super().optgroups(name, [one for one in value if integer_of(str(one)) is not None], attr)


def label_of(customer: Customer) -> str:
    """Return the name of a customer with the e-mail address and the main number."""
    reached = ", ".join(filter(None, [customer.email, *customer.phone_numbers[:1]]))
    return f"{customer} ({reached})" if reached else str(customer)
