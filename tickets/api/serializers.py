from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from callcentre.api.fields import (
    ChoiceField,
    IdField,
    InstantField,
    ListField,
    TextField,
    TextMapField,
    minute,
)
from callcentre.api.serializers import Input
from tickets.models import Message, Source

MAX_BODY = 2_000_000


class ValueMapField(TextMapField):
    """An object of name -> text or number; null clears as "" does."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        numbers = {name: value for name, value in data.items() if isinstance(value, float)}
        return {**super().to_internal_value({k: v for k, v in data.items() if k not in numbers}), **numbers}


class TicketInput(Input):
    subject = TextField(max_length=500)
    body = TextField(max_length=MAX_BODY, trim_whitespace=False)
    body_type = ChoiceField(choices=Message.BodyType.values, required=False)
    user_login = TextField(source="agent_login", required=False, max_length=100)
    customer_id = IdField(required=False)
    ticket_queue_id = IdField(source="queue_id", required=False)
    category_id = IdField(required=False)
    status_id = IdField(required=False)
    substatus_id = IdField(required=False)
    tags = ListField(child=TextField(max_length=100), required=False, max_length=100)
    custom_fields = ValueMapField(required=False)
    attachments = ListField(child=TextField(max_length=64), required=False, max_length=100)


# Names of the wire that cannot be attributes of the class: a keyword of Python, and one that a serializer has itself.
TicketInput._declared_fields |= {
    "from": TextField(source="sender", required=False, max_length=320),
    "source": ChoiceField(choices=Source.values, required=False),
}


class TicketEditInput(Input):
    user_login = TextField(source="agent_login", required=False, max_length=100)
    status_id = IdField(required=False)
    substatus_id = IdField(required=False)
    category_id = IdField(required=False)
    ticket_queue_id = IdField(source="queue_id", required=False)
    tags = ListField(child=TextField(max_length=100), required=False, max_length=100)
    custom_fields = ValueMapField(required=False)


class CommentInput(Input):
    comment = TextField(source="text", max_length=MAX_BODY, trim_whitespace=False)
    comment_type = ChoiceField(source="text_type", choices=Message.BodyType.values, required=False)
    user_login = TextField(source="agent_login", max_length=100)


class AgentResponseInput(Input):
    body = TextField(max_length=MAX_BODY, trim_whitespace=False)
    body_type = ChoiceField(choices=Message.BodyType.values, required=False)
    user_login = TextField(source="agent_login", max_length=100)
    date = InstantField(source="at", required=False)
    attachments = ListField(child=TextField(max_length=64), required=False, max_length=100)


class CustomerResponseInput(Input):
    body = TextField(max_length=MAX_BODY, trim_whitespace=False)
    body_type = ChoiceField(choices=Message.BodyType.values, required=False)
    date = InstantField(source="at", required=False)
    from_name = TextField(required=False, max_length=200)


# The columns that ticket_data() and message_data() want, for values_list().
TICKET_COLUMNS: tuple[str, ...] = (
    "id",
    "agent__login",
    "sender",
    "queue__name",
    "queue_id",
    "subject",
    "category_id",
    "source",
    "status_id",
    "substatus_id",
    "tags",
    "customer_id",
    "status__name",
    "substatus__name",
    "created_at",
    "updated_at",
    "closed_at",
    "first_agent_responded_at",
    "connected_ids",
    "custom_fields",
)
MESSAGE_COLUMNS: tuple[str, ...] = (
    "ticket_id",
    "id",
    "agent__login",
    "type",
    "body",
    "quoted",
    "comment",
    "system_comment",
    "created_at",
    "attachments",
    "ratings",
)


def duration(start: datetime, end: datetime | None, hours: int) -> str:
    """`hh:mm:ss` with so many digits for the hours, more where they are needed; "" without an end."""
    if end is None:
        return ""
    minutes, seconds = divmod(max(int((end - start).total_seconds()), 0), 60)
    return f"{minutes // 60:0{hours}}:{minutes % 60:02}:{seconds:02}"


def ticket_data(row: Sequence[Any], messages: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """A ticket as the interface shows it, from TICKET_COLUMNS, with its messages."""
    created_at, closed_at, responded_at = row[14], row[16], row[17]
    return {
        "ticket_id": str(row[0]),
        "user_login": row[1] or "",
        "from": row[2],
        "ticket_queue_name": row[3],
        "ticket_queue_id": row[4],
        "subject": row[5],
        "category_id": row[6],
        "source": row[7],
        "status_id": str(row[8]),
        "substatus_id": "" if row[9] is None else str(row[9]),
        "tags": row[10],
        "customer_id": row[11],
        "full_status_name": f"{row[12]} - {row[13]}" if row[13] else row[12],
        "created_at": minute(created_at),
        "updated_at": minute(row[15]),
        "closed_at": minute(closed_at),
        "close_time": duration(created_at, closed_at, 3),
        "first_agent_responded_at": minute(responded_at),
        "first_agent_response_time": duration(created_at, responded_at, 2),
        "messages": [message_data(message) for message in messages],
        "connected_ticket_ids": row[18],
    }


def message_data(row: Sequence[Any]) -> dict[str, Any]:
    return {
        "message_id": row[1],
        "user_login": row[2] or "",
        "type": row[3],
        "body": row[4] + row[5],
        "comment": row[6],
        "system_comment": row[7],
        "created_at": minute(row[8]),
        "attachments": row[9],
        "ratings": row[10],
    }


def custom_fields_data(names: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """All fields, null where the ticket has no value. `names`: name -> key, in order."""
    return {name: values.get(key) for name, key in names.items()}
