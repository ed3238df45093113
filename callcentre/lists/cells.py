"""The cells of a list as values and text: choices by their labels, local times, yes and no, and no HTML."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

from django.contrib.admin.utils import label_for_field, lookup_field
from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from django.utils.safestring import SafeData
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from callcentre.core.exporting.formats import Unit
from callcentre.core.times import second

_BLANKS = re.compile(r"\s+")
_EMPTY = ("", "-", "–", "—")


@dataclass(frozen=True)
class ListColumn:
    field: str
    admin: Any

    @property
    def name(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        return str(capfirst(str(label_for_field(self.field, self.admin.model, model_admin=self.admin))))

    @property
    def width(self) -> int:
        return 20

    def text(self, row: Any) -> str:
        value = self.value(row)
        if isinstance(value, datetime):
            return second(value)
        return "" if value is None else str(value)

    def cell(self, row: Any) -> tuple[Unit, Any]:
        match value := self.value(row):
            case datetime():
                return Unit.MOMENT, value
            case int():
                return Unit.COUNT, value
            case float() | Decimal():
                return Unit.NUMBER, value
        return Unit.TEXT, None if value is None else str(value)

    def value(self, row: Any) -> Any:
        """Return the cell: a number, an instant, a text, or None for an empty cell."""
        try:
            field, shown, value = lookup_field(self.field, row, self.admin)
        except ObjectDoesNotExist:
            return None
        if field is None or (getattr(field, "auto_created", False) and not getattr(field, "concrete", True)):
            return _said(value, getattr(shown, "label", None), is_boolean=getattr(shown, "boolean", False))
        if isinstance(field, models.ForeignKey):
            related = getattr(row, field.name)
            return None if related is None else str(related)
        if choices := getattr(field, "flatchoices", None):
            return _plain(dict(choices).get(value, value))
        if isinstance(field, models.FileField):
            return value.name or None
        if isinstance(field, models.JSONField):
            return json.dumps(value, ensure_ascii=False) if value else None
        return _plain(value)


def columns_of(admin: Any, names: Sequence[str]) -> list[ListColumn]:
    return [ListColumn(name, admin) for name in names if name != "action_checkbox"]


def _said(value: Any, label: Any, *, is_boolean: bool) -> Any:
    """Return the value of a column that is a method. A method with labels returns (value, words), or words."""
    if isinstance(label, dict) and isinstance(value, tuple):
        value = value[-1]
    if is_boolean and value is not None:
        value = bool(value)
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case None:
            return None
        case bool():
            return _("Yes") if value else _("No")
        case int() | float() | Decimal() | datetime():
            return value
        case date() | time():
            return value.isoformat()
        case list() | tuple():
            value = ", ".join(str(_plain(each)) for each in value)
        case _ if isinstance(value, SafeData):
            value = text_of(str(value))
    text = str(value)
    return None if text in _EMPTY else text


class _Text(HTMLParser):
    """The texts of a piece of HTML that we made. An icon stands for its label."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._icon = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if "material-symbols-outlined" in (given.get("class") or ""):
            self._icon = tag
            self.handle_data(given.get("aria-label") or "", of_icon=True)
        elif tag == "img":
            self.handle_data(given.get("alt") or "", of_icon=True)

    def handle_endtag(self, tag: str) -> None:
        if tag == self._icon:
            self._icon = ""

    def handle_data(self, data: str, *, of_icon: bool = False) -> None:
        if (of_icon or not self._icon) and (text := _BLANKS.sub(" ", data).strip(" ·")):
            self.texts.append(text)


def text_of(html: str) -> str:
    return " · ".join(_Text(html).texts)
