"""Merges of two customers: all data is kept, also during concurrent changes."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from callcentre.core.errors import Conflict, ErrorCode, Invalid
from tests.conftest import ACTOR
from tests.telephony.factories import ConnectionFactory
from tests.tickets.factories import (
    CustomerFactory,
    CustomerNoteFactory,
    CustomFieldFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tests.tickets.test_concurrency import at_once
from tickets.customer_lookups import customers_of
from tickets.models import Customer, Ticket
from tickets.verbs.customers import merge_customers, set_numbers
from tickets.verbs.tickets import edit_ticket, open_ticket
from webhooks.models import Event


@pytest.fixture
def source(db):
    return CustomerFactory(name="Jan", surname="Kowal", email="jan@home.example", phone_numbers=["22 555 01 01"])


@pytest.fixture
def target(db):
    return CustomerFactory(name="Jan", surname="Kowal", email="jan@work.example", phone_numbers=["22 555 01 02"])


def merged(source, target):
    merge_customers(source, target, ACTOR)
    source.refresh_from_db()
    target.refresh_from_db()
    return target


def test_tickets_with_history_calls_and_notes_move_to_the_target(source, target):
    ticket, call, note = (
        TicketFactory(customer=source),
        ConnectionFactory(customer_id=source.pk),
        CustomerNoteFactory(customer=source),
    )

    before = ticket.updated_at

    merged(source, target)

    for row in (ticket, call, note):
        row.refresh_from_db()
    assert (ticket.updated_at, ticket.history.get().changes) == (before, {"customer": ["Jan Kowal", "Jan Kowal"]})
    assert (ticket.customer, call.customer_id, note.customer) == (target, target.pk, target)


def test_numbers_are_joined_once_and_calls_from_both_find_the_target(source, target):
    set_numbers(target, [("22 555 01 02", "+48225550102"), ("+48 225550103", "+48225550103")])
    set_numbers(source, [("22 555 01 01", "+48225550101"), ("22 555 01 03", "+48225550103")])

    assert merged(source, target).phone_numbers == ["22 555 01 02", "+48 225550103", "22 555 01 01"]
    assert source.phone_numbers == []
    found = customers_of(["+48225550101", "+48225550102"])
    assert {number: customer.id for number, customer in found.items()} == dict.fromkeys(
        ("+48225550101", "+48225550102"), target.pk
    )


def test_value_of_the_target_wins_and_the_other_is_in_the_history(source, target):
    city, colour = (str(CustomFieldFactory(of_customers=True).pk) for _ in range(2))
    fields = {city: "Gdynia", colour: "red"}
    Customer.objects.filter(pk=source.pk).update(identifier="ERP-7", custom_fields=fields)
    Customer.objects.filter(pk=target.pk).update(identifier="ERP-8", custom_fields={colour: "blue"})

    changes = merged(source, target).history.get(action="merge").changes

    assert (target.identifier, target.custom_fields) == ("ERP-8", {city: "Gdynia", colour: "blue"})
    assert changes["identifier"] == ["ERP-7", "ERP-8"]
    assert changes["email"] == ["jan@home.example", "jan@work.example"]
    assert source.identifier == "ERP-7"


def test_mail_from_the_old_address_finds_the_target(source, target):
    TicketQueueFactory()
    merged(source, target)

    ticket = open_ticket(ACTOR, subject="Hello", body="Hello", sender="JAN@home.example").ticket

    assert ticket.customer == target
    assert target.emails == ["jan@work.example", "jan@home.example"]


def test_ticket_given_to_the_old_id_goes_to_the_target(source, target):
    merged(source, target)
    ticket = TicketFactory()

    edit_ticket(ticket, ACTOR, customer_id=source.pk)

    assert Ticket.objects.get(pk=ticket.pk).customer == target


def test_earlier_merged_customers_point_to_the_new_target_and_both_have_an_event(source, target):
    first = CustomerFactory()
    merged(first, source)
    Event.objects.all().delete()

    merged(source, target)

    first.refresh_from_db()
    assert first.merged_into == target
    events = Event.objects.filter(action="CUSTOMER_UPDATED").order_by("id")
    assert [event.payload["customer_id"] for event in events] == [source.pk, target.pk]


def test_merged_customer_cannot_be_merged_again_and_none_with_itself(source, target):
    with pytest.raises(Invalid) as itself:
        merge_customers(source, source, ACTOR)
    assert itself.value.faults[0].code == ErrorCode.CUSTOMER_MERGED_WITH_ITSELF

    merged(source, target)
    other = CustomerFactory()
    for pair in [(source, other), (other, source)]:
        with pytest.raises(Conflict) as refused:
            merge_customers(*pair, ACTOR)
        assert refused.value.code == ErrorCode.CUSTOMER_MERGED


# Concurrency


def in_thread(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except (Conflict, Invalid) as refused:
        return refused
    finally:
        connection.close()


def test_concurrent_merges_of_two_customers_into_each_other(committed_db):
    one, other = CustomerFactory(), CustomerFactory()
    tickets = [TicketFactory(customer=one), TicketFactory(customer=other)]

    answers = at_once(lambda: merge_customers(one, other, ACTOR), lambda: merge_customers(other, one, ACTOR))

    stayed = Customer.objects.current().get()
    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "NoneType"]
    assert {Ticket.objects.get(pk=ticket.pk).customer for ticket in tickets} == {stayed}


def test_tickets_opened_during_a_merge_belong_to_the_target(committed_db):
    source, target = CustomerFactory(email="jan@home.example"), CustomerFactory()
    queue = TicketQueueFactory()

    def open_some():
        for _ in range(10):
            open_ticket(ACTOR, subject="Hello", body="Hello", sender="jan@home.example", queue_id=queue.pk)

    answers = at_once(open_some, open_some, lambda: merge_customers(source, target, ACTOR))

    assert answers == [None, None, None]
    assert Ticket.objects.filter(customer=target).count() == 20


def test_tickets_given_to_the_source_during_a_merge_belong_to_the_target(committed_db):
    source, target, other = CustomerFactory(), CustomerFactory(), CustomerFactory()
    tickets = [TicketFactory(customer=customer) for customer in (source, other) for _ in range(5)]

    def hand_over(order):
        for ticket in order:
            edit_ticket(ticket, ACTOR, customer_id=source.pk)

    answers = at_once(
        *(lambda order=order: hand_over(order) for order in (tickets, tickets[::-1])),
        lambda: merge_customers(source, target, ACTOR),
    )

    assert answers == [None, None, None]
    assert {ticket.customer for ticket in Ticket.objects.all()} == {target}


def test_merge_waits_for_a_transaction_that_links_a_ticket(committed_db):
    source, target = CustomerFactory(), CustomerFactory()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            held = Customer.objects.hold(source.pk)
            merging = pool.submit(in_thread, merge_customers, source, target, ACTOR)
            ticket = TicketFactory(customer=held)
        assert merging.result(60) is None

    ticket.refresh_from_db()
    assert ticket.customer == target


def test_merge_gives_up_if_a_customer_stays_locked(committed_db, monkeypatch):
    monkeypatch.setattr("tickets.verbs.customers.TRIES", 1)
    source, target = CustomerFactory(), CustomerFactory()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Customer.objects.hold(source.pk)
        refused = pool.submit(in_thread, merge_customers, source, target, ACTOR).result(60)

    assert isinstance(refused, Conflict)
    assert refused.code == ErrorCode.CUSTOMER_BUSY
    assert Customer.objects.current().count() == 2
