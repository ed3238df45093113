"""Webhooks and the feed of events in the documents of the API."""

from datetime import timedelta
from typing import Any

from callcentre.api.openapi import (
    Operation,
    array,
    boolean,
    describe,
    document,
    integer,
    mapping,
    page,
    path,
    shape,
    text,
)
from callcentre.core.errors import ErrorCode
from webhooks.api.filters import EventFilterSet
from webhooks.api.serializers import WebhookInput
from webhooks.api.views import EventViewSet, WebhookViewSet
from webhooks.event_types import EventType
from webhooks.models import Delivery, Webhook

ID = {"webhook_id": path("id", "Id of the webhook.", "17", ErrorCode.WEBHOOK_NOT_FOUND)}
ACTIONS = [action.value for action in EventType]


def _in_units(delay: timedelta) -> str:
    """Return a delay in whole hours, minutes or seconds."""
    seconds = int(delay.total_seconds())
    length, unit = next(entry for entry in ((3600, "h"), (60, "min"), (1, "s")) if seconds % entry[0] == 0)
    return f"{seconds // length} {unit}"


EXAMPLE = EventType.OUTBOUND_RECORD_STATUS_CHANGED
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

describe(
    WebhookInput,
    actions={
        "description": "Actions to be told of; see `GET /webhooks/actions`.",
        "example": ["CHAT_CONVERSATION_CREATED", "CHAT_AGENT_ASSIGNED"],
        "minItems": 1,
    },
    subscription_url=(
        "Where to send them, http or https. Private, loopback and link-local addresses are refused; a name that does"
        " not resolve yet is not."
    ),
    http_auth_user="Login of Basic authentication at the receiver.",
    http_auth_password="Its password.",  # noqa: S106  (a description)
    secret=(  # noqa: S106  (a description)
        "What deliveries are signed with, `whsec_` and 24 to 64 bytes in Base64, for a receiver that has one already."
        " Unless it is given, one is made. Ours."
    ),
    format="How the payload is sent: `json`, unless the service is configured otherwise, or `form`. Ours.",
)

FIELDS: dict[str, Any] = {
    "id": integer("The webhook's id.", 17),
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
    active=boolean("Whether it is sent to.", example=True),
    disabled_because=text(
        "Why not: `person` (or program), `gone` (it answered 410), `failing` (for five days); else an empty string.",
        "",
        enum=["", *Webhook.Reason.values],
    ),
)
SECRET = shape(
    "WebhookSecret",
    "What deliveries of one webhook are signed with.",
    id=integer("The webhook's id.", 17),
    secret=text(
        "`whsec_` and the key in Base64. After a rotation the old one signs as well for 24 hours.",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ),
)
PAYLOAD = mapping("What a receiver is told.", {}, EXAMPLE.example_message)
ACTION = shape(
    "WebhookAction",
    "Something that can happen.",
    action=text("Its name.", EXAMPLE.value, enum=ACTIONS),
    example=PAYLOAD,
)
EVENT = shape(
    "Event",
    "Something that has happened.",
    id=integer("Grows from event to event: give the last one as `after`.", 48210),
    event_id=text("The `webhook-id` of its deliveries.", EXAMPLE.example_message["event_id"], format="uuid"),
    action=text("What has happened.", EXAMPLE.value, enum=ACTIONS),
    date=text("When, `YYYY-MM-DD hh:mm:ss`.", EXAMPLE.example_message["date"]),
    payload=PAYLOAD,
)
TARGET_RULES = {
    ErrorCode.TARGET_MALFORMED: "subscription_url",
    ErrorCode.TARGET_SCHEME: "subscription_url",
    ErrorCode.TARGET_FORBIDDEN: "subscription_url",
    ErrorCode.TARGET_CREDENTIALS: "subscription_url",
}

document(
    WebhookViewSet,
    ID,
    list=Operation(
        id="list_webhooks",
        summary="List the webhooks",
        description="All of them, ordered by id, disabled ones too.",
        answer=array(WEBHOOK),
    ),
    create=Operation(
        id="create_webhook",
        summary="Register a receiver",
        description=DELIVERY,
        body=WebhookInput,
        request_example={
            "actions": ["OUTBOUND_RECORD_CREATED", "OUTBOUND_RECORD_STATUS_CHANGED"],
            "subscription_url": "https://crm.client.example/callcentre",
            "http_auth_user": "callcentre",
            "http_auth_password": "correct horse",
        },
        answer=WEBHOOK,
        errors={
            ErrorCode.ACTION_UNKNOWN: "actions",
            ErrorCode.USER_HAS_COLON: "http_auth_user",
            ErrorCode.SECRET_MALFORMED: "secret",
        }
        | TARGET_RULES,
    ),
    destroy=Operation(
        id="delete_webhook",
        summary="Remove a webhook",
        description="Nothing more is sent, also of what was waiting.",
    ),
    retrieve=Operation(
        id="read_webhook",
        summary="Read one webhook",
        description="Also whether it is sent to, and why not.",
        is_extension=True,
        answer=REGISTRATION,
    ),
    secret=Operation(
        id="read_webhook_secret",
        summary="Read the secret that signs",
        description=(
            "With it events can be made that look like ours, so it takes the right to write. Who has read it is kept in"
            " the webhook's history, once an hour."
        ),
        is_extension=True,
        answer=SECRET,
    ),
    enable=Operation(
        id="enable_webhook",
        summary="Send to a webhook again",
        description="What waits is sent first. A webhook that is enabled already is tried at once.",
        is_extension=True,
        conflicts={ErrorCode.CONFLICT: ""},
    ),
    disable=Operation(
        id="disable_webhook",
        summary="Send nothing to a webhook for now",
        description="What is due waits. Events that happen meanwhile are not kept for it; `GET /events` has them.",
        is_extension=True,
    ),
    test=Operation(
        id="test_webhook",
        summary="Send a test event",
        description=(
            "To this webhook alone, with the action `TEST`, also if its actions lack it. A disabled one gets it when it"
            " is enabled."
        ),
        is_extension=True,
        conflicts={ErrorCode.CONFLICT: ""},
    ),
    actions=Operation(
        id="list_webhook_actions",
        summary="List the actions",
        description="Each with an example of what a receiver is told.",
        is_extension=True,
        answer=array(ACTION),
        answer_example=[{"action": action.value, "example": action.example_message} for action in EventType],
    ),
)
document(
    EventViewSet,
    list=Operation(
        id="list_events",
        summary="Read what has happened",
        description=(
            "Oldest first, for receivers that were away: read with `after=0`, then with the `id` of the last event of"
            " each answer. Such a receiver misses none: an event shows only once no earlier one can still come. Events"
            " are kept for 90 days. `count` is of those after `after`; it stops at 100,000."
        ),
        is_extension=True,
        filter_set=EventFilterSet,
        is_paged=True,
        answer=page(EVENT),
    ),
)
