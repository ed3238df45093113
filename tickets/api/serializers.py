from collections.abc import Mapping
from typing import Any

from callcentre.api.field_tables import TableInput
from callcentre.api.fields import ChoiceField, InstantField, ListField, TextField, TextMapField
from callcentre.api.serializers import Input
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
    body = TextField(max_length=MAX_BODY, trim_whitespace=False)
    body_type = ChoiceField(choices=Message.BodyType.values, required=False)
    custom_fields = ValueMapField(required=False)
    attachments = ListField(child=TextField(max_length=64), required=False, max_length=100)


class TicketEditInput(TableInput):
    table = TICKET_FIELDS
    accepts = EDIT
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
