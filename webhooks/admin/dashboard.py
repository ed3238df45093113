"""Webhooks on the front page: receivers that get no events, for supervisors."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from webhooks.admin.health import State, state_of
from webhooks.models import Webhook

SHOWN = 10
# The columns that their state needs. Encrypted ones are missing, because decryption takes time.
COLUMNS = (
    "subscription_url",
    "is_active",
    "disabled_because",
    "disabled_at",
    "failing_since",
    "open_until",
    "failures_in_a_row",
    "last_success_at",
)


@dataclass(frozen=True, slots=True)
class TroubledWebhook:
    webhook: Webhook
    state: State


def webhooks_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel's context; None if no webhook is registered."""
    if not request.user.has_perm("webhooks.view_webhook"):
        return None
    registered = list(Webhook.objects.registered().only(*COLUMNS).order_by("-is_active", "id"))
    if not registered:
        return None
    troubled = [webhook for webhook in registered if not webhook.is_active or webhook.failing_since]
    return {
        "template": "admin/webhooks/dashboard.html",
        "troubled": [TroubledWebhook(webhook, state_of(webhook)) for webhook in troubled[:SHOWN]],
        "hidden_count": max(len(troubled) - SHOWN, 0),
        "is_troubled": bool(troubled),
        "webhooks_url": reverse("admin:webhooks_webhook_changelist"),
    }
