"""The form fields of an API user: rights as a matrix of areas and access, networks one a line."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin.list_field import ListField
from callcentre.models import AREAS, RIGHTS, validate_networks


class RightsMatrix(forms.CheckboxSelectMultiple):
    """A table of check boxes, a row for each area with one box for read and one for write.

    The rows above them are for all areas and for everything. Rights that the person may not give are left out.
    """

    template_name = "admin/widgets/rights.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        held = set(value or ())
        offered = {right for right, _label in self.choices}
        rows = [("*", _("All areas, also those yet to come")), *AREAS.items()]
        context["everything"] = {"value": "*", "checked": "*" in held} if "*" in offered else None
        context["rows"] = [
            {
                "name": area,
                "title": title,
                "cells": [
                    {"value": right, "checked": right in held, "label": label, "is_offered": right in offered}
                    for access, label in (("read", _now("read")), ("write", _now("write")))
                    for right in [f"{area}:{access}"]
                ],
            }
            for area, title in rows
            if not offered.isdisjoint((f"{area}:read", f"{area}:write"))
        ]
        context["lacks_some"] = len(offered) < len(RIGHTS)
        return context


class RightsField(forms.MultipleChoiceField):
    widget = RightsMatrix

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(right, right) for right in RIGHTS], **kwargs)
        self.error_messages["invalid_choice"] = _("You cannot give the right %(value)s.")

    def offer(self, rights: Iterable[str]) -> None:
        """Show and accept these rights only."""
        self.choices = [(right, right) for right in rights]

    def clean(self, value: Any) -> list[str]:
        chosen = super().clean(value)
        return [right for right in RIGHTS if right in chosen]


class NetworksField(ListField):
    """A list of networks, one a line or with commas between them."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3, "class": "cc-monospace"})

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
