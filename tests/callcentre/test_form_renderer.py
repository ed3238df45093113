"""The inputs that the renderer draws are those of Django's templates."""

from typing import Any

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates

from callcentre.web.form_renderer import INPUTS, FormRenderer

WIDGETS: list[type[forms.Widget]] = [
    *(forms.CheckboxInput, forms.DateInput, forms.DateTimeInput, forms.EmailInput, forms.HiddenInput),
    *(forms.NumberInput, forms.PasswordInput, forms.SearchInput, forms.TelInput, forms.TextInput, forms.TimeInput),
    forms.URLInput,
]
VALUES: list[Any] = [None, "", 0, 7, True, False, 'a "quoted" <b>text</b> & more', "it's\ntwo lines"]
ATTRIBUTES: list[dict[str, Any]] = [
    {},
    {"id": "id_value", "required": True, "disabled": False},
    {"class": 'a "b" <c>', "data-count": 3, "aria-label": "Jan's"},
]


def test_each_template_has_its_widget() -> None:
    assert {widget.template_name for widget in WIDGETS} == INPUTS


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("widget", WIDGETS, ids=lambda widget: widget.__name__)
def test_an_input_is_what_the_template_of_django_draws(
    widget: type[forms.Widget], value: Any, attributes: dict[str, Any]
) -> None:
    ours, theirs = (widget(attributes).render("value", value, None, each()) for each in (FormRenderer, DjangoTemplates))

    assert ours == theirs
