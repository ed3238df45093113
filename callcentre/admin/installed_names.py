from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

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
