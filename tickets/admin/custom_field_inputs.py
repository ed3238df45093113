"""Custom fields on the pages of tickets and customers: their inputs, and their changes in a history."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from unfold.widgets import UnfoldAdminSelectMultipleWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from callcentre.admin.history import in_words
from tickets.models import CustomField

Change = tuple[Any, Any, Any]  # name, before, after


class DateInput(UnfoldAdminTextInputWidget):
    input_type = "date"


def name_of(custom: CustomField) -> str:
    """Return the name of the input of a custom field."""
    return f"field_{custom.pk}"


def shown_value(custom: CustomField, values: Mapping[str, Any]) -> Any:
    """Return the value of a custom field as its input has it: a text, or a list of options."""
    value = values.get(str(custom.pk), "")
    match custom.type:
        case CustomField.Type.CHOICES:
            return value or []
        case CustomField.Type.BOOLEAN:
            return {True: "yes", False: "no"}.get(value, "")
    return str(value)


def input_of(custom: CustomField, value: Any) -> forms.Field:
    """Build the input of a custom field. The verb checks the value."""
    match custom.type:
        case CustomField.Type.CHOICES:
            some = [*custom.options, *(each for each in value if each not in custom.options)]
            return forms.MultipleChoiceField(
                label=custom.name,
                required=False,
                choices=[(option, option) for option in some],
                widget=UnfoldAdminSelectMultipleWidget(),
            )
        case CustomField.Type.BOOLEAN:
            answers = [("", "–"), ("yes", _now("yes")), ("no", _now("no"))]
            return forms.ChoiceField(
                label=custom.name, required=False, choices=answers, widget=UnfoldAdminSelectWidget()
            )
        case CustomField.Type.CHOICE:
            # A removed option stays chosen until a person chooses another one.
            options = [*custom.options, *([value] if value and value not in custom.options else [])]
            choices = [("", "–"), *((option, option) for option in options)]
            return forms.ChoiceField(
                label=custom.name, required=False, choices=choices, widget=UnfoldAdminSelectWidget()
            )
        case CustomField.Type.DATE:
            widget: forms.Widget = DateInput()
        case CustomField.Type.NUMBER:
            widget = UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal"})
        case _:
            widget = UnfoldAdminTextInputWidget()
    return forms.CharField(label=custom.name, required=False, max_length=10_000, widget=widget)


def changes_of_values(old: Mapping[str, Any], new: Mapping[str, Any], names: Mapping[str, str]) -> list[Change]:
    """Return name, before and after of each custom field whose value has changed. `names`: id -> name."""
    return [
        (names.get(key, _now("a field that was removed")), in_words(old.get(key)), in_words(new.get(key)))
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]
