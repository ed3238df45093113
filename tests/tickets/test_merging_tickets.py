"""Merged and split tickets: their first responses, and later messages of the customer."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import MessageFactory, TicketFactory
from tickets.models import Message, Ticket, TicketStatus
from tickets.verbs.merges import merge_tickets, split_ticket
from tickets.verbs.messages import reply_to
from tickets.verbs.tickets import connect_tickets, edit_ticket
from webhooks.models import Event

pytestmark = pytest.mark.django_db

START = timezone.now().replace(microsecond=0) - timedelta(days=1)


def after(minutes: int) -> Any:
    return START + timedelta(minutes=minutes)


def a_ticket(*replies: int, **values: Any) -> Ticket:
    """Return a ticket with a mail of the customer, and with replies at these minutes after it."""
    first = after(min(replies)) if replies else None
    ticket = TicketFactory(created_at=START, updated_at=START, first_agent_responded_at=first, **values)
    MessageFactory(ticket=ticket, created_at=START)
    for minutes in replies:
        MessageFactory(ticket=ticket, reply=True, created_at=after(minutes))
    return ticket


def first_response(ticket: Ticket) -> Any:
    return Ticket.objects.get(pk=ticket.pk).first_agent_responded_at


def test_merge_moves_the_first_response() -> None:
    source, target = a_ticket(10, 20), a_ticket(15)
    silent = a_ticket()

    merge_tickets(source, target, ACTOR)
    assert (first_response(source), first_response(target)) == (None, after(10))
    merge_tickets(silent, target, ACTOR)
    assert first_response(target) == after(10)


def test_automatic_messages_and_comments_are_no_first_response() -> None:
    source, target = a_ticket(), a_ticket()
    MessageFactory(ticket=source, type="REPLY", is_automatic=True, created_at=after(1))
    MessageFactory(ticket=source, comment_of_agent=True, created_at=after(2))

    merge_tickets(source, target, ACTOR)

    assert first_response(target) is None


def test_first_responses_of_both_tickets_after_a_split() -> None:
    ticket = a_ticket(10, 30)
    second = MessageFactory(ticket=ticket, created_at=after(20))
    mail, first, later, _ = ticket.messages.order_by("id")

    other = split_ticket(ticket, ACTOR, [second.pk, later.pk], "Else")
    assert (first_response(ticket), first_response(other)) == (after(10), after(30))
    third = split_ticket(ticket, ACTOR, [first.pk], "Else again")
    assert (first_response(ticket), first_response(third)) == (None, after(10))
    assert list(ticket.messages.values_list("pk", flat=True)) == [mail.pk]


def test_next_reply_is_the_first_response_after_a_split() -> None:
    ticket = a_ticket(10)
    split_ticket(ticket, ACTOR, [ticket.messages.get(type="REPLY").pk], "Else")

    with time_machine.travel(after(60), tick=False):
        reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="Now")

    assert first_response(ticket) == after(60)


def test_other_verbs_keep_the_first_response(api: ApiClient) -> None:
    ticket, other = a_ticket(10), TicketFactory()

    edit_ticket(ticket, ACTOR, tags=["a"])
    connect_tickets(ticket, other, ACTOR)
    reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="x", at=after(5))

    assert first_response(ticket) == after(10)


# Later messages of the customer


def chain(length: int = 3) -> tuple[Ticket, Ticket]:
    """Return the first and the last of a chain of merged tickets. Merges keep chains short, but rows may hold any."""
    first, *others = TicketFactory.create_batch(length, created_at=START)
    previous = first
    for ticket in others:
        merged = TicketStatus.objects.get(kind="merged")
        Ticket.objects.filter(pk=previous.pk).update(merged_into=ticket, status=merged, closed_at=START)
        previous = ticket
    return first, previous


def test_message_to_a_merged_ticket_goes_to_the_target(api: ApiClient) -> None:
    first, last = chain()
    closed = TicketStatus.objects.get(kind="closed")
    Ticket.objects.filter(pk=last.pk).update(status=closed, closed_at=START)

    response = api.post(f"/api/tickets/{first.pk}/customer_response", {"body": "And?", "body_type": "PLAIN"})

    assert response.status_code == 204
    message = Message.objects.get()
    last.refresh_from_db()
    assert (message.ticket, last.status.kind) == (last, "new")
    assert message.system_comment == "Changed status from [Closed] to [New]"
    assert {event.payload["ticket_id"] for event in Event.objects.all()} == {str(last.pk)}


def test_message_to_a_merged_ticket_may_be_older_than_the_target(api: ApiClient) -> None:
    first, last = chain(2)
    Ticket.objects.filter(pk=last.pk).update(created_at=timezone.now())
    dates = [(START + timedelta(minutes=minutes)).astimezone(timezone.get_default_timezone()) for minutes in (5, -5)]

    answers = [
        api.post(f"/api/tickets/{first.pk}/customer_response", {"body": "x", "date": f"{date:%Y-%m-%d %H:%M}"})
        for date in dates
    ]

    assert [answer.status_code for answer in answers] == [204, 400]
    assert Message.objects.get().ticket == last


def test_refused_message_to_a_merged_ticket_stores_nothing(api: ApiClient) -> None:
    first, last = chain()

    response = api.post(f"/api/tickets/{first.pk}/customer_response", {"body": " ", "date": "x"})

    assert [error.get("field") for error in response.json()["errors"]] == ["date", "body"]
    assert (Message.objects.count(), Ticket.objects.get(pk=last.pk).updated_at) == (0, last.updated_at)
