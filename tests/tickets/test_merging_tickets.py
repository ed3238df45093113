"""Merged and split tickets: their first responses, later messages of the customer, customers and recipients."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomerFactory, MessageFactory, TicketFactory
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


def test_merge_moves_the_first_response_and_automatic_messages_are_none():
    source, target = a_ticket(10, 20), a_ticket(15)
    silent = a_ticket()
    MessageFactory(ticket=silent, type="REPLY", is_automatic=True, created_at=after(1))
    MessageFactory(ticket=silent, comment_of_agent=True, created_at=after(2))

    merge_tickets(source, target, ACTOR)
    assert (first_response(source), first_response(target)) == (None, after(10))
    merge_tickets(silent, target, ACTOR)
    assert first_response(target) == after(10)


def test_first_responses_of_both_tickets_after_a_split():
    ticket = a_ticket(10, 30)
    second = MessageFactory(ticket=ticket, created_at=after(20))
    mail, first, later, _ = ticket.messages.order_by("id")

    other = split_ticket(ticket, ACTOR, [second.pk, later.pk], "Else")
    assert (first_response(ticket), first_response(other)) == (after(10), after(30))
    third = split_ticket(ticket, ACTOR, [first.pk], "Else again")
    assert (first_response(ticket), first_response(third)) == (None, after(10))
    assert list(ticket.messages.values_list("pk", flat=True)) == [mail.pk]


def test_next_reply_is_the_first_response_after_a_split():
    ticket = a_ticket(10)
    split_ticket(ticket, ACTOR, [ticket.messages.get(type="REPLY").pk], "Else")

    with time_machine.travel(after(60), tick=False):
        reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="Now")

    assert first_response(ticket) == after(60)


def test_other_verbs_keep_the_first_response(api):
    ticket, other = a_ticket(10), TicketFactory()

    edit_ticket(ticket, ACTOR, tags=["a"])
    connect_tickets(ticket, other, ACTOR)
    reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="x", at=after(5))

    assert first_response(ticket) == after(10)


def chain(length: int = 3) -> tuple[Ticket, Ticket]:
    """Return the first and the last of a chain of merged tickets. Merges keep chains short, but rows may hold any."""
    first, *others = TicketFactory.create_batch(length, created_at=START)
    previous = first
    for ticket in others:
        merged = TicketStatus.objects.get(kind="merged")
        Ticket.objects.filter(pk=previous.pk).update(merged_into=ticket, status=merged, closed_at=START)
        previous = ticket
    return first, previous


def test_message_to_a_merged_ticket_goes_to_the_target(api):
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


def test_message_to_a_merged_ticket_may_be_older_than_the_target(api):
    first, last = chain(2)
    Ticket.objects.filter(pk=last.pk).update(created_at=timezone.now())
    dates = [(START + timedelta(minutes=minutes)).astimezone(timezone.get_default_timezone()) for minutes in (5, -5)]

    answers = [
        api.post(f"/api/tickets/{first.pk}/customer_response", {"body": "x", "date": f"{date:%Y-%m-%d %H:%M}"})
        for date in dates
    ]

    assert [answer.status_code for answer in answers] == [204, 400]
    assert Message.objects.get().ticket == last


def test_refused_message_to_a_merged_ticket_stores_nothing(api):
    first, last = chain()

    response = api.post(f"/api/tickets/{first.pk}/customer_response", {"body": " ", "date": "x"})

    assert [error.get("field") for error in response.json()["errors"]] == ["date", "body"]
    assert (Message.objects.count(), Ticket.objects.get(pk=last.pk).updated_at) == (0, last.updated_at)


# Splits: the customers of both tickets, and the recipients of replies


def a_wrong_merge(**values: Any) -> tuple[Ticket, Ticket, Any]:
    """Merge Bob's ticket into Ann's by mistake; return Ann's ticket, Bob's ticket and Bob."""
    ann, bob = CustomerFactory(email="ann@client.example"), CustomerFactory(email="bob@client.example")
    target = TicketFactory(sender="ann@client.example", sender_name="Ann", customer=ann, created_at=START)
    MessageFactory(ticket=target, author_address="ann@client.example", created_at=START)
    source = TicketFactory(**{"sender": "bob@client.example", "sender_name": "Bob", "customer": bob, **values})
    MessageFactory(ticket=source, author_address=source.sender, author_name="Bob", created_at=after(5))
    merge_tickets(source, target, ACTOR)
    return target, source, bob


def sent_to(ticket: Ticket) -> list[str]:
    message = reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="Here it is.")
    return list(message.dispatch.recipients)


def split(ticket: Ticket, **which: Any) -> Ticket:
    moved = list(ticket.messages.filter(**which).values_list("pk", flat=True))
    return split_ticket(ticket, ACTOR, moved, "Of Bob")


def test_split_undoes_a_wrong_merge():
    target, _source, bob = a_wrong_merge()

    other = split(target, author_address="bob@client.example")

    assert (other.sender, other.sender_name, other.customer) == ("bob@client.example", "Bob", bob)
    assert sent_to(other) == ["bob@client.example"]
    assert sent_to(target) == ["ann@client.example"]


def test_split_uses_the_customer_of_the_merged_ticket():
    chosen = CustomerFactory(email="office@client.example")
    target, _source, _bob = a_wrong_merge(customer=chosen, source="phone")

    other = split(target, author_address="bob@client.example")

    assert (other.sender, other.customer, other.source) == ("bob@client.example", chosen, "phone")


def test_ticket_with_only_messages_of_another_person_gets_their_customer():
    target, _source, bob = a_wrong_merge()

    other = split(target, author_address="ann@client.example")

    target.refresh_from_db()
    assert other.sender == "ann@client.example"
    assert (target.sender, target.sender_name, target.customer) == ("bob@client.example", "Bob", bob)
    assert (sent_to(other), sent_to(target)) == (["ann@client.example"], ["bob@client.example"])


def test_message_without_an_address_keeps_its_sender_in_a_merge(api):
    target = TicketFactory(sender="ann@client.example")
    MessageFactory(ticket=target, author_address="ann@client.example")
    source = TicketFactory(sender="bob@client.example")
    api.post(f"/api/tickets/{source.pk}/customer_response", {"body": "Of Bob"})
    merge_tickets(source, target, ACTOR)

    other = split(target, body="Of Bob")

    assert sent_to(other) == ["bob@client.example"]


def test_split_messages_of_a_colleague_belong_to_the_colleague():
    ann = CustomerFactory(email="ann@client.example")
    ticket = TicketFactory(sender="ann@client.example", customer=ann)
    MessageFactory(ticket=ticket, author_address="ann@client.example")
    MessageFactory(ticket=ticket, author_address="carl@client.example", author_name="Carl")

    other = split(ticket, author_address="carl@client.example")

    assert (other.sender, other.sender_name, other.customer) == ("carl@client.example", "Carl", None)


@pytest.mark.parametrize("author", ["ANN@client.example", "ann.private@client.example", ""])
def test_split_of_the_customers_messages_keeps_sender_and_customer(author):
    ann = CustomerFactory(email="ann@client.example")
    CustomerFactory(email="ann.private@client.example", merged_into=ann)
    ticket = TicketFactory(sender="ann@client.example", customer=ann)
    MessageFactory(ticket=ticket, author_address="ann@client.example")
    MessageFactory(ticket=ticket, author_address=author, body="Else")

    other = split(ticket, body="Else")

    assert (other.sender, other.customer) == ("ann@client.example", ann)
