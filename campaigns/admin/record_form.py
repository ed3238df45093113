"""The form of a record: its columns and one input for each field of its campaign."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from callcentre.admin.theme import ModelForm
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.phone import MAX_RAW_LENGTH
from campaigns.models import Campaign, Record
from campaigns.models.record_fields import BY_NAME, PLAIN, RECORD_FIELDS
from campaigns.models.rules import CampaignFacts

COLUMNS = tuple(field.form for field in RECORD_FIELDS if field.form)
PREFIX = "field_"

# Sentences with the labels of the form; the rules' own sentences have names of the wire.
SENTENCES = {
    ErrorCode.AGENT_REQUIRED: _("A record with this status needs an agent."),
    ErrorCode.NEXT_CALL_REQUIRED: _("A record with this status needs a time for the next call."),
    ErrorCode.RECORD_BUSY: _("The record is in a live call: it can be edited when the call has ended."),
    ErrorCode.RECORD_NOT_FOUND: _("The record is no longer there."),
    ErrorCode.NUMBER_DUPLICATED: _("The campaign already has a record with this number."),
    ErrorCode.EMPTY: _("This cannot be empty."),
}


class RecordForm(ModelForm):
    """The form of a record. It checks nothing that the rules of records check in the verb."""

    facts: CampaignFacts
    further_numbers = forms.CharField(
        label=_("Additional numbers"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2, "class": "cc-monospace"}),
        help_text=_("One a line. The dialler calls them in turn, after the first number."),
    )

    class Meta:
        model = Record
        fields = COLUMNS
        widgets = {"last_note": UnfoldAdminTextareaWidget(attrs={"rows": 3})}

    def __init__(self, *args: Any, instance: Record | None = None, **kwargs: Any) -> None:
        if instance is not None:
            names = [*field_names(self.facts), "further_numbers"]
            kwargs["initial"] = {name: getattr(instance, name) for name in names} | (kwargs.get("initial") or {})
        kwargs["instance"] = instance
        super().__init__(*args, **kwargs)
        if "status" in self.fields:
            self.fields["status"].required = bool(self.instance.status_id)
        if "order" in self.fields:
            self.fields["order"].validators += [MinValueValidator(-(2**31)), MaxValueValidator(2**31 - 1)]

    def _post_clean(self) -> None:
        """Leave the record as it is: the verb changes it."""

    def save(self, commit: bool = True) -> Record:
        """Return the record for the admin without saving it."""
        record: Record = self.instance
        return record

    def values(self) -> dict[str, Any]:
        """Return the changed values by the model's names; of a new record all that were filled in."""
        given: dict[str, Any] = {
            name: value.replace("\r\n", "\n") if isinstance(value, str) else value
            for name, value in self.cleaned_data.items()
        }
        names = set(self.changed_data)
        values: dict[str, Any] = {name: given[name] for name in (*PLAIN, "phone_number") if name in names}
        if "status" in names and given["status"]:
            values["status_id"] = given["status"].pk
        if "agent" in names:
            values["agent_login"] = given["agent"].login if given["agent"] else ""
        if "further_numbers" in names:
            values["additional_numbers"] = [
                line.strip() for line in given["further_numbers"].splitlines() if line.strip()
            ]
        fields = {name: given[PREFIX + key] for name, key in self.facts.fields.items() if PREFIX + key in names}
        if fields:
            values["fields"] = fields
        return values


class NumberMixin(forms.Form):
    phone_number = forms.CharField(
        label=_("Phone number"), max_length=MAX_RAW_LENGTH, widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True})
    )


def form_class(facts: CampaignFacts, is_new: bool) -> type[RecordForm]:
    inputs: dict[str, Any] = {"facts": facts}
    if is_new:
        inputs["phone_number"] = NumberMixin.base_fields["phone_number"]
    for name, key in facts.fields.items():
        inputs[PREFIX + key] = forms.CharField(label=name, required=False, widget=UnfoldAdminTextInputWidget())
    # The read-only page takes its labels from here.
    labels = {name: field.label for name, field in inputs.items() if isinstance(field, forms.Field)}
    labels["further_numbers"] = RecordForm.base_fields["further_numbers"].label
    inputs["Meta"] = type("Meta", (RecordForm.Meta,), {"labels": labels})
    return type("RecordForm", (RecordForm,), inputs)


def field_names(facts: CampaignFacts) -> list[str]:
    return [PREFIX + key for key in facts.fields.values()]


def form_field_of(fault: Fault, facts: CampaignFacts) -> str:
    """Return the input that shows a fault of the rules."""
    first, _dot, rest = fault.field.partition(".")
    if first == "fields" and rest in facts.fields:
        return PREFIX + facts.fields[rest]
    if first == "additional_numbers":
        return "further_numbers"
    return BY_NAME[first].form or first if first in BY_NAME else first


def fill(record: Record, facts: CampaignFacts) -> None:
    """Set attributes for the record's fields and additional numbers, which form and read-only page show."""
    values: Mapping[str, str] = record.fields
    for key in facts.fields.values():
        setattr(record, PREFIX + key, values.get(key, ""))
    numbers = record.additional_numbers.values_list("phone_number", flat=True)
    vars(record)["further_numbers"] = "\n".join(numbers)


class CampaignChoice(forms.Form):
    """The choice of the campaign of a new record, which decides the fields of its page."""

    campaign = forms.ModelChoiceField(label=_("Campaign"), queryset=Campaign.objects.all())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["campaign"].widget = autocomplete(Record, "campaign", self.fields["campaign"])


def autocomplete(model: Any, name: str, field: Any) -> forms.Widget:
    """Return a select that searches as the person types, like those of the admin's own forms."""
    widget: forms.Widget = AutocompleteSelect(model._meta.get_field(name), admin.site, attrs={"class": "cc-select"})
    widget.choices = field.choices  # type: ignore[attr-defined]
    return widget


def status_choice(choices: Any, **kwargs: Any) -> forms.ChoiceField:
    return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget(), **kwargs)
