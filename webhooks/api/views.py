from datetime import timedelta
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import ChoiceField, Input, ListField, TextField
from callcentre.api.filters import FilterSet, IdFilter, ListFilter
from callcentre.api.openapi import array, boolean, integer, mapping, operation, page, shape, text
from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.lookups import get_or_404
from callcentre.core.parsing import Reject
from webhooks.event_types import TEST_ACTION, EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.rules import faults_of
from webhooks.verbs.webhooks import (
    create_webhook,
    disable_webhook,
    enable_webhook,
    remove_webhook,
    send_test,
    show_secret,
)


class ActionField(TextField):
    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if name not in EventType.values:
            raise Reject(ErrorCode.ACTION_UNKNOWN, name=name)
        return name


class WebhookInput(Input):
    actions = ListField(
        "Actions to be told of; see `GET /webhooks/actions`.",
        child=ActionField(max_length=50),
        max_length=100,
        example=["CHAT_CONVERSATION_CREATED", "CHAT_AGENT_ASSIGNED"],
        minItems=1,
        errors=[ErrorCode.ACTION_UNKNOWN],
    )
    subscription_url = TextField(
        "Where to send them, http or https. Private, loopback and link-local addresses are refused; a name"
        " that does not resolve yet is not.",
        max_length=2000,
        example="https://crm.client.example/callcentre",
        errors=[
            ErrorCode.TARGET_MALFORMED,
            ErrorCode.TARGET_SCHEME,
            ErrorCode.TARGET_FORBIDDEN,
            ErrorCode.TARGET_CREDENTIALS,
        ],
    )
    http_auth_user = TextField(
        "Login of Basic authentication at the receiver.",
        required=False,
        max_length=255,
        example="callcentre",
        errors=[ErrorCode.USER_HAS_COLON],
    )
    http_auth_password = TextField(
        "Its password.", required=False, max_length=255, trim_whitespace=False, example="correct horse"
    )
    secret = TextField(
        "What deliveries are signed with, `whsec_` and 24 to 64 bytes in Base64, for a receiver that has"
        " one already. Unless it is given, one is made. Ours.",
        required=False,
        max_length=100,
        errors=[ErrorCode.SECRET_MALFORMED],
    )
    format = ChoiceField(
        "How the payload is sent: `json`, unless the service is configured otherwise, or `form`. Ours.",
        choices=Webhook.Format.values,
        required=False,
    )

    @classmethod
    def read(cls, data: Any, *, is_partial: bool = False) -> tuple[dict[str, Any], list[Fault]]:
        values, faults = super().read(data, is_partial=is_partial)
        if "actions" in values:
            values["actions"] = list(dict.fromkeys(values["actions"]))
        if not values.get("secret"):
            # The model makes one.
            values.pop("secret", None)
        return values, faults + faults_of(values)


ACTIONS = [action.value for action in EventType]


EXAMPLE = EventType.OUTBOUND_RECORD_STATUS_CHANGED
FIELDS: dict[str, Any] = {
    "id": integer("The webhook's id.", 17, of="pk"),
    "actions": array({"type": "string", "enum": ACTIONS, "example": EXAMPLE.value}, "Actions that it is told of."),
    "subscription_url": text("Where they are sent.", "https://crm.client.example/callcentre"),
    "http_auth_user": text("Login of Basic authentication at the receiver; an empty string when unset.", "callcentre"),
    "http_auth_password": text("Its password; an empty string when unset.", "correct horse"),
}
WEBHOOK = shape("Webhook", "A registration of a receiver.", **FIELDS)
REGISTRATION = shape(
    "WebhookRegistration",
    "A registration with what is ours of it.",
    **FIELDS,
    format=text("How the payload is sent.", "json", enum=Webhook.Format.values),
    active=boolean("Whether it is sent to.", example=True, of="is_active"),
    disabled_because=text(
        "Why not: `person` (or program), `gone` (it answered 410), `failing` (for five days); else an empty string.",
        "",
        enum=["", *Webhook.Reason.values],
    ),
)
PAYLOAD = mapping("What a receiver is told.", {}, EXAMPLE.example_message)
ACTION = shape(
    "WebhookAction",
    "Something that can happen.",
    action=text("Its name.", EXAMPLE.value, enum=ACTIONS),
    example=PAYLOAD,
)
_MESSAGE = EXAMPLE.example_message
EVENT = shape(
    "Event",
    "Something that has happened.",
    id=integer("Grows from event to event: give the last one as `after`.", 48210, of="pk"),
    event_id=text(
        "The `webhook-id` of its deliveries.",
        _MESSAGE["event_id"],
        format="uuid",
        of=lambda event: event.message["event_id"],
    ),
    action=text("What has happened.", EXAMPLE.value, enum=ACTIONS),
    date=text("When, `YYYY-MM-DD hh:mm:ss`.", _MESSAGE["date"], of=lambda event: event.message["date"]),
    payload=PAYLOAD | {"of": "message"},
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
    def destroy(self, request: Request, webhook_id: str) -> None:
        remove_webhook(webhook_or_404(webhook_id), self.actor)

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
    def enable(self, request: Request, webhook_id: str) -> None:
        enable_webhook(webhook_or_404(webhook_id), self.actor)

    @operation(
        "disable_webhook",
        "Send nothing to a webhook for now",
        "What is due waits. Events that happen meanwhile are not kept for it; `GET /events` has them.",
    )
    def disable(self, request: Request, webhook_id: str) -> None:
        disable_webhook(webhook_or_404(webhook_id), self.actor)

    @operation(
        "test_webhook",
        "Send a test event",
        "To this webhook alone, with the action `TEST`, also if its actions lack it. A disabled one gets it"
        " when it is enabled.",
        conflicts=[ErrorCode.CONFLICT],
    )
    def test(self, request: Request, webhook_id: str) -> None:
        send_test(webhook_or_404(webhook_id), self.actor)

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
