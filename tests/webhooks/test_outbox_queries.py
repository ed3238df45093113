"""Events that the database makes: of a query, of changes in the same statement, each with an id."""

import time
from datetime import UTC, datetime
from typing import Any
from uuid import RFC_4122

import pytest

from telephony.models import Agent
from tests.telephony.factories import AgentFactory
from tests.webhooks.factories import WebhookFactory
from webhooks import outbox
from webhooks.event_types import EventType
from webhooks.models import Event

pytestmark = pytest.mark.django_db
FREE = EventType.AGENT_FREE


def test_events_of_a_query_come_in_its_order_each_with_an_id_of_its_own(
    enqueued: list[Any], django_assert_num_queries: Any
) -> None:
    webhook = WebhookFactory(actions=[FREE])

    with django_assert_num_queries(1):
        outbox.record_from_query(
            FREE,
            "SELECT 'agent:' || n, jsonb_build_object('agent_login', %(letter)s || n) FROM generate_series(1, 500) n"
            " ORDER BY n",
            {"letter": "a"},
        )

    assert [*Event.objects.order_by("id").values_list("subject", flat=True)] == [f"agent:{n}" for n in range(1, 501)]
    assert Event.objects.values("event_id").distinct().count() == 500
    assert Event.objects.order_by("id").values_list("payload", flat=True)[0] == {"agent_login": "a1"}
    assert webhook.deliveries.waiting().count() == 500
    assert enqueued == [("webhooks.deliver", webhook.pk)]


def test_changes_and_the_events_of_their_rows_are_one_statement(django_assert_num_queries: Any) -> None:
    agents = AgentFactory.create_batch(3, email="")

    with django_assert_num_queries(1):
        outbox.record_from_query(
            FREE,
            "SELECT 'agent:' || id, jsonb_build_object('agent_login', login) FROM changed ORDER BY id",
            {"email": "a@example.com"},
            changes="changed AS (UPDATE telephony_agent SET email = %(email)s RETURNING id, login)",
        )

    assert [*Event.objects.order_by("id").values_list("subject", flat=True)] == [
        f"agent:{agent.pk}" for agent in agents
    ]
    assert [event.payload for event in Event.objects.order_by("id")] == [{"agent_login": a.login} for a in agents]
    assert set(Agent.objects.values_list("email", flat=True)) == {"a@example.com"}


def test_event_ids_are_uuids_of_version_7_in_the_order_of_time() -> None:
    outbox.record(FREE, "agent:1", {})
    time.sleep(0.002)
    outbox.record(FREE, "agent:2", {})

    first, second = Event.objects.order_by("id").values_list("event_id", flat=True)
    assert (first.version, first.variant, second.version) == (7, RFC_4122, 7)
    assert first < second
    assert abs(datetime.now(UTC).timestamp() - (second.int >> 80) / 1000) < 3600
