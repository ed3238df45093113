"""The history of an object, on its own page: who did what, when, and from what to what."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

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


@dataclass(frozen=True, slots=True)
class Entry:
    at: datetime
    actor: str
    kind: str
    action: Any
    # What changed: name, before, after.
    changes: list[tuple[Any, Any, Any]] = field(default_factory=list)


def entry_of(change: Change, changes: list[tuple[Any, Any, Any]]) -> Entry:
    kind = dict(Change.ActorKind.choices).get(change.actor_kind, change.actor_kind)
    return Entry(change.at, change.actor_name, str(kind), action_label(change.action), changes)


def action_label(action: str) -> Any:
    return ACTIONS.get(action, action)


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
