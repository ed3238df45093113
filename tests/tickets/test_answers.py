"""What answers a customer, by the source of the ticket, as the table in docs/tickets.md says."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Q

from telephony.models import Agent
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, ConnectionFactory
from tests.tickets.factories import ChatFactory, ChatMessageFactory, CustomerFactory, MessageFactory, levelled_queue
from tests.tickets.test_targets import START, after, clock, dues, turn, write
from tickets.admin.report_filter import _counted
from tickets.models import Customer, Dispatch, Source, Ticket, TicketChange
from tickets.verbs.due_times import end_answered_targets
from tickets.verbs.merges import merge_tickets, split_ticket
from tickets.verbs.messages import comment_on, reply_to
from tickets.verbs.tickets import open_ticket
from webhooks.models import Event

__all__ = ["clock"]
pytestmark = pytest.mark.django_db

NUMBER = "+48225550107"
ALL = set(Source.values)
SPOKEN = {Source.PHONE, Source.SMS, Source.CHAT, Source.WWW}


@pytest.fixture
def customer():
    return CustomerFactory(email="jan@client.example")


def opened(customer: Customer | None, source: str = Source.PHONE, **values: Any) -> Ticket:
    queue = levelled_queue()
    ids: dict[str, Any] = {"queue_id": queue.pk, "customer_id": customer.pk if customer else None}
    return open_ticket(ACTOR, subject="S", body="B", source=source, **ids, **values).ticket


def call(customer: Customer, **values: Any) -> None:
    """Place a call to the customer now, which was answered after ten seconds."""
    usual = {"customer_id": customer.pk, "agent": AgentFactory(), "created_at": after(0.5)}
    ConnectionFactory(**{**usual, **values})


def write_in_chat(agent: Agent | None) -> None:
    ChatMessageFactory(chat=ChatFactory(client_email="JAN@client.example"), agent=agent, created_at=after(0.5))


def note(customer: Customer, *, is_answer: bool) -> None:
    for ticket in Ticket.objects.filter(customer=customer):
        comment_on(ticket, ACTOR, text="Told", text_type="PLAIN", is_answer=is_answer)


def mail(customer: Customer) -> None:
    for ticket in Ticket.objects.filter(customer=customer):
        reply_to(ticket, ACTOR, body="Here", body_type="PLAIN", agent_login=AgentFactory().login, may_be_mail=True)


ANSWERS: dict[str, tuple[Callable[[Customer], Any], set[str]]] = {
    "a reply": (mail, ALL),
    "a comment that is an answer": (lambda customer: note(customer, is_answer=True), ALL),
    "another comment": (lambda customer: note(customer, is_answer=False), set()),
    "an answered call": (call, set(SPOKEN)),
    "a call that goes on": (lambda customer: call(customer, talking=True), set(SPOKEN)),
    "a call that was not answered": (lambda customer: call(customer, unanswered=True), set()),
    "a call of the dialler": (lambda customer: call(customer, campaign_code="DEMO1"), set()),
    "a call to another customer": (lambda customer: call(CustomerFactory()), set()),
    "a call from the customer": (lambda customer: call(customer, inbound=True), set()),
    "an earlier call": (lambda customer: call(customer, created_at=after(-1)), set()),
    "an agent's message in a chat": (lambda customer: write_in_chat(AgentFactory()), set(SPOKEN)),
    "the customer's message in a chat": (lambda customer: write_in_chat(None), set()),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_response_target_ends_by_what_answers_the_source(name, customer, clock):
    answer, expected = ANSWERS[name]
    tickets = [opened(customer, source) for source in Source.values]
    clock(1)

    answer(customer)
    clock(2)
    end_answered_targets()

    for ticket in tickets:
        ticket.refresh_from_db()
    assert {ticket.source for ticket in tickets if not ticket.owes_response} == expected


@pytest.mark.parametrize("name", ["a comment that is an answer", "an answered call", "an agent's message in a chat"])
def test_answer_other_than_a_reply_ends_the_response_target_alone(name, customer, clock):
    ticket = opened(customer)
    clock(1)
    ANSWERS[name][0](customer)
    ticket.refresh_from_db()
    changed_at, events = ticket.updated_at, list(Event.objects.values_list("action", flat=True))
    clock(2)

    for _ in range(2):
        end_answered_targets()

    ticket.refresh_from_db()
    assert (ticket.owes_response, ticket.resolution_due_at) == (False, after(10))
    assert (ticket.status.kind, ticket.first_agent_responded_at, ticket.updated_at) == ("new", None, changed_at)
    assert list(Event.objects.values_list("action", flat=True)) == events
    assert TicketChange.objects.filter(ticket=ticket, action="answer").count() == 1
    # The report of tickets knows replies alone: this ticket is late there.
    late = _counted("response_due", [], [(START - timedelta(days=1), START + timedelta(days=1))])
    clock(3)
    assert list(Ticket.objects.filter(late & Q(pk=ticket.pk))) == [ticket]


def test_next_message_of_the_customer_starts_the_target_again(customer, clock):
    noted, called = opened(customer, Source.EMAIL), opened(customer)
    clock(0.6)
    comment_on(noted, ACTOR, text="Told", text_type="PLAIN", is_answer=True)
    call(customer)
    clock(1)
    for ticket in (noted, called):
        write(ticket)
    clock(1.1)

    end_answered_targets()

    assert [dues(ticket)[0] for ticket in (noted, called)] == [2, 2]


def test_caller_who_is_no_customer_is_known_by_the_number(clock):
    ticket, other = opened(None, sender=NUMBER), opened(None, sender="+48225550108")
    ConnectionFactory(dst=NUMBER, agent=AgentFactory(), created_at=after(0.5))
    clock(1)

    end_answered_targets()

    for each in (ticket, other):
        each.refresh_from_db()
    assert (ticket.owes_response, other.owes_response) == (False, True)


def test_answers_count_in_merges_and_splits(customer, clock):
    question, other = opened(customer, Source.EMAIL), opened(customer, Source.EMAIL)
    clock(0.5)
    comment_on(other, ACTOR, text="Told", text_type="PLAIN", is_answer=True)

    merge_tickets(question, other, ACTOR)

    assert dues(other)[0] == 1  # the report still wants the first reply
    other.refresh_from_db()
    assert not other.owes_response
    clock(2)
    second = MessageFactory(ticket=other)
    parted = split_ticket(other, ACTOR, [second.pk], "Else")
    other.refresh_from_db()
    assert (other.owes_response, dues(parted)[0]) == (False, 3)


def test_answered_ticket_that_a_person_opens_again_owes_no_response(customer, clock):
    ticket = opened(customer)
    comment_on(ticket, ACTOR, text="Told", text_type="PLAIN", is_answer=True)
    turn(ticket, "closed")
    clock(100)

    turn(ticket, "in_progress")

    ticket.refresh_from_db()
    assert (ticket.owes_response, ticket.resolution_due_at) == (False, after(110))


def test_mail_of_a_phone_ticket_goes_to_the_customer_by_mail(customer):
    ticket = opened(customer, sender=NUMBER)

    mail(customer)

    dispatch = Dispatch.objects.get()
    ticket.refresh_from_db()
    assert (dispatch.is_mail, dispatch.recipients, bool(dispatch.header_id)) == (True, ["jan@client.example"], True)
    assert (ticket.status.kind, ticket.first_agent_responded_at is None) == ("waiting_for_customer", False)


def test_sweep_takes_one_statement_if_no_customer_was_answered(customer):
    for _ in range(3):
        opened(customer)

    with few_statements(1):
        end_answered_targets()
