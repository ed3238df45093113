from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api import fields
from callcentre.api.fields import Input
from callcentre.api.openapi import array, boolean, integer, operation, second, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, NotFound
from callcentre.core.lookups import get_or_404
from callcentre.core.parsing import Reject
from telephony import queue_waits
from telephony.api.connections import connection_or_404
from telephony.models import ConnectionTopic, Queue, Topic, TopicField, TopicGroup, TransferShortcut
from telephony.models.topic import LONGEST_TEXT, GivenValue
from telephony.verbs.topics import set_topic

QUEUE = shape(
    "Queue",
    "Callers who wait for one of some agents.",
    id=integer("The queue's id.", 3, of="pk"),
    name=text("The queue's name.", "Hotline"),
)
WAITING_STATS = shape(
    "WaitingStats",
    "The number of waiting callers of a queue, and the estimated wait of a new one.",
    waiting=integer("Callers who wait.", 2, minimum=0),
    estimated_waiting_time=integer(
        "Whole seconds, estimated from the length of the queue's last calls and its present agents; 0 if an agent is"
        " free, null if none is logged in or all are paused.",
        90,
        nullable=True,
        minimum=0,
        of="estimated_seconds",
    ),
)
CALLER = shape(
    "WaitingCaller",
    "A caller who waits in a queue.",
    phone_number=text("The caller's number, as the switch reported it.", "+48225550107", of="number"),
    started_at=second("Start of the wait: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00", of="since"),
    customer_id=integer("Customer with the number.", 77, nullable=True),
    customer_label=text(
        "The customer's name; an empty string where there is none, or no right `customers:read`.", "Jan Kowal"
    ),
)


class QueueViewSet(ApiViewSet):
    """Queues of callers."""

    area = "connections"

    @operation(
        "list_queues",
        "List the queues",
        "All of them, ordered by name; those that take no calls any more are among them.",
        answer=array(QUEUE),
    )
    def list(self, request: Request) -> Response:
        return Response([QUEUE.data(queue) for queue in Queue.objects.all()])

    @operation("read_waiting_stats", "Read how many wait in a queue", answer=WAITING_STATS)
    def waiting_stats(self, request: Request, queue_id: str) -> Response:
        situation = queue_waits.situations([queue_or_404(queue_id).pk]).popitem()[1]
        return Response(WAITING_STATS.data(situation))

    @operation(
        "list_waiting_callers",
        "List the waiting callers of a queue",
        "In the order in which they entered it.",
        answer=array(CALLER),
    )
    def waiting_list(self, request: Request, queue_id: str) -> Response:
        sees_names = self.principal.has_right("customers:read")
        callers = queue_waits.callers(queue_or_404(queue_id))
        return Response([CALLER.data(caller, **({} if sees_names else {"customer_label": ""})) for caller in callers])


def queue_or_404(queue_id: str) -> Queue:
    return get_or_404(Queue.objects.all(), queue_id, ErrorCode.QUEUE_NOT_FOUND)


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
            raise Reject.of_entries(faults, values)
        return values


class FieldValueInput(Input):
    field_id = fields.IdField("Active field of the topic's queue.", required=True)
    value = fields.TextField("An empty string is no value.", required=True, allow_blank=True)


class FieldValueField(fields.TextMapField):
    """An object {field_id, value}."""

    nested = FieldValueInput


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
    connection_id = fields.TextField(
        "Id of the connection.", required=True, example="1416225570.341", errors=[ErrorCode.CONNECTION_NOT_FOUND]
    )
    topic_id = fields.IdField(
        "Active topic of a queue that the call is or was in; any, for a call of no queue.",
        required=True,
        example=5,
        errors=[ErrorCode.TOPIC_NOT_FOUND, ErrorCode.TOPIC_OF_OTHER_QUEUE],
    )
    comment = fields.TextField(
        "A comment.", required=False, max_length=LONGEST_TEXT, example="Wants a copy of the invoice."
    )
    custom_fields = FieldValuesField(
        "Values of fields. They replace those that were set before.",
        child=FieldValueField(),
        required=False,
        example=[{"field_id": 3, "value": "FV/2026/11/0815"}],
        errors=[
            ErrorCode.TOPIC_FIELD_NOT_FOUND,
            ErrorCode.TOPIC_FIELD_TWICE,
            ErrorCode.TOPIC_FIELD_REQUIRED,
            ErrorCode.NOT_NUMBER,
            ErrorCode.NOT_DATE,
            ErrorCode.NOT_BOOLEAN,
        ],
    )
    agent_login = fields.TextField(
        "Agent of the call, by default the agent of the connection.",
        required=False,
        max_length=100,
        example="agent1",
        errors=[ErrorCode.AGENT_NOT_FOUND],
    )


