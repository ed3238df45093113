"""Form fields of an API user: rights as a matrix of areas and access, networks one per line."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.models import AREAS, RIGHTS, validate_networks


class RightsMatrix(forms.CheckboxSelectMultiple):
    """A table: one row an area, a box for read and one for write; above it all areas, and everything."""

    template_name = "admin/widgets/rights.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        held = set(value or ())
        rows = [("*", _("All areas, also those yet to come")), *AREAS.items()]
        context["everything"] = {"value": "*", "checked": "*" in held}
        context["rows"] = [
            {
                "name": area,
                "title": title,
                "cells": [
                    {"value": f"{area}:{access}", "checked": f"{area}:{access}" in held, "label": label}
                    for access, label in (("read", _("read")), ("write", _("write")))
                ],
            }
            for area, title in rows
        ]
        return context


class RightsField(forms.MultipleChoiceField):
    widget = RightsMatrix

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(right, right) for right in RIGHTS], **kwargs)

    def clean(self, value: Any) -> list[str]:
        chosen = super().clean(value)
        return [right for right in RIGHTS if right in chosen]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return set(initial or ()) != set(data or ())


class NetworksField(forms.CharField):
    """One network a line; commas will do as well."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "class": "cc-monospace"}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        return list(dict.fromkeys((value or "").replace(",", " ").split()))

    def validate(self, value: Any) -> None:
        super().validate(value)
        errors = []
        for network in value:
            try:
                validate_networks([network])
            except ValidationError as error:
                errors.append(error)
        if errors:
            raise ValidationError(errors)

    def run_validators(self, value: Any) -> None:
        """The validators of a text; this is a list by now, and looked at above."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(list(initial or ()) != self.to_python(data))
