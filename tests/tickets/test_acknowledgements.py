"""Acknowledgements: only the first mail of a person gets one."""

import pytest
from django.utils import timezone

from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketQueueFactory
from tests.tickets.mail_servers import mail_server
from tests.tickets.mails import a_mail, taken
from tickets.mail.dispatcher import dispatch
from tickets.models import AcknowledgedAddress, Dispatch, Message, Ticket, TicketQueue
from tickets.verbs.automatic_mail import SPAN
from tickets.verbs.messages import reply_to

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queue(own_storage):
    return TicketQueueFactory(
        address="help@us.example",
        acknowledges=True,
        acknowledgement="<p>Dear {{ customer_name }}, we have your mail: ticket {{ ticket_id }}.</p>",
    )


def take(body: str = "Help!", **headers: str) -> None:
    taken(a_mail(body, **{"Message_ID": "<1@c>", **headers}))


def acknowledged() -> list[list[str]]:
    return list(Dispatch.objects.filter(message__is_automatic=True).values_list("recipients", flat=True))


def test_new_mail_is_acknowledged(settings):
    take()

    ticket = Ticket.objects.get()
    message = ticket.messages.get(type=Message.Type.REPLY)
    assert message.body == f"<p>Dear Jan, we have your mail: ticket {ticket.pk}.</p>"
    # It is no first response.
    assert (ticket.status.kind, ticket.first_agent_responded_at) == ("new", None)
    with mail_server(settings) as server:
        dispatch(message.dispatch.pk)
    (mail,) = server.mails
    assert (mail["Auto-Submitted"], mail["In-Reply-To"], mail["To"]) == ("auto-replied", "<1@c>", "jan@client.example")


def test_an_address_is_acknowledged_once_an_hour():
    for number in range(3):
        take(f"mail {number}", From="JAN@client.example" if number else "jan@client.example")
    assert (Ticket.objects.count(), len(acknowledged())) == (3, 1)

    AcknowledgedAddress.objects.update(acknowledged_at=timezone.now() - SPAN)
    take("mail 4")
    take(From="ewa@client.example")

    assert len(acknowledged()) == 3


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto-Submitted": "auto-generated"},
        {"Auto-Submitted": "auto-replied"},
        {"Precedence": "bulk"},
        {"Precedence": "list"},
        {"List-Id": "<news.example>"},
        {"List-Post": "<mailto:group@client.example>"},
        {"From": "noreply@client.example", "Reply-To": "jan@client.example"},
        {"Reply-To": "noreply@client.example"},
        {"Return-Path": "<>"},
        {"From": "MAILER-DAEMON@client.example"},
        {"From": "postmaster@client.example"},
        {"From": "noreply@client.example"},
        {"From": "Shop <no-reply@client.example>"},
        {"From": "orders-noreply+17@client.example"},
        {"From": "do_not_reply@client.example"},
        {"From": "nie-odpowiadaj@client.example"},
        {"From": "bounces+17@client.example"},
        {"From": "owner-list@client.example"},
        {"From": "nobody"},
    ],
)
def test_a_machine_is_not_acknowledged(headers):
    take(**headers)

    assert acknowledged() == []


@pytest.mark.parametrize("address", ["noreen@client.example", "jan.norman@client.example", "ann-o@client.example"])
def test_people_whose_names_look_alike_are_acknowledged(address):
    take(From=address)

    assert acknowledged() == [[address]]


def test_an_answer_to_a_ticket_is_not_acknowledged():
    take()
    ticket = Ticket.objects.get()
    reply = reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="<p>Try</p>")
    AcknowledgedAddress.objects.all().delete()

    take("Works", In_Reply_To=f"<{reply.dispatch.header_id}>")

    assert (Ticket.objects.count(), len(acknowledged())) == (1, 1)


def test_two_of_our_queues_do_not_answer_each_other():
    TicketQueueFactory(address="other@us.example", acknowledges=True, acknowledgement="Hello")

    take(From="other@us.example")

    assert acknowledged() == []


@pytest.mark.parametrize("values", [{"acknowledges": False}, {"acknowledgement": ""}, {"acknowledgement": "<p> </p>"}])
def test_a_queue_with_an_empty_acknowledgement_sends_none(values):
    TicketQueue.objects.update(**values)

    take()

    assert acknowledged() == []


def test_a_ticket_of_the_api_is_not_acknowledged(api):
    answer = api.post("/api/tickets", {"subject": "S", "body": "B", "from": "jan@client.example"})

    assert (answer.status_code, acknowledged()) == (201, [])
