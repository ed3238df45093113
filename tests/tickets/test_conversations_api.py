from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomFieldFactory, TicketFactory, TicketQueueFactory
from tickets.models import Dispatch, Message, Ticket, TicketStatus
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def codes(response: Any) -> list[tuple[int, str | None]]:
    return [(error["code"], error.get("field")) for error in response.json()["errors"]]


def test_reply_is_queued_and_the_ticket_waits_for_the_customer(api: ApiClient) -> None:
    agent, ticket = AgentFactory(), TicketFactory()

    response = api.post(f"/api/tickets/{ticket.pk}/agent_response", {"body": "<p>Hi</p>", "user_login": agent.login})

    assert (response.status_code, response.json()) == (201, [])
    ticket.refresh_from_db()
    message = ticket.messages.get()
    assert (message.type, message.body) == ("REPLY", "<p>Hi</p>")
    assert message.system_comment == "Changed status from [New] to [Waiting for customer]"
    assert ticket.status.kind == "waiting_for_customer"
    assert ticket.first_agent_responded_at == message.created_at
    assert Dispatch.objects.get().recipients == ["jan@client.example"]
    assert set(Event.objects.values_list("action", flat=True)) == {"TICKET_AGENT_RESPONDED", "TICKET_UPDATED"}


def test_marketplace_accepts_plain_text_only(api: ApiClient) -> None:
    ticket = TicketFactory(source="marketplace_dispute")

    response = api.post(f"/api/tickets/{ticket.pk}/agent_response", {"body": "x", "user_login": AgentFactory().login})

    assert (response.status_code, codes(response)) == (400, [(900029, "body_type")])
    assert not Message.objects.exists()


def test_all_faults_of_a_reply_are_reported_together(api: ApiClient) -> None:
    ticket = TicketFactory(source="phone")
    later = (timezone.localtime() + timedelta(days=1)).strftime("%Y-%m-%d %H:%M")

    response = api.post(
        f"/api/tickets/{ticket.pk}/agent_response",
        {"body": "<script>x</script>", "user_login": "nobody", "date": later, "attachments": ["t"]},
    )

    assert codes(response) == [
        (110001, "user_login"),
        (150002, "date"),
        (100001, "body"),
        (150001, None),
        (152001, "attachments.0"),
    ]


def test_message_of_the_customer_reopens_a_closed_ticket(api: ApiClient) -> None:
    closed = TicketStatus.objects.get(kind="closed")
    ticket = TicketFactory(status=closed, closed_at=timezone.now())

    response = api.post(
        f"/api/tickets/{ticket.pk}/customer_response", {"body": "a < b", "body_type": "PLAIN", "from_name": "Jan"}
    )

    assert response.status_code == 204
    ticket.refresh_from_db()
    message = ticket.messages.get()
    assert (ticket.status.kind, ticket.closed_at) == ("new", None)
    assert (message.type, message.body, message.author_name) == ("MAIL", "a < b", "Jan")


def test_open_and_read_a_ticket(api: ApiClient) -> None:
    queue = TicketQueueFactory()
    CustomFieldFactory(name="order_number")
    CustomFieldFactory(name="priority", type="choice", options=["high", "low"])

    answer = api.post(
        "/api/tickets",
        {"subject": "S", "body": "B", "from": "jan@client.example", "custom_fields": {"priority": "high"}},
    )
    ticket_id = answer.json()["ticket_id"]
    listed = api.get(
        "/api/tickets?include_custom_fields=1&custom_fields[priority][0]=high&custom_fields[priority][1]=x"
    )

    assert answer.status_code == 201
    assert listed.json()["count"] == 1
    ticket = listed.json()["result"][0]
    assert ticket["custom_fields"] == {"order_number": None, "priority": "high"}
    assert {
        name: ticket[name] for name in ("ticket_id", "from", "ticket_queue_id", "full_status_name", "close_time")
    } == {
        "ticket_id": ticket_id,
        "from": "jan@client.example",
        "ticket_queue_id": queue.pk,
        "full_status_name": "New",
        "close_time": "",
    }
    assert api.get(f"/api/tickets/{ticket_id}").json() == ticket
    assert Ticket.objects.get().messages.get().body_type == "PLAIN"


def test_change_of_status_adds_a_system_comment(api: ApiClient) -> None:
    agent = AgentFactory()
    ticket = TicketFactory(agent=agent)
    closed = TicketStatus.objects.get(kind="closed")

    response = api.put(f"/api/tickets/{ticket.pk}", {"status_id": str(closed.pk), "tags": ["a"]})

    assert response.status_code == 204
    ticket.refresh_from_db()
    assert (ticket.closed_by, ticket.tags) == (agent, ["a"])
    assert ticket.messages.get().system_comment == "Changed status from [New] to [Closed]"
