"""The form field of a list of texts."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget


class ListField(forms.CharField):
    """A list of texts, each once, with white space or commas between them."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})

    def split(self, text: str) -> list[str]:
        """Return the entries of the text."""
        return text.replace(",", " ").split()

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        return value if isinstance(value, list) else list(dict.fromkeys(self.split(value or "")))

    def run_validators(self, value: Any) -> None:
        """Skip the validators of a text: the value is a list."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.to_python(initial), data)
