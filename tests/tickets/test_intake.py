import pytest

from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory, TicketQueueFactory
from tests.tickets.mails import a_mail, taken
from tickets.models import Dispatch, Ticket
from tickets.verbs.messages import reply_to

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def test_a_mail_becomes_a_ticket_of_the_queue_it_was_sent_to() -> None:
    TicketQueueFactory()
    queue = TicketQueueFactory(address="help@us.example")

    received = taken(a_mail())

    ticket = Ticket.objects.get()
    assert (received.outcome, received.message) == ("stored", ticket.messages.get())
    assert (ticket.queue, ticket.subject, ticket.sender, ticket.sender_name) == (
        queue,
        "Broken",
        "jan@client.example",
        "Jan",
    )


def test_the_same_mail_twice_is_one_message() -> None:
    TicketQueueFactory()

    first, second = taken(a_mail()), taken(a_mail())

    assert first == second
    assert Ticket.objects.count() == 1


def answered(**ticket: object) -> tuple[Ticket, Dispatch]:
    ticket = TicketFactory(**ticket)
    message = reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="<p>Try again</p>")
    return ticket, Dispatch.objects.get(message=message)


def test_an_answer_to_our_mail_joins_its_ticket() -> None:
    ticket, dispatch = answered()

    taken(
        a_mail(
            "Works now.\n\nOn Mon, 1 Jan 2026 at 10:00 Us wrote:\n> Try again\n", In_Reply_To=f"<{dispatch.header_id}>"
        )
    )

    message = ticket.messages.last()
    assert message is not None
    assert (message.type, message.body.strip(), message.quoted.startswith("On Mon")) == ("MAIL", "Works now.", True)
    ticket.refresh_from_db()
    assert ticket.status.kind == "new"


def test_a_stranger_who_references_our_mail_begins_a_new_ticket() -> None:
    ticket, dispatch = answered()

    taken(a_mail(From="eve@else.example", In_Reply_To=f"<{dispatch.header_id}>"))

    assert (Ticket.objects.count(), ticket.messages.count()) == (2, 1)


def test_an_answering_machine_does_not_reopen_a_ticket() -> None:
    ticket, dispatch = answered()

    taken(a_mail(Auto_Submitted="auto-replied", In_Reply_To=f"<{dispatch.header_id}>"))

    ticket.refresh_from_db()
    assert (ticket.messages.count(), ticket.status.kind) == (2, "waiting_for_customer")


def test_an_unreadable_mail_is_quarantined() -> None:
    TicketQueueFactory()

    received = taken(b"\r\n\r\nno headers at all")

    assert (received.outcome, received.reason) == ("quarantined", "it has no headers")
    assert not Ticket.objects.exists()


def test_our_own_mail_that_comes_back_is_no_ticket() -> None:
    _ticket, dispatch = answered()

    received = taken(a_mail(Message_ID=f"<{dispatch.header_id}>", From="Help <noreply@us.example>"))

    assert (received.outcome, Ticket.objects.count()) == ("ignored", 1)
