"""The forms of a customer: its columns, phone numbers and custom fields; a note; the target of a merge.

The select field of a customer has a search. It shows addresses too, as customers can have the same name.
"""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin.autocomplete import Autocomplete
from callcentre.admin.theme import ModelForm
from callcentre.core.integers import integer_of
from tickets.admin.custom_field_inputs import input_of, name_of, shown_value
from tickets.models import Customer, CustomField, Ticket
from tickets.models.customer_fields import FORM_FIELDS

MAX_NUMBERS = 50


class CustomerForm(ModelForm):
    """The form of a customer. The verb checks the rules of customers; the form checks the rest."""

    custom: Sequence[CustomField] = ()
    phone_numbers = forms.CharField(
        label=_("Phone numbers"),
        required=False,
        max_length=5_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "class": "cc-monospace"}),
        help_text=_("One a line, in any spelling; the first is the main one."),
    )

    class Meta:
        model = Customer
        fields = [field.form for field in FORM_FIELDS]

    def __init__(self, *args: Any, instance: Customer | None = None, **kwargs: Any) -> None:
        if instance is not None:
            kwargs["initial"] = initial_of(instance, self.custom) | (kwargs.get("initial") or {})
        kwargs["instance"] = instance
        super().__init__(*args, **kwargs)

    def clean_phone_numbers(self) -> list[str]:
        numbers = [line.strip() for line in self.cleaned_data["phone_numbers"].splitlines() if line.strip()]
        if len(numbers) > MAX_NUMBERS:
            raise forms.ValidationError(_("At most %(count)s numbers.") % {"count": MAX_NUMBERS})
        return numbers

    def values(self) -> dict[str, Any]:
        """Return the changed values by the verb's names; of a new customer, the filled ones."""
        names, given = set(self.changed_data), self.cleaned_data
        values: dict[str, Any] = {
            field.name: getattr(given[field.form], "pk", given[field.form])
            for field in FORM_FIELDS
            if field.form in names
        }
        if "phone_numbers" in names:
            values["phone_numbers"] = given["phone_numbers"]
        if fields := {custom.name: given[name_of(custom)] for custom in self.custom if name_of(custom) in names}:
            values["custom_fields"] = fields
        return values


def form_class(fields: Sequence[CustomField], customer: Customer | None) -> type[CustomerForm]:
    """Build the form with the present custom fields."""
    values = customer.custom_fields if customer else {}
    inputs: dict[str, Any] = {name_of(custom): input_of(custom, shown_value(custom, values)) for custom in fields}
    # A read-only page takes the labels from here.
    labels = {name: field.label for name, field in inputs.items()}
    labels["phone_numbers"] = CustomerForm.base_fields["phone_numbers"].label
    inputs["Meta"] = type("Meta", (CustomerForm.Meta,), {"labels": labels})
    return type("CustomerForm", (CustomerForm,), {"custom": fields, **inputs})


def initial_of(customer: Customer, fields: Sequence[CustomField]) -> dict[str, Any]:
    return {name: getattr(customer, name) for name in map(name_of, fields)} | {
        "phone_numbers": "\n".join(customer.phone_numbers)
    }


def fill(customer: Customer, fields: Sequence[CustomField]) -> None:
    """Set the custom fields as attributes of the customer, where the form and the read-only page read them."""
    for custom in fields:
        setattr(customer, name_of(custom), shown_value(custom, customer.custom_fields))


def form_field_of(name: str, fields: Sequence[CustomField]) -> str:
    """Return the name of the input for the verb's name of a field."""
    first, _dot, rest = name.partition(".")
    if first == "custom_fields":
        return next((name_of(custom) for custom in fields if custom.name == rest), "")
    return next((field.form for field in FORM_FIELDS if field.name == first), first)


class NoteForm(forms.Form):
    message = forms.CharField(
        label=_("Note"), max_length=100_000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 5, "autofocus": True})
    )


class MergeForm(forms.Form):
    """The customer who stays, and the id of the one whose preview the page has shown."""

    target = forms.ModelChoiceField(label=_("The customer who stays"), queryset=Customer.objects.current())
    shown = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, source: Customer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.source = source
        field: Any = self.fields["target"]
        field.widget = CustomerSelect(field.choices)

    def clean_target(self) -> Customer:
        target: Customer = self.cleaned_data["target"]
        if target.pk == self.source.pk:
            raise forms.ValidationError(_("This is the same customer."))
        return target

    @property
    def is_confirmed(self) -> bool:
        return bool(self.is_valid() and self.cleaned_data["shown"] == str(self.cleaned_data["target"].pk))


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
