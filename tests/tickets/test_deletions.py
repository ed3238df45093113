"""Deletions of tickets, chats, mails and files: no table and no file keeps anything personal."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from callcentre.core import deletions
from callcentre.core.audit import AuditEntry
from callcentre.core.deletions import Deletion, consequences_of
from callcentre.core.errors import Conflict
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.deleting import EMAIL, MARK, PERSONAL, a_chat, a_file, a_mail, a_ticket, left_of, removed
from tests.tickets.factories import (
    ChatFactory,
    CustomerFactory,
    DispatchFactory,
    MessageFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tests.tickets.mails import a_mail as raw_mail
from tests.tickets.mails import files_on_disk, taken
from tickets.models import Message, ReceivedMail, StoredFile, Ticket, TicketCount
from tickets.verbs.chats import close_chat, write_in_chat
from tickets.verbs.customers import add_customer_note, edit_customer
from tickets.verbs.merges import merge_tickets
from tickets.verbs.messages import comment_on, receive_message, reply_to
from tickets.verbs.received_mails import discard_mail, retry_mail
from tickets.verbs.tickets import connect_tickets
from webhooks.models import Attempt, Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def test_nothing_of_a_ticket_is_left_in_any_table_or_file(own_storage):
    ticket = a_ticket("a")
    merge_tickets(a_ticket("b"), ticket, ACTOR)
    assert files_on_disk(own_storage) == 6

    deletion = removed("ticket", ticket)

    assert (deletion.state, left_of(*PERSONAL), files_on_disk(own_storage)) == ("finished", {}, 0)
    assert sum(TicketCount.objects.values_list("count", flat=True)) == Ticket.objects.count() == 0


def test_the_rows_of_mails_stay_so_that_they_are_not_taken_in_again(own_storage):
    TicketQueueFactory()
    mail = raw_mail(MARK, Subject=MARK)
    taken(mail)

    removed("ticket", Ticket.objects.get())
    again = taken(mail)

    assert (again.outcome, Ticket.objects.count()) == ("deleted", 0)
    assert files_on_disk(own_storage) == 0


def test_a_mail_to_a_deleted_ticket_opens_a_new_one(monkeypatch):
    TicketQueueFactory()
    first = taken(raw_mail()).message.ticket
    # The ticket is deleted after the mail was matched with it.
    real = receive_message

    def receive(*given: Any, **values: Any) -> Message:
        removed("ticket", first)
        return real(*given, **values)

    monkeypatch.setattr("tickets.mail.intake.receive_message", receive)
    mail = taken(raw_mail("More", Subject=f"Re: [#{first.pk}] Broken"))

    assert (mail.outcome, mail.message.ticket_id != first.pk) == ("stored", True)


def test_connected_tickets_forget_each_other():
    ticket, *others = TicketFactory.create_batch(3)
    for other in others:
        connect_tickets(ticket, other, ACTOR)
    connect_tickets(others[0], others[1], ACTOR)

    removed("ticket", ticket)

    assert [each.connected_ids for each in Ticket.objects.order_by("id")] == [[others[1].pk], [others[0].pk]]


def test_a_merged_ticket_is_deleted_alone():
    target, source = TicketFactory(), TicketFactory()
    MessageFactory(ticket=source)
    merge_tickets(source, target, ACTOR)

    removed("ticket", source)

    assert Ticket.objects.get().pk == target.pk
    assert target.messages.filter(type="MAIL").count() == 1


def test_a_ticket_whose_message_is_being_sent_waits():
    dispatch = DispatchFactory(begun_at=timezone.now())

    waiting = removed("ticket", dispatch.message.ticket)

    assert (waiting.state, waiting.error) == ("running", "A message of the ticket is just being sent.")
    assert Ticket.objects.exists()


def test_deletions_are_events():
    customer = CustomerFactory()
    ticket = TicketFactory(customer=customer, agent=AgentFactory(login="anna"))
    chat = a_chat()
    last = Event.objects.latest("id").pk

    removed("customer", customer)
    removed("chat", chat)

    told = Event.objects.filter(pk__gt=last).order_by("id").values_list("action", "subject", "payload")
    of_ticket = {"ticket_id": str(ticket.pk), "customer_id": customer.pk, "agent_login": "anna"}
    of_chat = {"conversation_id": str(chat.pk), "chat_queue_id": chat.queue_id}
    assert list(told) == [
        ("TICKET_DELETED", f"ticket:{ticket.pk}", of_ticket),
        ("CUSTOMER_DELETED", f"customer:{customer.pk}", {"customer_id": customer.pk, "company_id": None}),
        ("CHAT_CONVERSATION_DELETED", f"chat:{chat.pk}", of_chat),
    ]


def test_nothing_of_a_chat_is_left_in_any_table():
    chat = a_chat()
    created = Event.objects.get(action="CHAT_CONVERSATION_CREATED")

    deletion = removed("chat", chat)

    assert (deletion.deleted, left_of(*PERSONAL)) == ({"tickets.chat": 1, "tickets.chatmessage": 2}, {})
    created.refresh_from_db()
    emptied = {"conversation_id": str(chat.pk), "client_name": "", "client_email": None, "chat_queue_id": chat.queue_id}
    assert created.payload == emptied
    assert set(Attempt.objects.values_list("answer", flat=True)) == {""}


def test_nothing_of_a_mail_is_left_and_its_ticket_stays(own_storage):
    ticket = TicketFactory()
    message = MessageFactory(ticket=ticket, body=MARK, author_name=MARK, author_address=EMAIL)
    a_file("1", message=message)
    mail = a_mail("2", message=message, outcome="stored")
    # The same mail in another mailbox.
    a_mail("3", message=message, outcome="ignored")

    deletion = removed("mail", mail)

    assert deletion.deleted == {"tickets.message": 1, "tickets.storedfile": 1}
    assert deletion.emptied == {"tickets.receivedmail": 2}
    assert (left_of(*PERSONAL), files_on_disk(own_storage)) == ({}, 0)
    assert ticket.history.get().action == "delete_message"
    assert set(ReceivedMail.objects.values_list("outcome", "path")) == {("deleted", "")}
    assert not ReceivedMail.objects.exclude(message=None).exists()


@pytest.mark.parametrize("outcome", ["received", "quarantined", "ignored"])
def test_a_mail_without_a_message_is_deleted_and_never_becomes_one(own_storage, outcome):
    mail = a_mail("1", outcome=outcome)
    if outcome == "quarantined":
        discard_mail(mail, ACTOR, MARK)

    removed("mail", mail)

    mail.refresh_from_db()
    assert (mail.outcome, mail.why, left_of(*PERSONAL)) == ("deleted", "it was deleted by a person", {})
    # The audit log forgets the words alone.
    discards = AuditEntry.objects.filter(model="tickets.receivedmail", action="discard_mail").count()
    assert discards == (outcome == "quarantined")
    assert files_on_disk(own_storage) == 0
    for again in (lambda: retry_mail(mail, ACTOR), lambda: removed("mail", mail)):
        with pytest.raises(Conflict):
            again()


def test_a_file_leaves_its_message_and_the_mail_that_it_came_in(own_storage):
    message = MessageFactory(attachments=["1", "2"])
    first, second = a_file("1", message=message), a_file("2", message=message)
    mail = a_mail("3", message=message, outcome="stored")

    deletion = removed("file", first)

    message.refresh_from_db()
    mail.refresh_from_db()
    assert (deletion.deleted, deletion.emptied) == ({"tickets.storedfile": 1}, {"tickets.receivedmail": 1})
    assert (message.attachments, StoredFile.objects.get().pk) == (["2"], second.pk)
    assert (mail.outcome, mail.path, mail.subject) == ("stored", "", MARK)
    assert files_on_disk(own_storage) == 1
    assert message.ticket.history.get().action == "delete_file"


def test_an_unused_upload_is_deleted_and_a_file_that_waits_to_be_sent_is_not(own_storage):
    removed("file", a_file("1"))
    assert (StoredFile.objects.count(), files_on_disk(own_storage)) == (0, 0)

    file = a_file("1", message=DispatchFactory().message)
    assert consequences_of("file", file).obstacle == "The message with this file is still to be sent."
    with pytest.raises(Conflict):
        removed("file", file)


def test_a_verb_on_a_deleted_row_is_a_conflict(api):
    ticket, customer, chat = TicketFactory(), CustomerFactory(), ChatFactory()
    for kind, row in (("ticket", ticket), ("customer", customer), ("chat", chat)):
        removed(kind, row)

    for verb in (
        lambda: receive_message(ticket, ACTOR, body="x"),
        lambda: comment_on(ticket, ACTOR, text="x", agent_login=AgentFactory().login),
        lambda: edit_customer(customer, ACTOR, surname="x"),
        lambda: add_customer_note(customer, ACTOR, message="x"),
        lambda: write_in_chat(chat, ACTOR, body="x"),
        lambda: close_chat(chat, ACTOR),
    ):
        with pytest.raises(Conflict):
            verb()
    assert api.get(f"/api/tickets/{ticket.pk}").status_code == 404


@pytest.mark.slow("runs threads")
def test_mail_and_replies_while_tickets_are_deleted_end_without_deadlock_or_left_rows(committed_db):
    tickets = [TicketFactory() for _ in range(12)]
    agent = AgentFactory()
    failures: list[BaseException] = []

    def repeat(act: Any) -> None:
        try:
            for ticket in tickets:
                try:
                    act(ticket)
                except Conflict:
                    continue
        except BaseException as error:  # noqa: BLE001  (told by the test)
            failures.append(error)
        finally:
            connection.close()

    acts = [
        lambda ticket: receive_message(ticket, ACTOR, body="x"),
        lambda ticket: reply_to(ticket, ACTOR, body="x", agent_login=agent.login),
        lambda ticket: connect_tickets(ticket, tickets[-1], ACTOR) if ticket != tickets[-1] else None,
        lambda ticket: removed("ticket", ticket),
    ]
    threads = [threading.Thread(target=repeat, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert failures == []
    # A deletion waits while the ticket is being connected or its reply is being sent.
    for deletion in Deletion.objects.exclude(state="finished"):
        Deletion.objects.filter(pk=deletion.pk).update(next_attempt_at=timezone.now())
        deletions.run(deletion.pk)
    assert (Ticket.objects.count(), Message.objects.count()) == (0, 0)
    assert sum(TicketCount.objects.values_list("count", flat=True)) == 0
