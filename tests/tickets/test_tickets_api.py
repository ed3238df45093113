"""GET /tickets: each field of a ticket and its messages, set and unset."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    CustomerFactory,
    CustomFieldFactory,
    MessageFactory,
    StoredFileFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tickets.models import TicketCategory, TicketStatus, TicketSubstatus

pytestmark = pytest.mark.django_db

# Summer, two hours ahead of UTC.
BORN = datetime(2026, 7, 1, 8, 0, 30, tzinfo=UTC)


def listed(api: ApiClient, query: str = "") -> dict[str, Any]:
    answer = api.get(f"/api/tickets?{query}").json()
    assert answer["count"] == 1
    ticket: dict[str, Any] = answer["result"][0]
    return ticket


def test_ticket_with_nothing_set(api):
    ticket = TicketFactory(subject="S", sender="", created_at=BORN, updated_at=BORN)

    assert listed(api) == {
        "ticket_id": str(ticket.pk),
        "user_login": "",
        "from": "",
        "ticket_queue_name": ticket.queue.name,
        "ticket_queue_id": ticket.queue_id,
        "subject": "S",
        "category_id": None,
        "source": "email",
        "status_id": str(ticket.status_id),
        "substatus_id": "",
        "tags": [],
        "customer_id": None,
        "full_status_name": "New",
        "created_at": "2026-07-01 10:00",
        "updated_at": "2026-07-01 10:00",
        "closed_at": "",
        "close_time": "",
        "first_agent_responded_at": "",
        "first_agent_response_time": "",
        "messages": [],
        "connected_ticket_ids": [],
    }
    assert listed(api, "include_custom_fields=true")["custom_fields"] == {}


def test_ticket_with_everything_set(api):
    status = TicketStatus.objects.get(kind="closed")
    substatus = TicketSubstatus.objects.create(status=status, name="Solved")
    ticket = TicketFactory(
        subject="Zażółć „gęślą” <b>",
        source="www",
        sender="jan@client.example",
        queue=TicketQueueFactory(name="Service"),
        category=TicketCategory.objects.create(name="Parcels"),
        status=status,
        substatus=substatus,
        agent=AgentFactory(login="anna"),
        customer=CustomerFactory(),
        tags=["b", "a"],
        connected_ids=[2**40, 7],
        created_at=BORN,
        updated_at=BORN + timedelta(hours=200),
        closed_at=BORN + timedelta(hours=100, minutes=2, seconds=3, milliseconds=900),
        first_agent_responded_at=BORN + timedelta(minutes=2, seconds=59),
    )

    assert listed(api) == {
        "ticket_id": str(ticket.pk),
        "user_login": "anna",
        "from": "jan@client.example",
        "ticket_queue_name": "Service",
        "ticket_queue_id": ticket.queue_id,
        "subject": "Zażółć „gęślą” <b>",
        "category_id": ticket.category_id,
        "source": "www",
        "status_id": str(status.pk),
        "substatus_id": str(substatus.pk),
        "tags": ["b", "a"],
        "customer_id": ticket.customer_id,
        "full_status_name": "Closed - Solved",
        "created_at": "2026-07-01 10:00",
        "updated_at": "2026-07-09 18:00",
        "closed_at": "2026-07-05 14:02",
        "close_time": "100:02:03",
        "first_agent_responded_at": "2026-07-01 10:03",
        "first_agent_response_time": "00:02:59",
        "messages": [],
        "connected_ticket_ids": [2**40, 7],
    }


@pytest.mark.parametrize(
    ("passed", "close_time", "response_time"),
    [
        (timedelta(0), "000:00:00", "00:00:00"),
        (timedelta(seconds=59, milliseconds=400), "000:00:59", "00:00:59"),
        (timedelta(hours=9, minutes=8, seconds=7), "009:08:07", "09:08:07"),
        (timedelta(hours=99, minutes=59, seconds=59), "099:59:59", "99:59:59"),
        (timedelta(hours=100), "100:00:00", "100:00:00"),
        (timedelta(hours=1234, minutes=5, seconds=6), "1234:05:06", "1234:05:06"),
        # A reply dated in the minute of the creation. A given date has no seconds.
        (timedelta(seconds=-30), "000:00:00", "00:00:00"),
    ],
)
def test_durations_count_from_the_creation_and_may_have_more_digits(passed, close_time, response_time, api):
    TicketFactory(created_at=BORN, closed_at=BORN + passed, first_agent_responded_at=BORN + passed)

    ticket = listed(api)

    assert (ticket["close_time"], ticket["first_agent_response_time"]) == (close_time, response_time)


def test_durations_across_a_change_of_clocks(api):
    before = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # 02:30 in summer time, half an hour before 02:00 in winter time
    TicketFactory(created_at=before, closed_at=before + timedelta(hours=1))

    ticket = listed(api)

    assert (ticket["created_at"], ticket["closed_at"]) == ("2026-10-25 02:30", "2026-10-25 02:30")
    assert ticket["close_time"] == "001:00:00"


def test_messages_of_each_type_oldest_first(api):
    ticket = TicketFactory(created_at=BORN)
    anna = AgentFactory(login="anna")
    reply = MessageFactory(ticket=ticket, reply=True, agent=anna, created_at=BORN + timedelta(hours=2), ratings=[5])
    reply.attachments = [StoredFileFactory(message=reply, token=token).token for token in ("t2", "t1")]
    reply.system_comment = "Changed status from [New] to [Waiting for customer]"
    reply.save()
    comment = MessageFactory(ticket=ticket, comment_of_agent=True, agent=anna, created_at=BORN + timedelta(hours=3))
    mail = MessageFactory(ticket=ticket, body="new", quoted="\n> old", created_at=BORN)

    unset = {"comment": "", "system_comment": "", "attachments": [], "ratings": []}
    assert listed(api)["messages"] == [
        unset
        | {"message_id": mail.pk, "user_login": "", "type": "MAIL", "created_at": "2026-07-01 10:00"}
        | {"body": "new\n> old"},
        unset
        | {"message_id": reply.pk, "user_login": "anna", "type": "REPLY", "created_at": "2026-07-01 12:00"}
        | {"body": reply.body, "system_comment": reply.system_comment, "attachments": ["t2", "t1"], "ratings": [5]},
        unset
        | {"message_id": comment.pk, "user_login": "anna", "type": "COMMENT", "created_at": "2026-07-01 13:00"}
        | {"body": "", "comment": "<p>I have asked the carrier.</p>"},
    ]
    whole = {"priority": "normal", "type_id": None, "team_id": None, "postponed_until": ""}
    assert api.get(f"/api/tickets/{ticket.pk}").json() == listed(api, "include_custom_fields=true") | whole


def test_messages_of_one_instant_are_ordered_by_id(api):
    tickets = TicketFactory.create_batch(3, queue=TicketQueueFactory())
    for _ in range(4):
        for ticket in tickets:
            MessageFactory(ticket=ticket, body=str(ticket.pk), created_at=BORN)

    for ticket in api.get("/api/tickets").json()["result"]:
        ids = [message["message_id"] for message in ticket["messages"]]
        assert ids == sorted(ids)
        assert [message["body"] for message in ticket["messages"]] == [ticket["ticket_id"]] * 4


def test_custom_fields_are_included_on_request(api):
    order = CustomFieldFactory(name="order_number", order=4)
    weight = CustomFieldFactory(name="weight", type="number", order=3)
    CustomFieldFactory(name="day", type="date", order=2)
    CustomFieldFactory(name="priority", type="choice", options=["high"], order=1)
    gone = CustomFieldFactory(name="gone", is_active=False)
    CustomFieldFactory(name="of a customer", owner="customer")
    values = {str(order.pk): "A-1", str(weight.pk): 2.5, str(gone.pk): "x"}
    ticket = TicketFactory(custom_fields=values)

    shown = listed(api, "include_custom_fields=true")["custom_fields"]

    assert shown == {"priority": None, "day": None, "weight": 2.5, "order_number": "A-1"}
    assert list(shown) == ["priority", "day", "weight", "order_number"]
    assert api.get(f"/api/tickets/{ticket.pk}").json()["custom_fields"] == shown
    for query in ("", "include_custom_fields=false", "include_custom_fields=0", "include_custom_fields="):
        assert "custom_fields" not in listed(api, query)
    for query in ("include_custom_fields=1", "include_custom_fields=TRUE"):
        assert listed(api, query)["custom_fields"] == shown


def test_list_statuses_categories_and_queues(api):
    new = TicketStatus.objects.get(kind="new")
    substatus = TicketSubstatus.objects.create(status=new, name="Read")
    category = TicketCategory.objects.create(name="Parcels")
    TicketCategory.objects.create(name="Gone", is_active=False)
    queue = TicketQueueFactory(name="Service")
    TicketQueueFactory(name="Old", is_active=False)

    statuses = api.get("/api/ticket_statuses").json()

    names = ["New", "Waiting for customer", "Postponed", "Merged", "In progress", "Closed"]
    assert [status["name"] for status in statuses] == names
    substatuses = [{"id": substatus.pk, "name": "Read"}]
    assert statuses[0] == {"id": new.pk, "name": "New", "kind": "new", "order": 10, "substatuses": substatuses}
    assert api.get("/api/ticket_categories").json() == [{"id": category.pk, "name": "Parcels"}]
    assert api.get("/api/ticket_queues").json() == [{"id": queue.pk, "name": "Service"}]
