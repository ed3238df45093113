"""The feed of events over the API."""

import threading
from typing import Any

import pytest
from django.db import connection, transaction

from tests.conftest import ACTOR
from tests.webhooks.factories import EventFactory, WebhookFactory
from webhooks import outbox
from webhooks.event_types import EventType
from webhooks.models import Event
from webhooks.verbs.webhooks import send_test

pytestmark = [pytest.mark.django_db]


def ids(response: Any) -> list[int]:
    assert response.status_code == 200, response.content
    return [event["id"] for event in response.json()["result"]]


@pytest.mark.parametrize(
    ("query", "after", "shown", "count"),
    [
        ({}, None, [0, 1, 2, 3, 4, 5, 6], 7),
        # After an id, with the number of all after it.
        ({}, 4, [5, 6], 2),
        ({}, 6, [], 0),
        ({"limit": 3}, None, [0, 1, 2], 7),
        ({"limit": 3}, 2, [3, 4, 5], 4),
        ({"limit": 3}, 5, [6], 1),
        # An offset pages as everywhere else.
        *(({"limit": 3, "offset": offset}, None, [*range(7)][offset:][:3], 7) for offset in (0, 3, 6, 7, 50)),
    ],
)
def test_the_feed_is_oldest_first_in_pages_and_goes_on_after_an_id(query, after, shown, count, api):
    events = EventFactory.create_batch(7)

    response = api.get("/api/events", query if after is None else query | {"after": events[after].pk})

    assert ids(response) == [events[place].pk for place in shown]
    assert response.json()["count"] == count


def test_an_event_of_the_feed_equals_the_message_to_a_receiver(api):
    event = EventFactory(payload={"ticket_id": "5012", "customer_id": None})

    (answered,) = api.get("/api/events").json()["result"]

    assert answered == {
        "id": event.pk,
        "event_id": str(event.event_id),
        "action": "TICKET_CREATED",
        "date": event.message["date"],
        "payload": event.message,
    }
    assert answered["payload"]["customer_id"] is None


def test_the_feed_is_narrowed_to_actions(api):
    EventFactory(action="AGENT_FREE")
    paused, created = EventFactory(action="AGENT_PAUSED"), EventFactory(action="TICKET_CREATED")

    response = api.get("/api/events?actions[]=AGENT_PAUSED&actions[]=TICKET_CREATED")

    assert ids(response) == [paused.pk, created.pk]
    assert response.json()["count"] == 2


def test_the_count_of_events_stops_at_a_limit(api, monkeypatch):
    monkeypatch.setattr("webhooks.api.views.MOST_COUNTED", 5)
    EventFactory.create_batch(8)

    counts = [
        api.get("/api/events", {"limit": 2, "offset": offset}).json()["count"] for offset in (0, 2, 4, 5, 6, 8, 50)
    ]

    assert counts == [5, 5, 6, 7, 8, 5, 5]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=x", "after"),
        ("after=1.5", "after"),
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("offset=-1", "offset"),
        ("actions[]=NO", "actions"),
        ("actions[]=TEST", "actions"),
    ],
)
def test_a_parameter_that_cannot_be_read_is_named(query, field, api):
    response = api.get(f"/api/events?{query}")

    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]


@pytest.mark.parametrize("after", ["0", "-5", "9" * 18, "9" * 30])
def test_an_id_beyond_all_events_is_no_fault(after, api):
    EventFactory()

    assert len(ids(api.get("/api/events", {"after": after}))) == (1 if after in ("0", "-5") else 0)


def test_test_events_are_not_in_the_feed(api, enqueued):
    send_test(WebhookFactory(), ACTOR)

    assert ids(api.get("/api/events")) == []


def test_the_feed_over_the_api_waits_for_an_event_that_is_not_committed(credential, servers):
    """One transaction holds a lower id back while a higher one commits: nobody's `after` may pass it."""
    recorded, go_on = threading.Event(), threading.Event()

    def hold_back():
        try:
            with transaction.atomic():
                outbox.record(EventType.AGENT_FREE, "agent:1", {"agent_login": "held back"})
                recorded.set()
                go_on.wait(60)
        finally:
            connection.close()

    thread = threading.Thread(target=hold_back)
    thread.start()
    assert recorded.wait(60)
    with transaction.atomic():
        outbox.record(EventType.AGENT_FREE, "agent:2", {"agent_login": "later"})

    def read(after=0):
        return list(servers[0].request("GET", f"/api/events?after={after}", auth=credential).json()["result"])

    try:
        early = read()
    finally:
        go_on.set()
        thread.join(60)

    assert early == []
    assert [event["payload"]["agent_login"] for event in read()] == ["held back", "later"]
    assert Event.objects.count() == 2
