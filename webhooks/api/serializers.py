from typing import Any

from callcentre.api.fields import ChoiceField, Input, ListField, TextField
from callcentre.api.openapi import array, boolean, integer, mapping, shape, text
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.parsing import Reject
from webhooks.event_types import EventType
from webhooks.models import Webhook
from webhooks.rules import faults_of


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
