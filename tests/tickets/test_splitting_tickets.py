"""Split tickets: the customers of both tickets, and the recipients of replies."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomerFactory, MessageFactory, TicketFactory
from tickets.models import Ticket
from tickets.verbs.merges import merge_tickets, split_ticket
from tickets.verbs.messages import reply_to

pytestmark = pytest.mark.django_db

START = timezone.now().replace(microsecond=0) - timedelta(days=1)


def after(minutes: int) -> Any:
    return START + timedelta(minutes=minutes)


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


def test_split_undoes_a_wrong_merge() -> None:
    target, _source, bob = a_wrong_merge()

    other = split(target, author_address="bob@client.example")

    assert (other.sender, other.sender_name, other.customer) == ("bob@client.example", "Bob", bob)
    assert sent_to(other) == ["bob@client.example"]
    assert sent_to(target) == ["ann@client.example"]


def test_split_uses_the_customer_of_the_merged_ticket() -> None:
    chosen = CustomerFactory(email="office@client.example")
    target, _source, _bob = a_wrong_merge(customer=chosen, source="phone")

    other = split(target, author_address="bob@client.example")

    assert (other.sender, other.customer, other.source) == ("bob@client.example", chosen, "phone")


def test_ticket_with_only_messages_of_another_person_gets_their_customer() -> None:
    target, _source, bob = a_wrong_merge()

    other = split(target, author_address="ann@client.example")

    target.refresh_from_db()
    assert (other.sender, target.sender, target.sender_name, target.customer) == (
        "ann@client.example",
        "bob@client.example",
        "Bob",
        bob,
    )
    assert (sent_to(other), sent_to(target)) == (["ann@client.example"], ["bob@client.example"])


def test_message_without_an_address_keeps_its_sender_in_a_merge(api: ApiClient) -> None:
    target = TicketFactory(sender="ann@client.example")
    MessageFactory(ticket=target, author_address="ann@client.example")
    source = TicketFactory(sender="bob@client.example")
    api.post(f"/api/tickets/{source.pk}/customer_response", {"body": "Of Bob"})
    merge_tickets(source, target, ACTOR)

    other = split(target, body="Of Bob")

    assert sent_to(other) == ["bob@client.example"]


def test_split_messages_of_a_colleague_belong_to_the_colleague() -> None:
    ann = CustomerFactory(email="ann@client.example")
    ticket = TicketFactory(sender="ann@client.example", customer=ann)
    MessageFactory(ticket=ticket, author_address="ann@client.example")
    MessageFactory(ticket=ticket, author_address="carl@client.example", author_name="Carl")

    other = split(ticket, author_address="carl@client.example")

    assert (other.sender, other.sender_name, other.customer) == ("carl@client.example", "Carl", None)


@pytest.mark.parametrize("author", ["ANN@client.example", "ann.private@client.example", ""])
def test_split_of_the_customers_messages_keeps_sender_and_customer(author: str) -> None:
    ann = CustomerFactory(email="ann@client.example")
    CustomerFactory(email="ann.private@client.example", merged_into=ann)
    ticket = TicketFactory(sender="ann@client.example", customer=ann)
    MessageFactory(ticket=ticket, author_address="ann@client.example")
    MessageFactory(ticket=ticket, author_address=author, body="Else")

    other = split(ticket, body="Else")

    assert (other.sender, other.customer) == ("ann@client.example", ann)
