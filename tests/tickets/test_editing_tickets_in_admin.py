"""Edits of a ticket's subject, category and customer in the admin."""

import pytest
from django.urls import reverse

from tests.backoffice import inputs_of, messages_of, page_of, staff, superuser
from tests.conftest import ACTOR
from tests.tickets.factories import CustomerFactory, TicketCategoryFactory, TicketFactory
from tickets.models import Customer
from tickets.verbs.customer_merges import merge_customers
from tickets.verbs.tickets import edit_ticket
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def edit(client, ticket, **changes):
    inputs = inputs_of(client.page(page_of(ticket)))
    data = {name: value for name, value in inputs.items() if name.startswith(("p-", "initial-p-"))}
    return client.post(
        page_of(ticket), {**data, "do": "edit", **{f"p-{name}": value for name, value in changes.items()}}
    )


def test_subject_and_customer_are_changed_with_history_and_one_event():
    ticket, customer = TicketFactory(subject="Hello", of_customer=True), CustomerFactory(surname="Nowak")
    before = str(ticket.customer)

    response = edit(superuser(), ticket, subject="A broken kettle", customer=customer.pk)

    ticket.refresh_from_db()
    assert messages_of(response) == ["The ticket is changed."]
    assert (ticket.subject, ticket.customer) == ("A broken kettle", customer)
    assert ticket.history.get().changes == {
        "customer": [before, str(customer)],
        "subject": ["Hello", "A broken kettle"],
    }
    event = Event.objects.get(subject=f"ticket:{ticket.pk}")
    assert (event.action, event.payload["customer_id"]) == ("TICKET_UPDATED", customer.pk)


def test_the_customer_of_a_ticket_is_cleared():
    ticket = TicketFactory(of_customer=True)
    name = str(ticket.customer)

    edit(superuser(), ticket, customer="")

    ticket.refresh_from_db()
    assert ticket.customer is None
    assert ticket.history.get().changes == {"customer": [name, None]}


def test_a_category_is_cleared_and_comes_back():
    category = TicketCategoryFactory(name="Complaint")
    ticket = TicketFactory(category=category)
    supervisor = staff("view_ticket", "change_ticket")

    cleared = edit(supervisor, ticket, category="")
    ticket.refresh_from_db()
    assert messages_of(cleared) == ["The ticket is changed."]
    assert ticket.category_id is None
    assert ticket.history.get().changes == {"category": ["Complaint", None]}

    edit(supervisor, ticket, category=category.pk)
    ticket.refresh_from_db()
    assert ticket.category == category
    assert ticket.history.latest("pk").changes == {"category": [None, "Complaint"]}


@pytest.mark.parametrize("is_active", [True, False])
def test_an_inactive_category_of_a_ticket_is_kept(is_active):
    category = TicketCategoryFactory(is_active=is_active)
    ticket = TicketFactory(category=category, subject="Hello")

    edit(superuser(), ticket)
    assert ticket.history.count() == 0

    edit(superuser(), ticket, subject="A kettle")
    ticket.refresh_from_db()
    assert ticket.category == category
    assert ticket.history.get().changes == {"subject": ["Hello", "A kettle"]}


def test_a_category_chosen_meanwhile_is_not_cleared():
    client, ticket, theirs = superuser(), TicketFactory(category=TicketCategoryFactory()), TicketCategoryFactory()
    inputs = inputs_of(client.page(page_of(ticket)))
    edit_ticket(ticket, ACTOR, category_id=theirs.pk)

    told = client.post(page_of(ticket), {**inputs, "do": "edit", "p-category": ""})

    ticket.refresh_from_db()
    assert "category" in told.context["properties"].errors
    assert ticket.category == theirs


def test_an_empty_subject_is_refused():
    ticket = TicketFactory(subject="Hello")

    response = edit(superuser(), ticket, subject=" ")

    ticket.refresh_from_db()
    assert response.context["properties"].errors == {"subject": ["This field is required."]}
    assert (ticket.subject, ticket.history.count()) == ("Hello", 0)


def test_a_customer_who_was_merged_leads_to_the_one_who_stays():
    ticket, source, target = TicketFactory(), CustomerFactory(), CustomerFactory()
    merge_customers(source, target, ACTOR)

    edit(superuser(), ticket, customer=source.pk)

    ticket.refresh_from_db()
    assert ticket.customer == target


def test_concurrent_choices_of_a_customer_are_a_conflict():
    client, ticket, mine, theirs = superuser(), TicketFactory(), CustomerFactory(), CustomerFactory()
    inputs = inputs_of(client.page(page_of(ticket)))
    edit_ticket(ticket, ACTOR, customer_id=theirs.pk)

    told = client.post(page_of(ticket), {**inputs, "do": "edit", "p-customer": mine.pk})

    ticket.refresh_from_db()
    assert "customer" in told.context["properties"].errors
    assert ticket.customer == theirs


def test_without_the_right_to_view_customers_other_fields_can_be_edited():
    ticket = TicketFactory(of_customer=True, subject="Hello")
    customer = Customer.objects.get()
    client = staff("view_ticket", "change_ticket")

    page = client.page(page_of(ticket))
    edit(client, ticket, subject="A kettle", customer="")

    ticket.refresh_from_db()
    assert "p-customer" not in page
    assert reverse("admin:tickets_customer_change", args=[customer.pk]) not in page
    assert (ticket.subject, ticket.customer) == ("A kettle", customer)
