from datetime import timedelta
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.filters import FilterSet, IdFilter, ListFilter
from callcentre.api.openapi import array, integer, operation, page, shape, text
from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.lookups import get_or_404
from webhooks.api.serializers import ACTION, EVENT, REGISTRATION, WEBHOOK, WebhookInput
from webhooks.event_types import TEST_ACTION, EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.verbs.webhooks import (
    create_webhook,
    disable_webhook,
    enable_webhook,
    remove_webhook,
    send_test,
    show_secret,
)


class EventFilterSet(FilterSet):
    after = IdFilter(field_name="id", lookup_expr="gt", help_text="The id of the last event that was read.")
    actions = ListFilter(field_name="action", choices=EventType.values, help_text="One or more actions.")


# Higher counts are cut off: counting takes time, and a receiver far behind reads on without them.
MOST_COUNTED = 100_000


def _in_units(delay: timedelta) -> str:
    """Return a delay in whole hours, minutes or seconds."""
    seconds = int(delay.total_seconds())
    length, unit = next(entry for entry in ((3600, "h"), (60, "min"), (1, "s")) if seconds % entry[0] == 0)
    return f"{seconds // length} {unit}"


DELIVERY = f"""
Each event of one of the actions is sent to `subscription_url` by POST, at least once: any 2xx is a success, nothing
else is, and no redirect is followed. An attempt takes 15 seconds at most; after a failure the next ones follow
{", ".join(_in_units(delay) for delay in Delivery.delays)} later, or when `Retry-After` says.
410 disables the webhook at once; so do five days of nothing but failures.

The body is the payload, as JSON or (`format`: `form`) as a form in which unset values are the word `null`. It has
`action`, `date`, the fields of the action, `event_id`, which tells two deliveries of one event, and `sequence`, which
only grows per subject: events may arrive out of order. Headers are those of the Standard Webhooks specification,
`webhook-id` (the `event_id`), `webhook-timestamp` and `webhook-signature`, by the secret of `GET /webhooks/:id/secret`.
""".strip()
SECRET = shape(
    "WebhookSecret",
    "What deliveries of one webhook are signed with.",
    id=integer("The webhook's id.", 17),
    secret=text(
        "`whsec_` and the key in Base64. After a rotation the old one signs as well for 24 hours.",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ),
)


class WebhookViewSet(ApiViewSet):
    """Registrations of receivers."""

    area = "webhooks"
    secret_actions = ("secret",)
    given: tuple[dict[str, Any], list[Fault]] | None = None

    @operation(
        "list_webhooks",
        "List the webhooks",
        "All of them, ordered by id, disabled ones too.",
        is_extension=False,
        answer=array(WEBHOOK),
    )
    def list(self, request: Request) -> Response:
        webhooks = list(Webhook.objects.registered())
        if any(webhook.http_auth_password for webhook in webhooks):
            record_once(self.actor, AuditAction.READ_PASSWORDS, name="GET /webhooks")
        return Response([WEBHOOK.data(webhook) for webhook in webhooks])

    def prepare_create(self, request: Request) -> None:
        """Read the input, which asks a name server for the receiver."""
        self.given = self.read(WebhookInput)

    @operation("create_webhook", "Register a receiver", DELIVERY, is_extension=False, body=WebhookInput, answer=WEBHOOK)
    def create(self, request: Request) -> Response:
        values, faults = self.given or self.read(WebhookInput)
        return Response(WEBHOOK.data(create_webhook(self.actor, faults, **values)), status=201)

    @operation("read_webhook", "Read one webhook", "Also whether it is sent to, and why not.", answer=REGISTRATION)
    def retrieve(self, request: Request, webhook_id: str) -> Response:
        return Response(REGISTRATION.data(webhook_or_404(webhook_id)))

    @operation(
        "delete_webhook", "Remove a webhook", "Nothing more is sent, also of what was waiting.", is_extension=False
    )
    def destroy(self, request: Request, webhook_id: str) -> Response:
        remove_webhook(webhook_or_404(webhook_id), self.actor)
        return Response(status=204)

    @operation(
        "read_webhook_secret",
        "Read the secret that signs",
        "With it events can be made that look like ours, so it takes the right to write. Who has read it is"
        " kept in the webhook's history, once an hour.",
        answer=SECRET,
    )
    def secret(self, request: Request, webhook_id: str) -> Response:
        webhook = webhook_or_404(webhook_id)
        return Response({"id": webhook.pk, "secret": show_secret(webhook, self.actor)})

    @operation(
        "enable_webhook",
        "Send to a webhook again",
        "What waits is sent first. A webhook that is enabled already is tried at once.",
        conflicts=[ErrorCode.CONFLICT],
    )
    def enable(self, request: Request, webhook_id: str) -> Response:
        enable_webhook(webhook_or_404(webhook_id), self.actor)
        return Response(status=204)

    @operation(
        "disable_webhook",
        "Send nothing to a webhook for now",
        "What is due waits. Events that happen meanwhile are not kept for it; `GET /events` has them.",
    )
    def disable(self, request: Request, webhook_id: str) -> Response:
        disable_webhook(webhook_or_404(webhook_id), self.actor)
        return Response(status=204)

    @operation(
        "test_webhook",
        "Send a test event",
        "To this webhook alone, with the action `TEST`, also if its actions lack it. A disabled one gets it"
        " when it is enabled.",
        conflicts=[ErrorCode.CONFLICT],
    )
    def test(self, request: Request, webhook_id: str) -> Response:
        send_test(webhook_or_404(webhook_id), self.actor)
        return Response(status=204)

    @operation(
        "list_webhook_actions",
        "List the actions",
        "Each with an example of what a receiver is told.",
        answer=array(ACTION),
        answer_example=[{"action": action.value, "example": action.example_message} for action in EventType],
    )
    def actions(self, request: Request) -> Response:
        return Response([{"action": action.value, "example": action.example_message} for action in EventType])


class EventViewSet(ApiViewSet):
    """The feed of events in their order, for receivers that were away."""

    area = "webhooks"

    @operation(
        "list_events",
        "Read what has happened",
        "Oldest first, for receivers that were away: read with `after=0`, then with the `id` of the last"
        " event of each answer. Such a receiver misses none: an event shows only once no earlier one can"
        " still come. Events are kept for 90 days. `count` is of those after `after`; it stops at 100,000.",
        filter_set=EventFilterSet,
        is_paged=True,
        answer=page(EVENT),
    )
    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        # The count covers the settled events after `after`.
        events = EventFilterSet.filtered(request, Event.objects.settled().exclude(action=TEST_ACTION), faults)
        if faults:
            raise Invalid(faults)
        events = events.order_by("id")
        result = [EVENT.data(event) for event in events[offset : offset + limit]]
        # The last page reveals the number of events. Only other pages need a count.
        is_last = 0 < len(result) < limit or (not result and not offset)
        count = offset + len(result) if result else 0
        if not is_last:
            count = max(count, events.order_by()[:MOST_COUNTED].count())
        return Response({"count": count, "result": result})


def webhook_or_404(webhook_id: str) -> Webhook:
    return get_or_404(Webhook.objects.registered(), webhook_id, ErrorCode.WEBHOOK_NOT_FOUND)
