"""The renderer of forms. It draws plain inputs itself: a page has hundreds, and each takes Django three templates."""

from typing import Any

from django.forms.renderers import DjangoTemplates
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

NAMES = "checkbox", "date", "datetime", "email", "hidden", "number", "password", "search", "tel", "text", "time", "url"
# The templates of Django that only include "django/forms/widgets/input.html".
INPUTS = frozenset(f"django/forms/widgets/{name}.html" for name in NAMES)

ERRORS = "django/forms/errors/list/ul.html"


class FormRenderer(DjangoTemplates):
    def render(self, template_name: str, context: dict[str, Any], request: Any = None) -> str:
        if template_name in INPUTS:
            return _input(context["widget"])
        if template_name == ERRORS and not context["errors"]:
            return ""
        return super().render(template_name, context, request)


def _input(widget: dict[str, Any]) -> SafeString:
    """Return what Django's template draws: an attribute without a value is True, a missing one False."""
    value = widget["value"]
    given = "" if value is None else format_html(' value="{}"', str(value))
    attributes = format_html_join(
        "",
        "{}",
        (
            (format_html(" {}", name) if value is True else format_html(' {}="{}"', name, str(value)),)
            for name, value in widget["attrs"].items()
            if value is not False
        ),
    )
    return format_html('<input type="{}" name="{}"{}{}>', widget["type"], widget["name"], given, attributes)
