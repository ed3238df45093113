"""Forms that say what the page showed: changed is what the person changed, not what others did meanwhile.

The page sends the values along that it showed (`show_hidden_initial`).
"""

from typing import Any, cast

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext as _


class ShownValueField(BoundField):
    """Says what was shown also when the page comes back with something to mend on it.

    Django says what was typed instead where a value is no single input, of an empty list or an instant: sent once more
    it would count as unchanged, and be lost.
    """

    # Of what is there by now the page has to say that it is there.
    is_outdated = False

    @property
    def shown(self) -> Any:
        """As the hidden input, or inputs, sent it; None where the page sent nothing of it."""
        widget = self.field.hidden_widget()
        return widget.value_from_datadict(self.form.data, self.form.files, self.html_initial_name)

    def as_widget(self, widget: Any = None, attrs: Any = None, only_initial: bool = False) -> Any:
        if not only_initial:
            return super().as_widget(widget, attrs)
        value = self.shown if self.form.is_bound and not self.is_outdated else self.field.prepare_value(self.initial)
        attrs = {"id": self.html_initial_id, **(attrs or {})}
        return self.field.hidden_widget().render(self.html_initial_name, value, attrs, self.form.renderer)


class EditConflictForm(forms.BaseForm):
    """What somebody else has changed as well is not set before the person has seen it: he is asked once more."""

    bound_field_class = ShownValueField

    def clean(self) -> Any:
        cleaned = super().clean()
        for name in self.changed_data:
            if self._is_overtaken(bound := cast("ShownValueField", self[name])):
                bound.is_outdated = True
                self.add_error(name, _("Somebody has changed this meanwhile. Save again to set yours."))
        return cleaned

    def _is_overtaken(self, bound: ShownValueField) -> bool:
        """It was changed here, and is neither what was shown any more nor what is wanted."""
        now = bound.initial
        return bound.shown is not None and all(bound.field.has_changed(now, one) for one in (bound.shown, bound.data))
