"""Inputs for custom fields: one for each field, of its type."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from tickets.models import CustomField


class DateInput(UnfoldAdminTextInputWidget):
    input_type = "date"


def name_of(custom: CustomField) -> str:
    """Of its input in a form."""
    return f"field_{custom.pk}"


def input_of(custom: CustomField, value: Any) -> forms.Field:
    """The verb has the rules; the input only helps."""
    match custom.type:
        case CustomField.Type.CHOICE:
            # An option that was taken away stays chosen until somebody chooses another.
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
