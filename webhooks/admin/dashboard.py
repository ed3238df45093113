"""The webhooks' part of the front page: which receivers get nothing, so that a supervisor sees it at once."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse

from webhooks.admin.health import State, state_of
from webhooks.models import Webhook

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Line:
    webhook: Webhook
    state: State


def webhooks_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Nothing where no webhook is registered."""
    if not request.user.has_perm("webhooks.view_webhook"):
        return None
    registered = Webhook.objects.registered()
    troubled = list(registered.filter(Q(is_active=False) | Q(failing_since__isnull=False)).order_by("-is_active", "id"))
    if not troubled and not registered.exists():
        return None
    return {
        "template": "admin/webhooks/dashboard.html",
        "lines": [Line(webhook, state_of(webhook)) for webhook in troubled[:SHOWN]],
        "hidden_count": max(len(troubled) - SHOWN, 0),
        "is_troubled": bool(troubled),
        "webhooks_url": reverse("admin:webhooks_webhook_changelist"),
    }
