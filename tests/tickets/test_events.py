"""Events of tickets, customers and chats: recorded in the transaction of the change, with the documented payload."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core import deletions
from callcentre.core.errors import Invalid
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, QueueFactory
from tests.tickets.factories import ChatFactory, CompanyFactory, CustomerFactory, TicketFactory, TicketQueueFactory
from tickets.models import (
    Chat,
    ChatMessage,
    Customer,
    CustomerNote,
    Dispatch,
    Message,
    Ticket,
    TicketChange,
    TicketStatus,
)
from tickets.verbs.chats import assign_chat, close_chat, start_chat, write_in_chat
from tickets.verbs.customers import add_customer_note, create_customer, edit_customer
from tickets.verbs.merges import merge_tickets
from tickets.verbs.messages import comment_on, receive_message, reply_to
from tickets.verbs.service_levels import tell_deadlines
from tickets.verbs.tickets import edit_ticket, open_ticket
from webhooks import outbox
from webhooks.event_types import EXAMPLES, EventType
from webhooks.models import Event

pytestmark = pytest.mark.django_db

Recorded = list[tuple[str, str, dict[str, Any]]]


@pytest.fixture
def recorded(db):
    """Return a function that reads (action, subject, payload) of all events, in order."""

    def read():
        return list(Event.objects.order_by("id").values_list("action", "subject", "payload"))

    return read


def new(login: str = "anna") -> Ticket:
    ticket: Ticket = TicketFactory(customer=CustomerFactory(), agent=AgentFactory(login=login))
    return ticket


def about(ticket: Ticket, **more: Any) -> dict[str, Any]:
    return {"ticket_id": str(ticket.pk), "customer_id": ticket.customer_id, "agent_login": "anna", **more}


def moved(ticket: Ticket, kind: str) -> tuple[str, str, dict[str, Any]]:
    status = str(TicketStatus.objects.get(kind=kind).pk)
    return "TICKET_UPDATED", f"ticket:{ticket.pk}", about(ticket, status_id=status, substatus_id=None)


def said(action: str, ticket: Ticket) -> tuple[str, str, dict[str, Any]]:
    message = Message.objects.filter(ticket=ticket).latest("id")
    return action, f"ticket:{ticket.pk}", about(ticket, message_id=message.pk)


@pytest.mark.parametrize(("login", "direction"), [("", "in"), ("anna", "in_behalf_of")])
def test_event_of_a_new_ticket(login, direction, recorded):
    TicketQueueFactory()
    AgentFactory(login="anna")
    customer = CustomerFactory(email="jan@client.example")

    ticket = open_ticket(ACTOR, subject="S", body="B", sender="Jan@Client.example", agent_login=login).ticket

    payload = about(ticket, direction=direction) | {"agent_login": login or None, "customer_id": customer.pk}
    assert recorded() == [("TICKET_CREATED", f"ticket:{ticket.pk}", payload)]


def by_reply(ticket: Ticket) -> None:
    reply_to(ticket, ACTOR, agent_login="anna", body="x")


def by_message(ticket: Ticket) -> None:
    receive_message(ticket, ACTOR, body="x")


def by_comment(ticket: Ticket) -> None:
    comment_on(ticket, ACTOR, agent_login="anna", text="x")


@pytest.mark.parametrize(
    ("kind", "verb", "action", "after"),
    [
        ("new", by_reply, "TICKET_AGENT_RESPONDED", "waiting_for_customer"),
        ("postponed", by_reply, "TICKET_AGENT_RESPONDED", ""),
        ("closed", by_message, "TICKET_MESSAGE_RECEIVED", "new"),
        ("new", by_comment, "TICKET_COMMENTED", ""),
    ],
)
def test_events_of_messages_and_of_their_change_of_status(kind, verb, action, after, recorded):
    ticket = new()
    Ticket.objects.update(status=TicketStatus.objects.get(kind=kind))

    verb(ticket)

    assert recorded() == [said(action, ticket), *([moved(ticket, after)] if after else [])]


def test_event_of_an_edit_and_none_without_a_change(recorded):
    ticket = new()
    closed = TicketStatus.objects.get(kind="closed")
    substatus = closed.substatuses.create(name="Solved")

    edit_ticket(ticket, ACTOR, status_id=closed.pk, substatus_id=substatus.pk)
    edit_ticket(ticket, ACTOR, status_id=closed.pk, substatus_id=substatus.pk, tags=[])

    action, subject, payload = moved(ticket, "closed")
    assert recorded() == [(action, subject, payload | {"substatus_id": str(substatus.pk)})]


def test_merge_records_events_of_both_tickets(recorded):
    source = new()
    target = TicketFactory(customer=source.customer, agent=source.agent)

    merge_tickets(source, target, ACTOR)

    assert recorded() == [moved(source, "merged"), moved(target, "new")]


def test_events_of_customers_and_notes(recorded):
    company = CompanyFactory()
    AgentFactory(login="anna")

    customer = create_customer(ACTOR, surname="Kowal")
    edit_customer(customer, ACTOR, company_id=company.pk)
    edit_customer(customer, ACTOR, company_id=company.pk)
    note = add_customer_note(customer, ACTOR, message="x", agent_login="anna")
    other = add_customer_note(customer, ACTOR, message="x")

    subject = f"customer:{customer.pk}"
    assert recorded() == [
        ("CUSTOMER_CREATED", subject, {"customer_id": customer.pk, "company_id": None}),
        ("CUSTOMER_UPDATED", subject, {"customer_id": customer.pk, "company_id": company.pk}),
        *(
            ("CUSTOMER_NOTE_ADDED", subject, {"customer_id": customer.pk, "note_id": each.pk, "agent_login": login})
            for each, login in ((note, "anna"), (other, None))
        ),
    ]


def test_events_of_a_chat(recorded):
    queue = QueueFactory()
    for login in ("anna", "ben"):
        AgentFactory(login=login)

    chat = start_chat(ACTOR, client_name="Jan", queue_id=queue.pk)
    asked = write_in_chat(chat, ACTOR, body="Hello?")
    answered = write_in_chat(chat, ACTOR, body="Hello!", agent_login="anna")
    assign_chat(chat, ACTOR, agent_login="ben")
    assign_chat(chat, ACTOR, agent_login="ben")
    close_chat(chat, ACTOR)
    close_chat(chat, ACTOR)

    conversation: dict[str, Any] = {"conversation_id": str(chat.pk)}
    place = conversation | {"chat_queue_id": queue.pk}
    asked_event, answered_event = (
        ("CHAT_MESSAGE_ADDED", f"chat:{chat.pk}", conversation | {"message_id": message.pk, "agent_login": login})
        for message, login in ((asked, None), (answered, "anna"))
    )
    created, assigned, *others = (
        (action, f"chat:{chat.pk}", place | more)
        for action, more in (
            ("CHAT_CONVERSATION_CREATED", {"client_name": "Jan", "client_email": None}),
            ("CHAT_AGENT_ASSIGNED", {"agent_login": "anna"}),
            ("CHAT_AGENT_ASSIGNED", {"agent_login": "ben"}),
            ("CHAT_CONVERSATION_CLOSED", {}),
        )
    )
    assert recorded() == [created, asked_event, assigned, answered_event, *others]


def test_payloads_have_the_documented_fields_and_types(recorded):
    test_events_of_a_chat(recorded)
    company, ticket = CompanyFactory(), new("cleo")
    customer = create_customer(ACTOR, surname="Kowal", company_id=company.pk)
    edit_customer(customer, ACTOR, surname="Nowak")
    add_customer_note(customer, ACTOR, message="x", agent_login="cleo")
    opened = open_ticket(ACTOR, subject="S", body="B", customer_id=customer.pk, agent_login="cleo").ticket
    reply_to(ticket, ACTOR, agent_login="cleo", body="x")
    receive_message(ticket, ACTOR, body="x")
    comment_on(opened, ACTOR, agent_login="cleo", text="x")
    for minutes in (30, -30):
        Ticket.objects.filter(pk=ticket.pk).update(resolution_due_at=timezone.now() + timedelta(minutes=minutes))
        tell_deadlines()
    for kind, row in (("customer", customer), ("chat", Chat.objects.get())):
        deletions.run(deletions.Deletion.ask(ACTOR, kind, row, "on request").pk)

    payloads = {action: payload for action, _, payload in recorded()}
    ours = {name for name in EventType.values if name.startswith(("TICKET", "CUSTOMER", "CHAT"))}
    assert payloads.keys() == ours
    for action, payload in payloads.items():
        example = EXAMPLES[EventType(action)]
        assert payload.keys() == example.keys(), action
        for name, value in payload.items():
            assert None in (value, example[name]) or type(value) is type(example[name])


# The rows before the change, and the verb.
CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "open": (TicketQueueFactory, lambda queue: open_ticket(ACTOR, subject="S", body="B", queue_id=queue.pk)),
    "reply": (new, by_reply),
    "receive": (new, by_message),
    "comment": (new, by_comment),
    "edit": (new, lambda ticket: edit_ticket(ticket, ACTOR, tags=["a"])),
    "merge": (lambda: (new(), TicketFactory()), lambda pair: merge_tickets(pair[0], pair[1], ACTOR)),
    "customer": (lambda: None, lambda _: create_customer(ACTOR, surname="S")),
    "customer edit": (CustomerFactory, lambda customer: edit_customer(customer, ACTOR, surname="S")),
    "note": (CustomerFactory, lambda customer: add_customer_note(customer, ACTOR, message="x")),
    "chat": (QueueFactory, lambda queue: start_chat(ACTOR, client_name="Jan", queue_id=queue.pk)),
    "assign": (
        lambda: (ChatFactory(), AgentFactory(login="anna"))[0],
        lambda chat: assign_chat(chat, ACTOR, agent_login="anna"),
    ),
    "take": (
        lambda: (ChatFactory(), AgentFactory(login="anna"))[0],
        lambda chat: write_in_chat(chat, ACTOR, body="x", agent_login="anna"),
    ),
    "close": (ChatFactory, lambda chat: close_chat(chat, ACTOR)),
}
ROWS: list[Any] = [Ticket, Message, Dispatch, TicketChange, Customer, CustomerNote, Chat, ChatMessage, Event]


def rows() -> list[list[dict[str, Any]]]:
    return [list(model.objects.order_by("pk").values()) for model in ROWS]


class Undone(Exception):
    pass


@pytest.mark.parametrize("name", CHANGES)
def test_change_and_event_are_in_one_transaction(name, monkeypatch):
    make, change = CHANGES[name]
    made = make()
    before = rows()

    execute = outbox._execute

    def fail_afterwards(*args, **values):
        execute(*args, **values)
        raise Undone

    with monkeypatch.context() as patch:
        patch.setattr(outbox, "_execute", fail_afterwards)
        with pytest.raises(Undone):
            change(made)

    assert rows() == before
    change(made)
    assert Event.objects.exists()
    assert rows() != before


def test_refused_change_records_no_event():
    with pytest.raises(Invalid):
        reply_to(new(), ACTOR, agent_login="nobody", body="x")

    assert not Event.objects.exists()
