"""The hidden inputs that send the shown values along."""

from typing import Any

import pytest
from django import forms

from callcentre.admin.edit_conflicts import ShownValueField


class Form(forms.Form):
    bound_field_class = ShownValueField

    value: Any = forms.CharField(show_hidden_initial=True, required=False)


@pytest.mark.parametrize("value", [None, "", 0, 7, False, 'a "quoted" <b>text</b> & more', "two\nlines"])
def test_a_hidden_input_is_what_the_template_of_django_draws(value: Any) -> None:
    bound = Form(initial={"value": value})["value"]

    drawn = forms.HiddenInput().render("initial-value", bound.initial, {"id": "initial-id_value"})

    assert bound.as_hidden(only_initial=True) == drawn
