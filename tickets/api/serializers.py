from collections.abc import Mapping
from typing import Any

from callcentre.api.field_tables import TableInput
from callcentre.api.fields import ChoiceField, IdField, Input, InstantField, ListField, TextField, TextMapField
from callcentre.core.errors import ErrorCode
from tickets.models import Message
from tickets.models.ticket_fields import EDIT, OPEN, WHOLE_TICKET_FIELDS


class ValueMapField(TextMapField):
    """An object of name -> text, number, true or false, or a list of texts. Null clears a value, like ""."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        kept = {name: value for name, value in data.items() if isinstance(value, float | bool) or _is_texts(value)}
        return {**super().to_internal_value({k: v for k, v in data.items() if k not in kept}), **kept}


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def agent_field(sentence: str, **options: Any) -> TextField:
    return TextField(sentence, max_length=100, example="agent1", errors=[ErrorCode.AGENT_NOT_FOUND], **options)


def custom_fields_field(sentence: str) -> ValueMapField:
    faults = [ErrorCode.CUSTOM_FIELD_UNKNOWN, ErrorCode.CUSTOM_FIELD_OPTION]
    return ValueMapField(sentence, required=False, errors=faults)


def _text(sentence: str, **options: Any) -> TextField:
    return TextField(sentence, max_length=2_000_000, trim_whitespace=False, **options)


def _format(sentence: str, default: str = "HTML", **options: Any) -> ChoiceField:
    return ChoiceField(sentence, choices=Message.BodyType.values, required=False, default=default, **options)


def _date(event: str) -> InstantField:
    sentence = f"When it {event}; by default now. Neither before the ticket's creation nor in the future."
    return InstantField(sentence, source="at", required=False, errors=[ErrorCode.DATE_OUTSIDE])


def _attachments() -> ListField:
    return ListField(
        "Tokens of temporary files, each of which can be used once.",
        child=TextField(max_length=64),
        required=False,
        max_length=100,
        errors=[ErrorCode.FILE_NOT_FOUND, ErrorCode.FILES_TOO_LARGE],
    )


class TicketInput(TableInput):
    table = WHOLE_TICKET_FIELDS
    accepts = OPEN
    example = {
        "subject": "Parcel lost",
        "body": "Where is my parcel?",
        "from": "jan.kowal@client.example",
        "tags": ["parcel"],
        "custom_fields": {"order_number": "A-1204"},
    }
    body = _text("The customer's first message.")
    body_type = _format("The format of `body`.", "PLAIN")
    custom_fields = custom_fields_field("Custom field -> value; an unknown name is refused.")
    attachments = _attachments()


class TicketEditInput(TableInput):
    table = WHOLE_TICKET_FIELDS
    accepts = EDIT
    example = {"user_login": "agent1", "status_id": 5, "custom_fields": {"priority": "high"}}
    custom_fields = custom_fields_field("Custom field -> value; an empty value clears the field, other fields stay.")


class CommentInput(Input):
    comment = _text("The comment.", source="text", example="The courier calls back at noon.")
    comment_type = _format("The format of `comment`; HTML is sanitised.", source="text_type", example="PLAIN")
    user_login = agent_field("Login of an active agent.", source="agent_login")


class MacroInput(Input):
    macro_id = IdField("The macro.", example=1, errors=[ErrorCode.MACRO_NOT_FOUND])
    user_login = agent_field("Login of the active agent who uses it.", source="agent_login", required=False)


class TakeNextInput(Input):
    user_login = agent_field("Login of the active agent who takes it.", source="agent_login")


class AgentResponseInput(Input):
    body = _text("The message to the customer.", example="<p>We have sent it again.</p>")
    body_type = _format("The format of `body`; marketplaces accept PLAIN only.", errors=[ErrorCode.PLAIN_ONLY])
    user_login = agent_field("Login of the active agent who sends it.", source="agent_login")
    date = _date("was sent")
    attachments = _attachments()


class CustomerResponseInput(Input):
    body = _text("The customer's message.", example="Thank you!")
    body_type = _format("The format of `body`; HTML is sanitised.", example="PLAIN")
    date = _date("came")
    from_name = TextField(
        "The name to show with the message instead of the customer's.",
        required=False,
        max_length=200,
        example="Jan Kowal",
        errors=[ErrorCode.NOT_ONE_LINE],
    )
