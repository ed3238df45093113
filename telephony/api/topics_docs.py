"""Documents of the API: topics."""

from callcentre.api.openapi import Operation, array, boolean, describe, document, integer, nest, path, shape, text
from callcentre.core.errors import ErrorCode
from telephony.api.topics import ConnectionTopicInput, FieldValueField, FieldValueInput, TopicViewSet
from telephony.models import TopicField

TOPIC = shape(
    "Topic",
    "A subject of calls.",
    id=integer("The topic's id.", 5),
    name=text("The topic's name.", "Invoice"),
    show_custom_fields=boolean("Whether the fields go with this topic; only then required ones are.", example=True),
)
TOPIC_GROUP = shape(
    "TopicGroup",
    "Topics that are shown together.",
    group_name=text("The group's name.", "Payments"),
    topics=array(TOPIC, "Its active topics; an empty group has none."),
)
TOPIC_FIELD = shape(
    "TopicField",
    "A field that agents fill in for a call.",
    id=integer("The field's id.", 3),
    name=text("The field's name.", "Invoice number"),
    type=text(
        "How its value is written; every value is a string. `NUMBER` with a dot, `DATE` `YYYY-MM-DD`, `BOOLEAN`"
        " `true` or `false`; `LONG_TEXT` has up to 10,000 characters, others 255.",
        "TEXT",
        enum=TopicField.Type.values,
    ),
    require=boolean("Whether it must have a value.", example=True),
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

nest(FieldValueField, FieldValueInput)
describe(FieldValueInput, field_id="Active field of the topic's queue.", value="An empty string is no value.")
describe(
    ConnectionTopicInput,
    connection_id={"description": "Id of the connection.", "example": "1416225570.341"},
    topic_id={"description": "Active topic of a queue that the call is or was in; any, for a call of no queue."},
    comment="A comment.",
    custom_fields={"description": "Values of fields. They replace those that were set before."},
    agent_login="Agent of the call, by default the agent of the connection.",
)

document(
    TopicViewSet,
    {
        "queue_id": path("id", "Id of the queue.", "3", ErrorCode.QUEUE_NOT_FOUND),
        "connection_id": path("id", "Id of the connection.", "1416225570.341", ErrorCode.CONNECTION_NOT_FOUND),
    },
    of_queue=Operation(
        id="list_queue_topics",
        summary="List the topics of a queue",
        description="Active groups and in them active topics, in the order of the back office.",
        answer=QUEUE_TOPICS,
    ),
    of_connection=Operation(
        id="read_connection_topic",
        summary="Read the topic of a connection",
        answer=CONNECTION_TOPIC,
        missing=(ErrorCode.TOPIC_NOT_SET,),
    ),
    set_topic=Operation(
        id="set_connection_topic",
        summary="Set the topic of a connection",
        description="Replaces the one that was set before, with its comment and values.",
        is_extension=True,
        body=ConnectionTopicInput,
        request_example={
            "connection_id": "1416225570.341",
            "topic_id": 5,
            "comment": "Wants a copy of the invoice.",
            "custom_fields": [{"field_id": 3, "value": "FV/2026/11/0815"}],
            "agent_login": "agent1",
        },
        errors={
            ErrorCode.CONNECTION_NOT_FOUND: "connection_id",
            ErrorCode.TOPIC_NOT_FOUND: "topic_id",
            ErrorCode.TOPIC_OF_OTHER_QUEUE: "topic_id",
            ErrorCode.AGENT_NOT_FOUND: "agent_login",
            ErrorCode.TOPIC_FIELD_NOT_FOUND: "custom_fields.0.field_id",
            ErrorCode.TOPIC_FIELD_TWICE: "custom_fields.1.field_id",
            ErrorCode.TOPIC_FIELD_REQUIRED: "custom_fields",
            ErrorCode.NOT_NUMBER: "custom_fields.0.value",
            ErrorCode.NOT_DATE: "custom_fields.0.value",
            ErrorCode.NOT_BOOLEAN: "custom_fields.0.value",
        },
    ),
)
