"""The history of an object, on its own page: who did what, when, and from what to what."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.admin.base import display
from callcentre.models import Change

# Entries that a page shows; older ones are in the list of changes.
SHOWN = 50

ACTIONS = {
    "create": _("added"),
    "edit": _("edited"),
    "import": _("imported"),
    "rotate_secret": _("new secret"),
    "set_password": _("password set"),
    "lease": _("call started"),
    "call": _("call ended"),
}


_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d\Z")


@dataclass(frozen=True, slots=True)
class Entry:
    at: datetime
    actor: str
    kind: str
    action: Any
    # What changed: name, before, after.
    changes: list[tuple[Any, Any, Any]] = field(default_factory=list)


def entry_of(
    change: Change, changes: list[tuple[Any, Any, Any]], labels: Mapping[str, Any] = MappingProxyType({})
) -> Entry:
    """`labels`: of actions that only this kind of objects knows."""
    kind = dict(Change.ActorKind.choices).get(change.actor_kind, change.actor_kind)
    return Entry(change.at, change.actor_name, str(kind), action_label(change.action, labels), changes)


def in_words(value: Any) -> Any:
    """A value of a history: instants as the clock here shows them, lists with commas, yes or no, nothing for none."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, str) and _INSTANT.match(value):
        return f"{timezone.localtime(datetime.fromisoformat(value)):%Y-%m-%d %H:%M}"
    return "" if value is None else value


def action_label(action: str, labels: Mapping[str, Any]) -> Any:
    return labels.get(action) or ACTIONS.get(action, action)


class ChangeMixin:
    """The columns of a list of changes: what was done, by whom, from what to what."""

    # Of actions that only this kind of objects knows.
    action_labels: Mapping[str, Any] = MappingProxyType({})

    def changes_of(self, change: Any) -> list[tuple[Any, Any, Any]]:
        """Name, before, after, as people write it."""
        raise NotImplementedError

    @display(description=_("action"))
    def what(self, change: Change) -> str:
        return str(action_label(change.action, self.action_labels))

    @display(description=_("by"))
    def who(self, change: Change) -> str:
        return f"{change.actor_name} ({change.get_actor_kind_display()})"

    @display(description=_("changes"))
    def details(self, change: Change) -> str:
        changes = self.changes_of(change)
        return "; ".join(f"{name}: {old} → {new}" if old else f"{name}: {new}" for name, old, new in changes)


class HistoryMixin:
    """Shows `history_of(object)` under the form."""

    has_own_history = True
    change_form_outer_after_template = "admin/history.html"

    def history_of(self, obj: Any) -> list[Entry]:
        raise NotImplementedError

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> HttpResponse:
        if (obj := options.get("obj")) is not None:
            context["history"] = self.history_of(obj)
            context["history_limit"] = SHOWN
        response: HttpResponse = super().render_change_form(request, context, **options)  # type: ignore[misc]
        return response
