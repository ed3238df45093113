"""Edits of a ticket's properties on its page; merge, link and split."""

import pytest
from django.urls import reverse

from tests.backoffice import BackOffice, inputs_of, messages_of, page_of, staff, superuser
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    CustomerFactory,
    CustomFieldFactory,
    TicketCategoryFactory,
    TicketFactory,
    TicketQueueFactory,
    TicketSubstatusFactory,
)
from tickets.models import Customer, Message, Ticket, TicketStatus
from tickets.verbs.customers import merge_customers
from tickets.verbs.merges import merge_tickets
from tickets.verbs.tickets import edit_ticket
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def filled(client, ticket, **changes):
    """Return the input of the form of properties."""
    inputs = inputs_of(client.page(page_of(ticket)))
    data = {name: value for name, value in inputs.items() if name.startswith(("p-", "initial-p-"))}
    return {**data, "do": "edit", **{f"p-{name}": value for name, value in changes.items()}}


def edit(client, ticket, **changes):
    return client.post(page_of(ticket), filled(client, ticket, **changes))


def test_all_properties_are_changed_in_one_step_with_history_and_one_event():
    ticket, customer = TicketFactory(subject="Hello", of_customer=True), CustomerFactory(surname="Nowak")
    agent, queue, category = AgentFactory(), TicketQueueFactory(), TicketCategoryFactory()
    order, day = CustomFieldFactory(name="order"), CustomFieldFactory(name="day", type="date")
    closed, before = TicketStatus.objects.get(kind="closed"), str(ticket.customer)
    refused = TicketSubstatusFactory(status=closed, name="Refused")
    values = {"agent": agent.login, "queue": str(queue.pk), "category": str(category.pk), "tags": "vip, parcel ,vip"}
    values |= {"subject": "A broken kettle", "customer": customer.pk}
    custom = {f"field_{order.pk}": "12", f"field_{day.pk}": "2026-02-03"}

    response = edit(superuser(), ticket, status=f"u{refused.pk}", **values, **custom)

    ticket.refresh_from_db()
    assert messages_of(response) == ["The ticket is changed."]
    assert (ticket.agent, ticket.queue, ticket.category) == (agent, queue, category)
    assert (ticket.status, ticket.substatus, ticket.closed_by) == (closed, refused, agent)
    assert (ticket.subject, ticket.customer, ticket.tags) == ("A broken kettle", customer, ["vip", "parcel"])
    assert ticket.custom_fields == {str(order.pk): "12", str(day.pk): "2026-02-03"}
    change = ticket.history.get()
    names = {"agent", "queue", "category", "status", "tags", "custom_fields", "customer", "subject"}
    assert (change.actor_kind, set(change.changes)) == ("user", names)
    assert change.changes["customer"] == [before, str(customer)]
    assert change.changes["subject"] == ["Hello", "A broken kettle"]
    event = Event.objects.get(subject=f"ticket:{ticket.pk}")
    assert (event.action, event.payload["customer_id"]) == ("TICKET_UPDATED", customer.pk)


def test_a_ticket_is_taken_from_its_agent_and_its_values_are_cleared():
    field = CustomFieldFactory(name="order")
    category = TicketCategoryFactory(name="Complaint")
    values = {"tags": ["a"], "custom_fields": {str(field.pk): "12"}, "of_customer": True, "category": category}
    ticket = TicketFactory(agent=AgentFactory(), **values)
    name = str(ticket.customer)

    edit(superuser(), ticket, agent="", tags="", customer="", category="", **{f"field_{field.pk}": ""})

    ticket.refresh_from_db()
    assert (ticket.agent, ticket.tags, ticket.custom_fields) == (None, [], {})
    assert (ticket.customer, ticket.category) == (None, None)
    changes = ticket.history.get().changes
    assert (changes["customer"], changes["category"]) == ([name, None], ["Complaint", None])


def test_faults_are_shown_at_their_fields_and_nothing_is_changed():
    field = CustomFieldFactory(name="weight", type="number")
    ticket = TicketFactory()

    response = edit(superuser(), ticket, tags="new", **{f"field_{field.pk}": "heavy"})
    empty = edit(superuser(), ticket, subject=" ")

    ticket.refresh_from_db()
    assert response.context["properties"].errors == {f"field_{field.pk}": ["This is no number."]}
    assert empty.context["properties"].errors == {"subject": ["This field is required."]}
    assert 'value="heavy"' in response.content.decode()
    assert ticket.tags == []


def test_concurrent_changes_of_different_properties_are_both_kept():
    client, ticket = superuser(), TicketFactory()
    data = filled(client, ticket, tags="mine")
    agent = AgentFactory()
    edit_ticket(ticket, ACTOR, agent_login=agent.login)

    client.post(page_of(ticket), data)

    ticket.refresh_from_db()
    assert (ticket.agent, ticket.tags) == (agent, ["mine"])


@pytest.mark.parametrize("name", ["tags", "category", "customer"])
def test_concurrent_changes_of_one_property_are_a_conflict(name):
    mine, theirs = (
        {"tags": [word], "category": TicketCategoryFactory(), "customer": CustomerFactory()}[name]
        for word in ("mine", "theirs")
    )
    client, ticket = superuser(), TicketFactory(category=TicketCategoryFactory())
    data = filled(client, ticket, **{name: "mine" if name == "tags" else mine.pk})
    edit_ticket(ticket, ACTOR, **({"tags": theirs} if name == "tags" else {f"{name}_id": theirs.pk}))

    told = client.post(page_of(ticket), data)
    ticket.refresh_from_db()
    before = getattr(ticket, name)
    client.post(page_of(ticket), {**inputs_of(told.content.decode()), "do": "edit"})

    ticket.refresh_from_db()
    assert told.context["properties"].errors == {
        name: ["Another user has changed this meanwhile. Save again to set yours."]
    }
    assert (before, getattr(ticket, name)) == (theirs, mine)


