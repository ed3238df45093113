"""The history of an object on its own page: the time, the person, the action, the values before and after."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin.base import Admin
from callcentre.admin.links import link_to, related
from callcentre.admin.theme import display
from callcentre.core.audit import owner_of
from callcentre.core.changes import Change

# The number of entries on a page. The list of changes has the older ones.
SHOWN = 50

ACTIONS = {
    "create": _("added"),
    "edit": _("edited"),
    "import": _("imported"),
    "rotate_secret": _("new secret"),
    "set_password": _("password set"),
}


_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d\Z")


@dataclass(frozen=True, slots=True)
class Entry:
    """One change in a history, in the words of the admin."""

    at: datetime
    actor: str
    kind: str
    action: Any
    # Name, before, after.
    changes: list[tuple[Any, Any, Any]] = field(default_factory=list)


def entry_of(
    change: Change, changes: list[tuple[Any, Any, Any]], labels: Mapping[str, Any] = MappingProxyType({})
) -> Entry:
    """Build the entry of a change. `labels` has the names of actions that only this kind of object knows."""
    kind = str(dict(Change.ActorKind.choices).get(change.actor_kind, change.actor_kind))
    # The dialler and the system have no names of their own.
    actor = kind if change.actor_name == change.actor_kind else change.actor_name
    return Entry(change.at, actor, kind, action_label(change.action, labels), changes)


def in_words(value: Any) -> Any:
    """Return a value of a history as text: instants in local time, lists with commas, yes or no, "" for None."""
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
    """The columns of a list of changes: the action, the person, the values before and after."""

    date_column = "at"
    list_display: Any = ("at", "owner", "what", "who", "details")
    list_display_links: Any = ("at",)
    fields: ClassVar[Any] = list_display
    readonly_fields: ClassVar[Any] = list_display
    # The names of actions that only this kind of object knows.
    action_labels: Mapping[str, Any] = MappingProxyType({})

    def changes_of(self, change: Any) -> list[tuple[Any, Any, Any]]:
        """Return name, before and after of each changed value, in the words of the admin."""
        raise NotImplementedError

    @display(description=_("object"))
    def owner(self, change: Change) -> Any:
        """Name the object that changed, which may be deleted."""
        key = owner_of(type(change))
        row = related(change, key.name)
        return link_to(row) if row else _now("deleted (%(id)s)") % {"id": getattr(change, key.attname)}

    @display(description=_("action"))
    def what(self, change: Change) -> str:
        return str(action_label(change.action, self.action_labels))

    @display(description=_("by"))
    def who(self, change: Change) -> str:
        kind = str(change.get_actor_kind_display())
        # The dialler and the system have no names of their own.
        return kind if change.actor_name == change.actor_kind else f"{change.actor_name} ({kind})"

    @display(description=_("changes"))
    def details(self, change: Change) -> str:
        changes = self.changes_of(change)
        return "; ".join(f"{name}: {old} → {new}" if old else f"{name}: {new}" for name, old, new in changes)


class HistoryMixin(Admin):
    """An admin that shows `history_of(object)` under the form."""

    has_own_history = True
    change_form_outer_after_template = "admin/history.html"

    def history_of(self, obj: Any) -> list[Entry]:
        raise NotImplementedError

    def page_context(self, request: HttpRequest, obj: Any) -> dict[str, Any]:
        history = {} if obj is None else {"history": self.history_of(obj), "history_limit": SHOWN}
        return super().page_context(request, obj) | history
