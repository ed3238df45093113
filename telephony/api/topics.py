from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api import fields
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, NotFound
from callcentre.core.parsing import Reject, RejectEntries
from telephony.api.lookup import connection_or_404
from telephony.api.queues import queue_or_404
from telephony.models import ConnectionTopic, Queue, Topic, TopicField, TopicGroup
from telephony.models.topic import LONGEST_TEXT, GivenValue
from telephony.verbs.topics import set_topic


class FieldValueField(fields.TextMapField):
    """An object {field_id, value}, which FieldValueInput reads."""


class FieldValuesField(fields.ListField):
    """An array of {field_id, value}. The rules also get the unreadable ones, as values that are None."""

    def to_internal_value(self, data: Any) -> list[GivenValue]:
        if not isinstance(data, list):
            raise Reject(ErrorCode.NOT_LIST)
        values, faults = [], []
        for position, item in enumerate(data):
            entry, wrong = _field_value(position, item)
            values += [entry] if entry else []
            faults += [fault.under(str(position)) for fault in wrong]
        if faults:
            raise RejectEntries(faults, values)
        return values


class FieldValueInput(Input):
    field_id = fields.IdField(required=True)
    value = fields.TextField(required=True, allow_blank=True)


def _field_value(position: int, item: Any) -> tuple[GivenValue | None, list[Fault]]:
    if not isinstance(item, Mapping):
        return None, [Fault(ErrorCode.NOT_OBJECT)]
    value = item.get("value")
    if isinstance(value, bool | float):  # for boolean and number fields
        value = str(value).lower()
    values, faults = FieldValueInput.read({"field_id": item.get("field_id"), "value": "" if value is None else value})
    faults = [fault for fault in faults if (fault.field, fault.code) != ("value", ErrorCode.EMPTY)]
    if "field_id" not in values:
        return None, faults
    is_unreadable = any(fault.field == "value" for fault in faults)
    return GivenValue(position, values["field_id"], None if is_unreadable else values.get("value", "")), faults


class ConnectionTopicInput(Input):
    connection_id = fields.TextField(required=True)
    topic_id = fields.IdField(required=True)
    comment = fields.TextField(required=False, max_length=LONGEST_TEXT)
    custom_fields = FieldValuesField(child=FieldValueField(), required=False)
    agent_login = fields.TextField(required=False, max_length=100)


class TopicViewSet(ApiViewSet):
    """Topics of queues and calls."""

    area = "connections"

    def of_queue(self, request: Request, queue_id: str) -> Response:
        return Response(topics_data(queue_or_404(queue_id)))

    def of_connection(self, request: Request, connection_id: str) -> Response:
        connection = connection_or_404(connection_id)
        topic = ConnectionTopic.objects.select_related("agent").filter(connection=connection).first()
        if topic is None:
            raise NotFound(ErrorCode.TOPIC_NOT_SET)
        return Response(
            {
                "topic_id": topic.topic_id,
                "agent_login": topic.agent.login if topic.agent else "",
                "comment": topic.comment,
                # The database keeps no order of keys.
                "custom_fields": [{"field_id": one["field_id"], "value": one["value"]} for one in topic.fields],
            }
        )

    def set_topic(self, request: Request) -> Response:
        values, faults = self.read(ConnectionTopicInput)
        set_topic(self.actor, values, faults)
        return Response(status=204)


def topics_data(queue: Queue) -> dict[str, Any]:
    """Return the active topics and fields of a queue."""
    topics = defaultdict(list)
    for topic in Topic.objects.active().filter(group__queue=queue):
        topics[topic.group_id].append(
            {"id": topic.pk, "name": topic.name, "show_custom_fields": topic.show_custom_fields}
        )
    return {
        "topic_groups": [
            {"group_name": group.name, "topics": topics[group.pk]}
            for group in TopicGroup.objects.filter(queue=queue, is_active=True)
        ],
        "custom_fields": [
            {"id": field.pk, "name": field.name, "type": field.type, "require": field.is_required}
            for field in TopicField.objects.active().filter(queue=queue)
        ],
    }