TOPIC = shape(
    "Topic",
    "A subject of calls.",
    id=integer("The topic's id.", 5, of="pk"),
    name=text("The topic's name.", "Invoice"),
    show_custom_fields=boolean("Whether the fields go with this topic; only then required ones are.", example=True),
)
TOPIC_GROUP = shape(
    "TopicGroup",
    "Topics that are shown together.",
    group_name=text("The group's name.", "Payments", of="name"),
    topics=array(TOPIC, "Its active topics; an empty group has none."),
)
TOPIC_FIELD = shape(
    "TopicField",
    "A field that agents fill in for a call.",
    id=integer("The field's id.", 3, of="pk"),
    name=text("The field's name.", "Invoice number"),
    type=text(
        "How its value is written; every value is a string. `NUMBER` with a dot, `DATE` `YYYY-MM-DD`, `BOOLEAN`"
        " `true` or `false`; `LONG_TEXT` has up to 10,000 characters, others 255.",
        "TEXT",
        enum=TopicField.Type.values,
    ),
    require=boolean("Whether it must have a value.", example=True, of="is_required"),
)
QUEUE_TOPICS = shape(
    "QueueTopics",
    "Topics and fields for calls of a queue.",
    topic_groups=array(TOPIC_GROUP, "Active groups, those without topics too."),
    custom_fields=array(TOPIC_FIELD, "Active fields of the queue."),
)
FIELD_VALUE = shape(
    "TopicFieldValue",
    "The value of a field.",
    field_id=integer("The field.", 3),
    value=text("Its value.", "FV/2026/11/0815"),
)
CONNECTION_TOPIC = shape(
    "ConnectionTopic",
    "The topic of a call, with comment and values of fields.",
    topic_id=integer("The topic.", 5),
    agent_login=text("Agent of the call; an empty string for none.", "agent1"),
    comment=text("The agent's comment.", "Wants a copy of the invoice."),
    custom_fields=array(FIELD_VALUE, "Fields that have a value."),
)


class TopicViewSet(ApiViewSet):
    """Topics of queues and calls."""

    area = "connections"

    @operation(
        "list_queue_topics",
        "List the topics of a queue",
        "Active groups and in them active topics, in the order of the back office.",
        is_extension=False,
        answer=QUEUE_TOPICS,
    )
    def of_queue(self, request: Request, queue_id: str) -> Response:
        return Response(topics_data(queue_or_404(queue_id)))

    @operation(
        "read_connection_topic",
        "Read the topic of a connection",
        is_extension=False,
        answer=CONNECTION_TOPIC,
        missing=[ErrorCode.TOPIC_NOT_SET],
    )
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

    @operation(
        "set_connection_topic",
        "Set the topic of a connection",
        "Replaces the one that was set before, with its comment and values.",
        body=ConnectionTopicInput,
    )
    def set_topic(self, request: Request) -> Response:
        values, faults = self.read(ConnectionTopicInput)
        set_topic(self.actor, values, faults)
        return Response(status=204)


def topics_data(queue: Queue) -> dict[str, Any]:
    topics = defaultdict(list)
    for topic in Topic.objects.active().filter(group__queue=queue):
        topics[topic.group_id].append(TOPIC.data(topic))
    return {
        "topic_groups": [
            TOPIC_GROUP.data(group, topics=topics[group.pk])
            for group in TopicGroup.objects.filter(queue=queue, is_active=True)
        ],
        "custom_fields": [TOPIC_FIELD.data(field) for field in TopicField.objects.active().filter(queue=queue)],
    }


SHORTCUT = shape(
    "TransferShortcut",
    "A frequent target of transfers: a queue or a number.",
    transfer_shortcut_id=integer("The shortcut's id.", 1, of="pk"),
    queue=text(
        "Name of the queue; an empty string where the shortcut leads to a number.",
        "Hotline",
        of=lambda shortcut: shortcut.queue.name if shortcut.queue else "",
    ),
    number=text("The number; an empty string where the shortcut leads to a queue."),
    icon=text(
        "A PNG in Base64, at most 256 × 256; an empty string where there is none.", "iVBORw0KGgo=", of="icon_base64"
    ),
    name=text("The shortcut's name.", "Back to the hotline"),
)


class ShortcutViewSet(ApiViewSet):
    """Frequent targets of transfers."""

    area = "system"

    @operation(
        "list_transfer_shortcuts",
        "List the transfer shortcuts",
        "All of them, in the order of the back office.",
        is_extension=False,
        answer=array(SHORTCUT),
    )
    def list(self, request: Request) -> Response:
        return Response([SHORTCUT.data(shortcut) for shortcut in TransferShortcut.objects.select_related("queue")])
