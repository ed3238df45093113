"""Topics: which a queue offers, which a connection has, and what setting one refuses."""

from typing import Any

import pytest

from callcentre.core.errors import ErrorCode
from telephony.models import Connection, ConnectionTopic, Topic
from tests.conftest import ApiClient
from tests.telephony.factories import (
    AgentFactory,
    ConnectionFactory,
    ConnectionTopicFactory,
    QueueFactory,
    TopicFactory,
    TopicFieldFactory,
    TopicGroupFactory,
    TransferFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def queue():
    return QueueFactory()


def faults(response: Any) -> set[tuple[int, str]]:
    assert response.status_code == 400, response.content
    return {(error["code"], error.get("field", "")) for error in response.json()["errors"]}


def set_topic(api: ApiClient, call: Connection, topic: Topic, **more: Any) -> Any:
    return api.post("/api/connections/topic", {"connection_id": call.uid, "topic_id": topic.pk, **more})


def test_active_groups_are_listed_with_active_topics(api, queue):
    payments = TopicGroupFactory(queue=queue, name="Payments", order=1)
    TopicGroupFactory(queue=queue, name="Empty", order=2)
    TopicFactory(group__queue=queue, group__is_active=False)
    TopicFactory()
    TopicFactory(group=payments, is_active=False)
    invoice = TopicFactory(group=payments, name="Invoice", order=2, show_custom_fields=True)
    refund = TopicFactory(group=payments, name="Refund", order=1)
    number = TopicFieldFactory(queue=queue, name="Invoice number", is_required=True)
    TopicFieldFactory(queue=queue, is_active=False)
    TopicFieldFactory()

    assert api.get(f"/api/queues/{queue.pk}/topics").json() == {
        "topic_groups": [
            {
                "group_name": "Payments",
                "topics": [
                    {"id": refund.pk, "name": "Refund", "show_custom_fields": False},
                    {"id": invoice.pk, "name": "Invoice", "show_custom_fields": True},
                ],
            },
            {"group_name": "Empty", "topics": []},
        ],
        "custom_fields": [{"id": number.pk, "name": "Invoice number", "type": "TEXT", "require": True}],
    }


def test_the_topic_of_a_connection_is_read_with_its_values(api):
    call = ConnectionFactory(agent=AgentFactory(login="anna"))
    set_topic = ConnectionTopicFactory(connection=call, comment="Call back", fields=[{"field_id": 3, "value": "FV/1"}])

    assert api.get(f"/api/connections/{call.uid}/topic").json() == {
        "topic_id": set_topic.topic_id,
        "agent_login": "anna",
        "comment": "Call back",
        "custom_fields": [{"field_id": 3, "value": "FV/1"}],
    }


def test_a_connection_without_a_topic_is_404_with_a_code_of_its_own(api):
    response = api.get(f"/api/connections/{ConnectionFactory().uid}/topic")

    assert response.status_code == 404
    assert [error["code"] for error in response.json()["errors"]] == [ErrorCode.TOPIC_NOT_SET.number]


def test_a_topic_is_set_with_its_values(api, queue):
    call = ConnectionFactory(inbound=True, queue=queue)
    topic = TopicFactory(group__queue=queue, show_custom_fields=True)
    fields = {
        kind: TopicFieldFactory(queue=queue, type=kind, order=position)
        for position, kind in enumerate(["TEXT", "LONG_TEXT", "NUMBER", "DATE", "BOOLEAN"])
    }
    AgentFactory(login="anna")
    sent = {"TEXT": " FV/1 ", "LONG_TEXT": "a\nb" * 3000, "NUMBER": -12.5, "DATE": "2026-11-21", "BOOLEAN": True}

    response = api.post(
        "/api/connections/topic",
        {
            "connection_id": call.uid,
            "topic_id": str(topic.pk),
            "comment": "Call back",
            "custom_fields": [{"field_id": fields[kind].pk, "value": value} for kind, value in sent.items()],
            "agent_login": "anna",
        },
    )

    assert (response.status_code, response.content) == (204, b"")
    stored = sent | {"TEXT": "FV/1", "NUMBER": "-12.5", "BOOLEAN": "true"}
    assert api.get(f"/api/connections/{call.uid}/topic").json() == {
        "topic_id": topic.pk,
        "agent_login": "anna",
        "comment": "Call back",
        "custom_fields": [{"field_id": fields[kind].pk, "value": value} for kind, value in stored.items()],
    }


def test_setting_a_topic_again_replaces_it_whole(api):
    call = ConnectionFactory(agent=AgentFactory(login="anna"))
    ConnectionTopicFactory(connection=call, comment="old", fields=[{"field_id": 3, "value": "old"}])
    topic = TopicFactory()

    set_topic(api, call, topic)

    assert api.get(f"/api/connections/{call.uid}/topic").json() == {
        "topic_id": topic.pk,
        "agent_login": "anna",
        "comment": "",
        "custom_fields": [],
    }


def test_all_faults_are_reported_and_no_topic_is_set(api, queue):
    call = ConnectionFactory(inbound=True, queue=queue)
    topic = TopicFactory(group__queue=queue, show_custom_fields=True)
    TopicFieldFactory(queue=queue, is_required=True, name="Reason")
    number, day, text = (TopicFieldFactory(queue=queue, type=kind) for kind in ("NUMBER", "DATE", "TEXT"))

    response = api.post(
        "/api/connections/topic",
        {
            "connection_id": call.uid,
            "topic_id": topic.pk,
            "comment": "x" * 10_001,
            "custom_fields": [
                {"field_id": number.pk, "value": "12,5"},
                {"field_id": day.pk, "value": "21.11.2026"},
                {"field_id": text.pk, "value": "x" * 256},
                {"field_id": text.pk, "value": "once more"},
                {"field_id": TopicFieldFactory().pk, "value": "of another queue"},
                {"value": "of none"},
                "FV/1",
            ],
            "agent_login": "nobody",
        },
    )

    assert faults(response) == {
        (ErrorCode.TOO_LONG.number, "comment"),
        (ErrorCode.NOT_NUMBER.number, "custom_fields.0.value"),
        (ErrorCode.NOT_DATE.number, "custom_fields.1.value"),
        (ErrorCode.TOO_LONG.number, "custom_fields.2.value"),
        (ErrorCode.TOPIC_FIELD_TWICE.number, "custom_fields.3.field_id"),
        (ErrorCode.TOPIC_FIELD_NOT_FOUND.number, "custom_fields.4.field_id"),
        (ErrorCode.EMPTY.number, "custom_fields.5.field_id"),
        (ErrorCode.NOT_OBJECT.number, "custom_fields.6"),
        (ErrorCode.TOPIC_FIELD_REQUIRED.number, "custom_fields"),
        (ErrorCode.AGENT_NOT_FOUND.number, "agent_login"),
    }
    assert not ConnectionTopic.objects.exists()


def test_an_empty_body_reports_the_required_fields(api):
    response = api.post("/api/connections/topic", {})

    assert faults(response) == {(ErrorCode.EMPTY.number, "connection_id"), (ErrorCode.EMPTY.number, "topic_id")}


@pytest.mark.parametrize("value", ["", "  ", None])
def test_a_required_field_with_an_empty_value_is_missing(api, queue, value):
    call = ConnectionFactory(inbound=True, queue=queue)
    topic = TopicFactory(group__queue=queue, show_custom_fields=True)
    field = TopicFieldFactory(queue=queue, is_required=True)

    response = set_topic(api, call, topic, custom_fields=[{"field_id": field.pk, "value": value}])

    assert faults(response) == {(ErrorCode.TOPIC_FIELD_REQUIRED.number, "custom_fields")}


def test_an_unreadable_value_of_a_required_field_is_wrong_and_not_missing(api, queue):
    call = ConnectionFactory(inbound=True, queue=queue)
    topic = TopicFactory(group__queue=queue, show_custom_fields=True)
    field = TopicFieldFactory(queue=queue, is_required=True)

    response = set_topic(api, call, topic, custom_fields=[{"field_id": field.pk, "value": {}}])

    assert faults(response) == {(ErrorCode.NOT_TEXT.number, "custom_fields.0.value")}


def test_a_topic_without_fields_requires_no_field(api, queue):
    call = ConnectionFactory(inbound=True, queue=queue)
    topic = TopicFactory(group__queue=queue, show_custom_fields=False)
    TopicFieldFactory(queue=queue, is_required=True)

    response = set_topic(api, call, topic)

    assert response.status_code == 204


@pytest.mark.parametrize("inactive", ["is_active", "group__is_active"])
def test_a_topic_that_is_not_offered_any_more_cannot_be_set(api, inactive):
    topic = TopicFactory(**{inactive: False})

    response = api.post("/api/connections/topic", {"connection_id": "1.1", "topic_id": topic.pk})

    assert faults(response) == {
        (ErrorCode.CONNECTION_NOT_FOUND.number, "connection_id"),
        (ErrorCode.TOPIC_NOT_FOUND.number, "topic_id"),
    }


def test_a_topic_of_a_queue_that_the_call_was_not_in_is_refused(api, queue):
    call = ConnectionFactory(inbound=True)

    response = set_topic(api, call, TopicFactory(group__queue=queue))

    assert faults(response) == {(ErrorCode.TOPIC_OF_OTHER_QUEUE.number, "topic_id")}


def test_a_transferred_call_may_have_a_topic_of_its_first_queue(api, queue):
    call = ConnectionFactory(inbound=True)
    TransferFactory(connection=call, from_queue=queue, queue=call.queue, number="")

    response = set_topic(api, call, TopicFactory(group__queue=queue))

    assert response.status_code == 204
