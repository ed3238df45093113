"""The renderer of forms. It draws plain inputs itself: a page has hundreds, and each takes Django three templates."""

from typing import Any

from django.forms.renderers import DjangoTemplates
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

NAMES = "checkbox", "date", "datetime", "email", "hidden", "number", "password", "search", "tel", "text", "time", "url"
# The templates of Django that only include "django/forms/widgets/input.html".
INPUTS = frozenset(f"django/forms/widgets/{name}.html" for name in NAMES)

ERRORS = "django/forms/errors/list/ul.html"
SELECT = "django/forms/widgets/select.html"
THEMES_INPUT = "unfold/widgets/text.html"
# What the theme's template draws beside an input.
AFFIXES = ("prefix", "prefix_icon", "suffix", "suffix_icon")
THEMES_SELECT = "unfold/widgets/select.html"


class FormRenderer(DjangoTemplates):
    def render(self, template_name: str, context: dict[str, Any], request: Any = None) -> str:
        if template_name in INPUTS:
            return _input(context["widget"])
        if template_name == ERRORS and not context["errors"]:
            return ""
        if template_name == SELECT:
            return _select(context["widget"])
        if template_name == THEMES_INPUT and not any(context["widget"].get(name) for name in AFFIXES):
            return format_html('<div class="max-w-2xl relative w-full">{}</div>', _input(context["widget"]))
        if template_name == THEMES_SELECT:
            context = {**context, "select": _select(context["widget"])}
        return super().render(template_name, context, request)


def _input(widget: dict[str, Any]) -> SafeString:
    given = "" if widget["value"] is None else format_html(' value="{}"', str(widget["value"]))
    attributes = _attributes(widget["attrs"])
    return format_html('<input type="{}" name="{}"{}{}>', widget["type"], widget["name"], given, attributes)


def _select(widget: dict[str, Any]) -> SafeString:
    groups = []
    for name, options, _index in widget["optgroups"]:
        drawn = "\n".join(
            f'<option value="{conditional_escape(option["value"])}"{_attributes(option["attrs"])}>'
            f"{conditional_escape(option['label'])}</option>"
            for option in options
        )
        groups.append(f'<optgroup label="{conditional_escape(name)}">{drawn}</optgroup>' if name else drawn)
    inside = mark_safe("\n".join(groups))  # noqa: S308  # all texts are escaped above
    return format_html('<select name="{}"{}>{}</select>', widget["name"], _attributes(widget["attrs"]), inside)


def _attributes(attributes: dict[str, Any]) -> SafeString:
    """Draw attributes: one that is True has no value, and one that is False is left out."""
    return mark_safe(  # noqa: S308  # names come from code, values are escaped
        "".join(
            f" {name}" if value is True else f' {name}="{conditional_escape(value)}"'
            for name, value in attributes.items()
            if value is not False
        )
    )
