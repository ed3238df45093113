"""Webhooks on the front page: all receivers are healthy. The overview above has those that are not."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from callcentre.admin import may_see
from webhooks.models import Webhook


def webhooks_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel's context; None if no webhook is registered, or one is in trouble."""
    if not may_see(request.user, "webhooks", "webhook"):
        return None
    if not Webhook.objects.registered().exists() or Webhook.objects.troubled().exists():
        return None
    return {"template": "admin/webhooks/dashboard.html", "webhooks_url": reverse("admin:webhooks_webhook_changelist")}
