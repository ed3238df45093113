from collections.abc import Mapping
from typing import Any

from callcentre.api.fields import ChoiceField, IdField, InstantField, ListField, TextField, TextMapField
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
    subject = TextField(required=False, max_length=500)
    customer_id = IdField(required=False)
    user_login = TextField(source="agent_login", required=False, max_length=100)
    status_id = IdField(required=False)
    substatus_id = IdField(required=False)
    category_id = IdField(required=False)
    ticket_queue_id = IdField(source="queue_id", required=False)
    tags = ListField(child=TextField(max_length=100), required=False, max_length=100)
    custom_fields = ValueMapField(required=False)


TicketEditInput._declared_fields |= {"from": TextField(source="sender", required=False, max_length=320)}


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
