"""The inputs that the renderer draws are those of Django's templates."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import unfold
from django import forms
from django.forms.renderers import DjangoTemplates
from unfold.widgets import UnfoldAdminSelectWidget

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
CHOICES: list[Any] = [("", "-"), ("a&b", 'A "<b>"'), ("Group", [("c", "C"), (7, "<i>")]), (None, "none")]


def test_each_template_has_its_widget():
    assert {widget.template_name for widget in WIDGETS} == INPUTS


@pytest.mark.slow("draws many forms")
def test_an_input_is_what_the_template_of_django_draws():
    for attributes in ATTRIBUTES:
        for kind, value in product(WIDGETS, VALUES):
            assert_same(kind(attributes), value)


def test_a_choice_is_what_the_template_of_django_draws():
    for kind, value in product((forms.Select, forms.SelectMultiple), ("a&b", "", None, ["a&b", "7"])):
        assert_same(kind(ATTRIBUTES[1], CHOICES), value)


def assert_same(widget: forms.Widget, value: Any) -> None:
    ours, theirs = (str(widget.render("value", value, None, each())) for each in (FormRenderer, DjangoTemplates))
    if isinstance(widget, forms.Select):
        ours, theirs = ("".join(text.split()) for text in (ours, theirs))
    assert ours == theirs


def test_a_choice_is_what_the_template_of_the_theme_draws():
    widget = UnfoldAdminSelectWidget(choices=CHOICES)
    context = widget.get_context("value", "a&b", {"id": "id_value"})
    theirs = Path(unfold.__file__).parent / "templates" / widget.template_name

    drawn = [
        "".join(FormRenderer().engine.from_string(theirs.read_text()).render(context).split()),
        "".join(FormRenderer().render(widget.template_name, context).split()),
    ]

    assert drawn[0] == drawn[1]
    assert drawn[0].count("<option") == 5
