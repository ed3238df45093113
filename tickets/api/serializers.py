from collections.abc import Mapping
from typing import Any

from callcentre.api.field_tables import TableInput
from callcentre.api.fields import ChoiceField, InstantField, ListField, TextField, TextMapField
from callcentre.api.serializers import Input
from callcentre.core.errors import ErrorCode
from tickets.models import Message
from tickets.models.ticket_fields import EDIT, OPEN, TICKET_FIELDS

MAX_BODY = 2_000_000


class ValueMapField(TextMapField):
    """An object of name -> text or number. Null clears a value, like ""."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        numbers = {name: value for name, value in data.items() if isinstance(value, float)}
        return {**super().to_internal_value({k: v for k, v in data.items() if k not in numbers}), **numbers}


class TicketInput(TableInput):
    table = TICKET_FIELDS
    accepts = OPEN
    example = {
        "subject": "Parcel lost",
        "body": "Where is my parcel?",
        "from": "jan.kowal@client.example",
        "tags": ["parcel"],
        "custom_fields": {"order_number": "A-1204"},
    }
    body = TextField("The customer's first message.", max_length=MAX_BODY, trim_whitespace=False)
    body_type = ChoiceField("The format of `body`.", choices=Message.BodyType.values, required=False, default="PLAIN")
    custom_fields = ValueMapField(
        "Custom field -> value; an unknown name is refused.",
        required=False,
        errors=[ErrorCode.CUSTOM_FIELD_UNKNOWN, ErrorCode.CUSTOM_FIELD_OPTION],
    )
    attachments = ListField(
        "Tokens of temporary files, each of which can be used once.",
        child=TextField(max_length=64),
        required=False,
        max_length=100,
        errors=[ErrorCode.FILE_NOT_FOUND, ErrorCode.FILES_TOO_LARGE],
    )


class TicketEditInput(TableInput):
    table = TICKET_FIELDS
    accepts = EDIT
    example = {"user_login": "agent1", "status_id": 5, "custom_fields": {"priority": "high"}}
    custom_fields = ValueMapField(
        "Custom field -> value; an empty value clears the field, other fields stay.",
        required=False,
        errors=[ErrorCode.CUSTOM_FIELD_UNKNOWN, ErrorCode.CUSTOM_FIELD_OPTION],
    )


class CommentInput(Input):
    comment = TextField(
        "The comment.",
        source="text",
        max_length=MAX_BODY,
        trim_whitespace=False,
        example="The courier calls back at noon.",
    )
    comment_type = ChoiceField(
        "The format of `comment`; HTML is sanitised.",
        source="text_type",
        choices=Message.BodyType.values,
        required=False,
        example="PLAIN",
        default="HTML",
    )
    user_login = TextField(
        "Login of an active agent.",
        source="agent_login",
        max_length=100,
        example="agent1",
        errors=[ErrorCode.AGENT_NOT_FOUND],
    )


class AgentResponseInput(Input):
    body = TextField(
        "The message to the customer.",
        max_length=MAX_BODY,
        trim_whitespace=False,
        example="<p>We have sent it again.</p>",
    )
    body_type = ChoiceField(
        "The format of `body`; marketplaces accept PLAIN only.",
        choices=Message.BodyType.values,
        required=False,
        default="HTML",
        errors=[ErrorCode.PLAIN_ONLY],
    )
    user_login = TextField(
        "Login of the active agent who sends it.",
        source="agent_login",
        max_length=100,
        example="agent1",
        errors=[ErrorCode.AGENT_NOT_FOUND],
    )
    date = InstantField(
        "When it was sent; by default now. Neither before the ticket's creation nor in the future.",
        source="at",
        required=False,
        errors=[ErrorCode.DATE_OUTSIDE],
    )
    attachments = ListField(
        "Tokens of temporary files, each of which can be used once.",
        child=TextField(max_length=64),
        required=False,
        max_length=100,
        errors=[ErrorCode.FILE_NOT_FOUND, ErrorCode.FILES_TOO_LARGE],
    )


class CustomerResponseInput(Input):
    body = TextField("The customer's message.", max_length=MAX_BODY, trim_whitespace=False, example="Thank you!")
    body_type = ChoiceField(
        "The format of `body`; HTML is sanitised.",
        choices=Message.BodyType.values,
        required=False,
        example="PLAIN",
        default="HTML",
    )
    date = InstantField(
        "When it came; by default now. Neither before the ticket's creation nor in the future.",
        source="at",
        required=False,
        errors=[ErrorCode.DATE_OUTSIDE],
    )
    from_name = TextField(
        "The name to show with the message instead of the customer's.",
        required=False,
        max_length=200,
        example="Jan Kowal",
        errors=[ErrorCode.NOT_ONE_LINE],
    )
