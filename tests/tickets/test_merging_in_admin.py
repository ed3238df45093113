"""Merges of tickets in the admin: the choice of the target, and the question about different customers."""

import pytest
from django.urls import reverse

from tests.backoffice import inputs_of, messages_of, superuser
from tests.conftest import ACTOR
from tests.tickets.factories import CustomerFactory, TicketFactory
from tickets.admin.ticket_merge_forms import people_of
from tickets.models import Message, Ticket
from tickets.verbs.merges import merge_tickets

LIST = reverse("admin:tickets_ticket_changelist")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def merge_page(ticket):
    return reverse("admin:tickets_ticket_merge", args=[ticket.pk])


def merged_into(*tickets):
    found = Ticket.objects.in_bulk([ticket.pk for ticket in tickets])
    return [found[ticket.pk].merged_into for ticket in tickets]


def of_one(count=1, **values):
    return TicketFactory.create_batch(count, sender="jan@client.example", **values)


def test_a_merged_ticket_is_never_the_target():
    gone, first, second = of_one(3)
    (elsewhere,) = of_one()
    merge_tickets(gone, elsewhere, ACTOR)
    client = superuser()

    asked = client.act(LIST, "merge_selected", gone, first, second)
    response = client.act(LIST, "merge_selected", gone, first, second, apply="1")

    assert f"All messages move to #{first.pk}" in asked.content.decode()
    assert f"Left out, because they were merged before: #{gone.pk}." in asked.content.decode()
    assert merged_into(gone, first, second) == [elsewhere, None, first]
    assert messages_of(response) == [
        "1 ticket changed.",
        f"Not changed: #{gone.pk}. The ticket was merged into ticket {elsewhere.pk}.",
    ]


def test_a_merge_needs_two_tickets_that_were_not_merged_before():
    gone, first, other = of_one(3)
    merge_tickets(gone, other, ACTOR)

    response = superuser().act(LIST, "merge_selected", gone, first, apply="1")

    assert messages_of(response) == [
        "Two tickets or more are merged that were not merged before.",
        f"Not changed: #{gone.pk}. The ticket was merged into ticket {other.pk}.",
    ]
    assert merged_into(gone, first) == [other, None]


def test_tickets_of_different_customers_are_merged_once_that_is_confirmed():
    jan, eva = CustomerFactory(surname="Nowak", email="jan@c.example"), CustomerFactory(surname="Lis", email="")
    first, second = TicketFactory(customer=jan), TicketFactory(customer=eva)
    client = superuser()

    asked = client.act(LIST, "merge_selected", first, second)
    refused = client.act(LIST, "merge_selected", first, second, apply="1")
    before = merged_into(second)
    client.act(LIST, "merge_selected", first, second, apply="1", is_meant="on")

    people = f"Merge tickets of different customers: {jan} (jan@c.example), {eva} ({eva.pk})"
    assert people in asked.content.decode()
    assert "Tick it, or do not merge." not in asked.content.decode()
    assert "Tick it, or do not merge." in refused.content.decode()
    assert (before, merged_into(second)) == ([None], [first])


def test_on_the_page_different_customers_are_named_and_confirmed():
    ticket, other = TicketFactory(of_customer=True), TicketFactory(of_customer=True)
    Message.objects.create(ticket=ticket, type="MAIL", body="x")
    client, path = superuser(), merge_page(ticket)

    asked = client.post(path, {"number": f"#{other.pk}", "shown": ""}).content.decode()
    inputs = inputs_of(asked)
    refused = client.post(path, inputs).content.decode()
    before = merged_into(ticket)
    client.post(path, {**inputs, "is_meant": "on"})

    assert "Merge tickets of different customers" in asked
    assert "Tick it, or do not merge." not in asked
    assert "Tick it, or do not merge." in refused
    assert (before, merged_into(ticket)) == ([None], [other])


def test_a_confirmation_is_valid_for_the_shown_ticket_only():
    ticket, other, third = TicketFactory.create_batch(3, of_customer=True)

    response = superuser().post(merge_page(ticket), {"number": str(third.pk), "shown": str(other.pk), "is_meant": "on"})

    assert f"#{third.pk}" in response.content.decode()
    assert "is_meant" not in inputs_of(response.content.decode())
    assert merged_into(ticket) == [None]


def test_people_are_distinguished_by_customer_and_address():
    jan = CustomerFactory(name="Jan", surname="Nowak", email="Jan@c.example")
    tickets = [
        TicketFactory(customer=jan, sender="other@c.example"),
        TicketFactory(sender="jan@C.example"),
        TicketFactory(sender="eva@c.example", sender_name="Eva"),
        TicketFactory(sender="Eva@c.example"),
        TicketFactory(sender=""),
    ]

    assert people_of(tickets) == ["Jan Nowak (Jan@c.example)", "Eva", "unknown"]
    assert len(people_of(tickets[:2])) == 1
