"""Mails to customers who have not written: each opens a ticket whose first message is the agent's."""

import pytest

from callcentre.core.errors import Invalid
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomerFactory, TicketQueueFactory
from tickets.models import Customer, Dispatch, Message, Ticket, TicketChange
from tickets.verbs.messages import receive_message
from tickets.verbs.outgoing import write_to_customer
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def write(customer: Customer, agent_login: str = "anna") -> Message:
    address, body = "jan@client.example", "Your contract ends."
    return write_to_customer(customer, ACTOR, recipient=address, agent_login=agent_login, subject="Contract", body=body)


def test_a_mail_to_a_customer_is_the_only_message_that_its_ticket_ever_had() -> None:
    TicketQueueFactory()
    agent, customer = AgentFactory(login="anna"), CustomerFactory(email="jan@client.example")
    earlier = write(customer)

    message = write(customer)

    # A message that was stored and deleted would have taken a number.
    assert message.pk == earlier.pk + 1
    ticket = Ticket.objects.get(pk=message.ticket_id)
    assert list(ticket.messages.all()) == [message]
    assert (message.type, message.body, message.agent) == ("REPLY", "Your contract ends.", agent)
    assert (ticket.subject, ticket.sender, ticket.customer) == ("Contract", "jan@client.example", customer)
    assert ticket.agent == agent
    assert Dispatch.objects.get(message=message).recipients == ["jan@client.example"]
    assert TicketChange.objects.filter(ticket=ticket, action="create").count() == 1
    actions = list(Event.objects.filter(subject=f"ticket:{ticket.pk}").order_by("id").values_list("action", flat=True))
    assert actions[0] == "TICKET_CREATED"

    receive_message(ticket, ACTOR, body="Yes, please.", from_address="jan@client.example")
    assert [each.type for each in ticket.messages.order_by("id")] == ["REPLY", "MAIL"]


def test_a_refused_mail_opens_no_ticket() -> None:
    TicketQueueFactory()

    with pytest.raises(Invalid):
        write(CustomerFactory(email="jan@client.example"), agent_login="nobody")

    assert not Ticket.objects.exists()
