from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.lookups import get_or_404
from webhooks.api.filters import EventFilterSet
from webhooks.api.serializers import WebhookInput, event_data, registration_data, webhook_data
from webhooks.event_types import TEST_ACTION, EventType
from webhooks.models import Event, Webhook
from webhooks.verbs.webhooks import (
    create_webhook,
    disable_webhook,
    enable_webhook,
    remove_webhook,
    send_test,
    show_secret,
)

# Higher counts are cut off: counting takes time, and a receiver far behind reads on without them.
MOST_COUNTED = 100_000


class WebhookViewSet(ApiViewSet):
    """Registrations of receivers."""

    area = "webhooks"
    secret_actions = ("secret",)
    given: tuple[dict[str, Any], list[Fault]] | None = None

    def list(self, request: Request) -> Response:
        webhooks = list(Webhook.objects.registered())
        if any(webhook.http_auth_password for webhook in webhooks):
            record_once(self.actor, AuditAction.READ_PASSWORDS, name="GET /webhooks")
        return Response([webhook_data(webhook) for webhook in webhooks])

    def prepare_create(self, request: Request) -> None:
        """Read the input, which asks a name server for the receiver."""
        self.given = self.read(WebhookInput)

    def create(self, request: Request) -> Response:
        values, faults = self.given or self.read(WebhookInput)
        return Response(webhook_data(create_webhook(self.actor, faults, **values)), status=201)

    def retrieve(self, request: Request, webhook_id: str) -> Response:
        return Response(registration_data(webhook_or_404(webhook_id)))

    def destroy(self, request: Request, webhook_id: str) -> Response:
        remove_webhook(webhook_or_404(webhook_id), self.actor)
        return Response(status=204)

    def secret(self, request: Request, webhook_id: str) -> Response:
        webhook = webhook_or_404(webhook_id)
        return Response({"id": webhook.pk, "secret": show_secret(webhook, self.actor)})

    def enable(self, request: Request, webhook_id: str) -> Response:
        enable_webhook(webhook_or_404(webhook_id), self.actor)
        return Response(status=204)

    def disable(self, request: Request, webhook_id: str) -> Response:
        disable_webhook(webhook_or_404(webhook_id), self.actor)
        return Response(status=204)

    def test(self, request: Request, webhook_id: str) -> Response:
        send_test(webhook_or_404(webhook_id), self.actor)
        return Response(status=204)

    def actions(self, request: Request) -> Response:
        return Response([{"action": action.value, "example": action.example_message} for action in EventType])


class EventViewSet(ApiViewSet):
    """The feed of events in their order, for receivers that were away."""

    area = "webhooks"

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        # The count covers the settled events after `after`.
        events = EventFilterSet.filtered(request, Event.objects.settled().exclude(action=TEST_ACTION), faults)
        if faults:
            raise Invalid(faults)
        events = events.order_by("id")
        result = [event_data(event) for event in events[offset : offset + limit]]
        # The last page reveals the number of events. Only other pages need a count.
        is_last = 0 < len(result) < limit or (not result and not offset)
        count = offset + len(result) if result else 0
        if not is_last:
            count = max(count, events.order_by()[:MOST_COUNTED].count())
        return Response({"count": count, "result": result})


def webhook_or_404(webhook_id: str) -> Webhook:
    return get_or_404(Webhook.objects.registered(), webhook_id, ErrorCode.WEBHOOK_NOT_FOUND)