def test_an_agent_takes_a_ticket():
    agent, ticket = AgentFactory(user=UserFactory(admin=True)), TicketFactory()
    client = BackOffice()
    client.force_login(agent.user)

    response = client.post(page_of(ticket), {"do": "take"})

    ticket.refresh_from_db()
    assert (ticket.agent, messages_of(response)) == (agent, ["The ticket is yours."])
    assert superuser().post(page_of(ticket), {"do": "take"}).status_code == 403


def test_the_history_shows_person_and_values():
    ticket = TicketFactory()
    field = CustomFieldFactory(name="order")
    edit_ticket(ticket, ACTOR, tags=["vip"], custom_fields={"order": "12"}, agent_login=AgentFactory(login="eva").login)

    page = " ".join(superuser().page(page_of(ticket)).split())

    assert "tester <strong>edited</strong>" in page
    assert f"{field.name}: <ins>12</ins>" in page
    assert "tags: <ins>vip</ins>" in page


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


def test_a_customer_who_was_merged_leads_to_the_one_who_stays():
    ticket, source, target = TicketFactory(), CustomerFactory(), CustomerFactory()
    merge_customers(source, target, ACTOR)

    edit(superuser(), ticket, customer=source.pk)

    ticket.refresh_from_db()
    assert ticket.customer == target


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


def test_other_tickets_of_the_customer_are_suggested_for_a_merge():
    customer = CustomerFactory()
    ticket, other = TicketFactory(customer=customer), TicketFactory(customer=customer, subject="The first one")
    stranger = TicketFactory(subject="Of somebody else")
    client, path = superuser(), page_of(ticket, "merge")

    offered = client.get(path).content.decode()
    # The address of a suggestion alone merges nothing.
    assert client.get(path, {"number": other.pk, "shown": other.pk, "is_meant": "on"}).status_code == 200
    assert Ticket.objects.get(pk=ticket.pk).merged_into is None
    asked = client.get(path, {"number": other.pk}).content.decode()
    done = client.post(path, inputs_of(asked))

    ticket.refresh_from_db()
    assert f'href="?number={other.pk}"' in offered
    assert f"?number={stranger.pk}" not in offered
    assert "The first one" in asked
    assert (ticket.merged_into, done["Location"]) == (other, page_of(other))


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        ("x", "A ticket&#x27;s number has digits only."),
        ("999999", "There is no ticket with this number."),
        ("self", "This is the ticket itself."),
        ("merged", "The ticket was merged into ticket"),
    ],
)
def test_a_wrong_number_is_refused(number, sentence):
    ticket, merged = TicketFactory(), TicketFactory()
    merge_tickets(merged, TicketFactory(), ACTOR)
    number = {"self": str(ticket.pk), "merged": str(merged.pk)}.get(number, number)

    response = superuser().post(page_of(ticket, "merge"), {"number": number, "shown": number})

    assert sentence in response.content.decode()
    assert not Message.objects.filter(ticket=ticket).exists()


def test_tickets_are_connected_also_those_of_different_customers():
    one, other = TicketFactory.create_batch(2, of_customer=True)
    client = superuser()

    client.post(page_of(one, "connect"), {"number": str(other.pk), "shown": str(other.pk)})

    assert page_of(one) in client.page(page_of(other))
    assert page_of(other) in client.page(page_of(one))


def test_messages_are_split_off():
    ticket = TicketFactory(subject="Two things")
    messages = [Message.objects.create(ticket=ticket, type="MAIL", body=f"<p>thing {n}</p>") for n in range(3)]
    client, path = superuser(), page_of(ticket, "split")

    page = client.page(path, message=str(messages[1].pk))
    client.post(path, {"messages": [messages[1].pk, messages[2].pk], "subject": "The second thing"})

    other = Ticket.objects.exclude(pk=ticket.pk).get()
    assert "thing 1" in page
    assert (other.subject, other.messages.count(), ticket.messages.count()) == ("The second thing", 2, 1)
    assert page_of(other) in client.page(page_of(ticket))


@pytest.mark.parametrize("chosen", ["none", "all"])
def test_some_messages_are_split_off_and_not_all(chosen):
    ticket = TicketFactory()
    message = Message.objects.create(ticket=ticket, type="MAIL", body="x")
    numbers = [message.pk] if chosen == "all" else []

    response = superuser().post(page_of(ticket, "split"), {"messages": numbers, "subject": "New"})

    page = response.content.decode()
    assert "Some of the messages, and not all of them" in page
    assert 'value="New"' in page
    assert Ticket.objects.count() == 1


def test_a_ticket_is_opened_on_behalf_of_a_customer():
    agent, customer, queue = AgentFactory(user=UserFactory(admin=True)), CustomerFactory(), TicketQueueFactory()
    client = BackOffice()
    client.force_login(agent.user)
    add = reverse("admin:tickets_ticket_add")
    values = {"body": "The kettle\ndoes not boil", "customer": customer.pk, "queue": queue.pk}

    client.submit(f"{add}?customer={customer.pk}", expected=200, **values)
    assert not Ticket.objects.exists()
    response = client.submit(f"{add}?customer={customer.pk}", subject="Called", **values)

    ticket = Ticket.objects.get()
    assert response.url == page_of(ticket)
    assert (ticket.source, ticket.customer, ticket.queue, ticket.agent) == ("phone", customer, queue, agent)
    assert ticket.messages.get().body == "The kettle\ndoes not boil"
    assert staff("view_ticket", "change_ticket").get(add).status_code == 403
