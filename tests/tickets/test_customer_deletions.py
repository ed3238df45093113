"""Deletions of customers: no table and no file keeps anything personal, and calls stay for the report."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from callcentre.core import deletions
from callcentre.core.audit import AuditEntry
from callcentre.core.deletions import Deletion, consequences_of
from telephony.models import Connection, ConnectionTopic, Leg, Recording, Transcription
from tests.campaigns.factories import RecordFactory
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.tickets.deleting import (
    EMAIL,
    MARK,
    NUMBER,
    PERSONAL,
    a_call,
    a_chat,
    a_file,
    a_person,
    a_ticket,
    left_of,
    removed,
)
from tests.tickets.factories import ChatFactory, CustomerFactory, MessageFactory, TicketFactory
from tests.tickets.mails import files_on_disk
from tickets.deletions import customers
from tickets.models import BlockedSender, Chat, Customer, ReceivedMail, Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def test_nothing_personal_of_a_customer_is_left_and_calls_keep_what_the_report_counts(own_storage):
    customer = a_person()
    before = left_of(*PERSONAL)
    assert files_on_disk(own_storage) == 8
    # The logs have nothing of the customer even before.
    assert AuditEntry.objects.exists()
    assert LogEntry.objects.exists()
    assert {"callcentre_auditentry", "django_admin_log"}.isdisjoint(before)
    facts = ("id", "direction", "agent_id", "queue_id", "created_at", "answered_at", "ended_at", "disposition", "cause")
    calls = list(Connection.objects.order_by("id").values(*facts))
    said = consequences_of("customer", customer)

    deletion = removed("customer", customer)

    assert (deletion.state, len(before) > 15) == ("finished", True)
    # The address stays blocked, as the page says.
    assert (left_of(*PERSONAL), files_on_disk(own_storage)) == ({"tickets_blockedsender": 1}, 0)
    assert str(customers.STAYS_BLOCKED) in said.remarks

    # The page before and the trace after count the same rows.
    assert {part.model: part.count for part in said.deleted} == deletion.deleted
    assert {part.model: part.count for part in said.emptied} == deletion.emptied
    assert deletion.deleted == {
        "tickets.customer": 2,
        "tickets.customernumber": 1,
        "tickets.customernote": 1,
        "tickets.customerchange": 2,
        "tickets.ticket": 2,
        "tickets.ticketchange": 2,
        "tickets.message": 4,
        "tickets.storedfile": 4,
        "tickets.rating": 2,
        "tickets.dispatch": 2,
        "tickets.chat": 1,
        "tickets.chatmessage": 2,
        "telephony.recording": 2,
        "telephony.transcription": 2,
        "telephony.callback": 1,
        "telephony.callerpriority": 1,
    }
    assert deletion.emptied == {"tickets.receivedmail": 2, "telephony.connection": 2}

    assert list(Connection.objects.order_by("id").values(*facts)) == calls
    inbound, outbound = (Connection.objects.get(direction=direction) for direction in ("INBOUND", "OUTBOUND"))
    assert (inbound.src, inbound.src_number, inbound.customer_id) == ("", "", None)
    assert (outbound.dst, outbound.dst_number, outbound.src) == ("", "", "101")
    assert set(Leg.objects.values_list("role", "number")) == {("customer", ""), ("agent", "101")}
    assert set(ConnectionTopic.objects.values_list("comment", flat=True)) == {""}
    assert set(Recording.objects.values_list("state", "file")) == {("removed", "")}
    assert not Transcription.objects.exists()


def test_rows_of_other_people_stay(own_storage):
    other = CustomerFactory(email="other@client.example", phone_numbers=["+48 22 555 11 11"])
    ticket = TicketFactory(customer=other)
    a_file("other", message=MessageFactory(ticket=ticket))
    chat = ChatFactory(client_email="other@client.example")
    call = a_call(other, "INBOUND")

    removed("customer", a_person())

    assert Customer.objects.get().pk == other.pk
    assert (Ticket.objects.get().pk, Chat.objects.get().pk) == (ticket.pk, chat.pk)
    call.refresh_from_db()
    assert (call.customer_id, call.src) == (other.pk, NUMBER)
    assert files_on_disk(own_storage) == 2


def test_chats_of_an_address_that_two_customers_share_stay():
    chat = a_chat()
    customer = CustomerFactory(email=EMAIL)
    CustomerFactory(email=EMAIL.upper())

    removed("customer", customer)

    assert Chat.objects.get().pk == chat.pk


def test_a_customer_is_deleted_after_the_end_of_their_call():
    customer = CustomerFactory(surname=MARK)
    call = a_call(customer, "INBOUND", talking=True)

    waiting = removed("customer", customer)
    assert (waiting.state, waiting.error) == ("running", "A call still goes on.")
    Connection.objects.filter(pk=call.pk).update(state="ended", ended_at=timezone.now(), disposition="ANSWERED")
    Deletion.objects.update(next_attempt_at=timezone.now())
    deletions.run(waiting.pk)

    waiting.refresh_from_db()
    assert (waiting.state, left_of(*PERSONAL)) == ("finished", {})


@pytest.mark.slow("runs threads")
def test_an_interrupted_deletion_continues_and_counts_all(monkeypatch):
    """A worker dies at the beginning of each step, one after the other."""
    whole = removed("customer", a_person())
    ReceivedMail.objects.all().delete()
    BlockedSender.objects.all().delete()
    customer = a_person()
    deletion = Deletion.ask(ACTOR, "customer", customer, "on request")
    real = Deletion.step
    is_dying = {"now": True}

    def step(self: Deletion) -> Any:
        if is_dying["now"]:
            is_dying["now"] = False
            raise SystemExit
        is_dying["now"] = True
        return real(self)

    with monkeypatch.context() as dying:
        dying.setattr(Deletion, "step", step)
        for _ in range(20):
            Deletion.objects.filter(pk=deletion.pk, state="running").update(next_attempt_at=timezone.now())
            try:
                deletions.run(deletion.pk)
            except SystemExit:
                continue

    deletion.refresh_from_db()
    assert (deletion.state, deletion.deleted, deletion.emptied) == ("finished", whole.deleted, whole.emptied)
    assert left_of(*PERSONAL) == {"tickets_blockedsender": 1}


def test_records_of_campaigns_stay_and_the_page_says_so():
    customer = CustomerFactory(phone_numbers=[NUMBER])
    RecordFactory.create_batch(2, phone_number=NUMBER)
    RecordFactory()

    assert "2 records of campaigns with a number of the customer stay." in consequences_of("customer", customer).remarks


def test_a_merged_customer_is_deleted_alone():
    customer = CustomerFactory()
    merged = CustomerFactory(surname=MARK, email=EMAIL, merged_into=customer)
    ticket = TicketFactory(customer=customer)

    removed("customer", merged)

    assert (Customer.objects.get().pk, Ticket.objects.get().pk) == (customer.pk, ticket.pk)


def test_the_query_count_of_the_consequences_is_constant():
    customer = CustomerFactory(email=EMAIL, phone_numbers=[NUMBER])
    for number in range(10):
        a_ticket(f"t{number}x", customer=customer)
        a_chat()
        a_call(customer, "INBOUND")

    with few_statements(28):
        consequences_of("customer", customer)
