"""Forms that find edit conflicts, fields with one value a line, and names that the service brings.

Two people may change the same field of the same row. The page sends the values along that it showed
(`show_hidden_initial`). A field counts as changed if its input differs from the value shown, not from the value in the
database.
"""

from typing import Any, cast

from django import forms
from django.forms.boundfield import BoundField
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from callcentre.admin.theme import display


class InstalledNamesMixin:
    """An admin of rows with names that the service brings, which people read in their language (`str(row)`)."""

    @display(description=_("name"), ordering="name")
    def both_names(self, row: Any) -> str:
        """Return the name as shown, and after it the stored name if the shown one is a translation."""
        if str(row) == row.name:
            return str(row)
        return format_html('{} <span class="cc-subtle">{}</span>', row, row.name)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj and str(obj) != obj.name:
            told = _now("On these pages it reads “%(name)s”, in the language of the reader, until it is renamed.")
            kwargs["help_texts"] = {"name": told % {"name": obj}}
        return super().get_form(request, obj, change=change, **kwargs)  # type: ignore[misc]


class ListField(forms.CharField):
    """A list of texts, each once, with white space or commas between them."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})

    def split(self, text: str) -> list[str]:
        return text.replace(",", " ").split()

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        return value if isinstance(value, list) else list(dict.fromkeys(self.split(value or "")))

    def run_validators(self, value: Any) -> None:
        """Skip the validators of a text: the value is a list."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.to_python(initial), data)


class ShownValueField(BoundField):
    """A field whose hidden input keeps the value shown, also when the page is shown again because of an error.

    Django would put the input there if a value has several inputs: an empty list, an instant. Sent once more, the input
    would count as unchanged and be lost.
    """

    # The value in the database has changed: the hidden input gets the new one.
    is_outdated = False

    @property
    def shown(self) -> Any:
        """The value that the hidden input sent, or None if the page sent none."""
        widget = self.field.hidden_widget()
        return widget.value_from_datadict(self.form.data, self.form.files, self.html_initial_name)

    def as_widget(self, widget: Any = None, attrs: Any = None, only_initial: bool = False) -> Any:
        if not only_initial:
            return super().as_widget(widget, attrs)
        value = self.shown if self.form.is_bound and not self.is_outdated else self.field.prepare_value(self.initial)
        attrs = {"id": self.html_initial_id, **(attrs or {})}
        return self.field.hidden_widget().render(self.html_initial_name, value, attrs, self.form.renderer)


class EditConflictForm(forms.BaseForm):
    """A form that does not overwrite the change of another user before the person has seen it and saved again."""

    bound_field_class = ShownValueField

    def clean(self) -> Any:
        cleaned = super().clean()
        for name in self.changed_data:
            if self._is_in_conflict(bound := cast("ShownValueField", self[name])):
                bound.is_outdated = True
                self.add_error(name, _now("Another user has changed this meanwhile. Save again to set yours."))
        return cleaned

    def _is_in_conflict(self, bound: ShownValueField) -> bool:
        """Return whether the stored value differs both from the value shown and from the input."""
        now = bound.initial
        return bound.shown is not None and all(bound.field.has_changed(now, one) for one in (bound.shown, bound.data))
