from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from telephony.customers import Customer
from telephony.models import AgentSession, AgentState
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory, ConnectionFactory, PauseFactory, QueueFactory
from tickets import customer_lookups

pytestmark = pytest.mark.django_db

START = datetime(2026, 7, 1, 8, 0, 5, tzinfo=UTC)  # 10:00:05 in Warsaw


def logged_in(kind: str = "free") -> object:
    agent, now = AgentFactory(), timezone.now().replace(microsecond=0)
    pause = PauseFactory() if kind == "paused" else None
    AgentSession.objects.create(agent=agent, started_at=now)
    AgentState.objects.create(agent=agent, kind=kind, pause=pause, started_at=now)
    return agent


def stats(api: ApiClient, queue: object) -> dict[str, int | None]:
    return api.get(f"/api/queues/{queue.pk}/waiting_stats").json()  # type: ignore[attr-defined, no-any-return]


def test_queues_come_by_name_and_those_closed_down_are_among_them(api):
    support, hotline = QueueFactory(name="Support", is_active=False), QueueFactory(name="Hotline")

    assert api.get("/api/queues").json() == [
        {"id": hotline.pk, "name": "Hotline"},
        {"id": support.pk, "name": "Support"},
    ]


@pytest.mark.parametrize(("kinds", "estimate"), [(["logged out"], None), (["paused"], None), (["free", "free"], 0)])
def test_there_is_an_estimate_with_agents_at_work(kinds, estimate, api):
    QueueFactory(members=[logged_in()])
    queue = QueueFactory(members=[AgentFactory() if kind == "logged out" else logged_in(kind) for kind in kinds])
    ConnectionFactory(waiting=True, queue=queue)

    assert stats(api, queue) == {"waiting": 1, "estimated_waiting_time": estimate}


def test_the_estimate_is_the_length_of_the_last_calls_by_the_agents_at_work(api):
    # Two agents talk, three callers wait: the fourth is served after four calls of 60 s talk and 20 s wrap-up each.
    queue = QueueFactory(members=[logged_in("talking"), logged_in("talking")], wrap_up_seconds=20)
    ConnectionFactory.create_batch(3, inbound=True, queue=queue)
    ConnectionFactory(inbound=True, unanswered=True, queue=queue)
    ConnectionFactory.create_batch(3, waiting=True, queue=queue)
    ConnectionFactory(waiting=True)

    assert stats(api, queue) == {"waiting": 3, "estimated_waiting_time": 160}


def test_callers_are_listed_in_the_order_in_which_they_came(api):
    queue = QueueFactory()
    for minutes, src in ((5, "+48225550102"), (0, "+48225550101")):
        ConnectionFactory(waiting=True, queue=queue, src=src, created_at=START + timedelta(minutes=minutes))
    ConnectionFactory(inbound=True, queue=queue)
    ConnectionFactory(waiting=True)

    assert api.get(f"/api/queues/{queue.pk}/waiting_list").json() == [
        {"phone_number": src, "started_at": at, "customer_id": None, "customer_label": ""}
        for src, at in (("+48225550101", "2026-07-01 10:00:05"), ("+48225550102", "2026-07-01 10:05:05"))
    ]


def test_a_caller_is_named_by_the_registered_function_with_the_right_to_read_customers(api, api_client, monkeypatch):
    monkeypatch.setattr(
        customer_lookups, "customers_of", lambda numbers: {number: Customer(77, "Jan Kowal") for number in numbers}
    )
    queue = QueueFactory()
    ConnectionFactory(waiting=True, queue=queue, customer_id=77)

    shown = api.get(f"/api/queues/{queue.pk}/waiting_list").json()[0]

    assert (shown["customer_id"], shown["customer_label"]) == (77, "Jan Kowal")
    nameless = api_client("connections:read").get(f"/api/queues/{queue.pk}/waiting_list").json()[0]
    assert nameless == {**shown, "customer_label": ""}
