"""The limit of mails of one sender, mails of contact forms, and the quarantine on the start page."""

from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from callcentre.overview.figures import MAILS_COUNTED
from tests.backoffice import BackOffice, staff, superuser
from tests.overview.reading import notes_of
from tests.tickets.factories import CustomerFactory, ReceivedMailFactory, TicketQueueFactory
from tests.tickets.mails import a_mail, taken
from tickets.models import Ticket, TicketQueue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "own_storage")]

FORM = {"From": "Contact form <help@us.example>", "Reply_To": "Jan Kowal <jan@client.example>"}


def sent(count: int, queue: TicketQueue | None, sender: str = "shop@partner.example") -> list[str]:
    return [taken(a_mail(f"Order {n}", From=sender), queue).outcome for n in range(count)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["stored"] * 3),
        ({"sender_limit": 2}, ["stored", "stored", "quarantined"]),
        ({"sender_limit": None}, ["stored"] * 3),
        ({"sender_limit": 2, "unlimited_senders": "other@partner.example\r\nSHOP@partner.example"}, ["stored"] * 3),
        ({"sender_limit": 2, "unlimited_senders": "Partner.example"}, ["stored"] * 3),
        ({"sender_limit": 2, "unlimited_senders": "example"}, ["stored", "stored", "quarantined"]),
        ({"sender_limit": 2, "unlimited_senders": "hop@partner.example"}, ["stored", "stored", "quarantined"]),
    ],
)
def test_a_queue_limits_the_mails_of_one_sender(values, expected):
    queue = TicketQueueFactory(address="help@us.example", **values)

    assert sent(3, queue) == expected


def test_piped_mail_has_the_limit_of_the_queue_it_was_sent_to():
    TicketQueueFactory(sender_limit=1)
    TicketQueueFactory(address="help@us.example", sender_limit=2)

    assert sent(3, None) == ["stored", "stored", "quarantined"]


def test_a_mail_that_came_by_two_ways_counts_once():
    queue = TicketQueueFactory(address="help@us.example", sender_limit=2)
    sender = "shop@partner.example"
    first = a_mail("Order 1", From=sender, Message_ID="<1@partner.example>")

    copies = [b"Delivered-To: help@us.example\n" + first, b"Delivered-To: info@us.example\n" + first]
    outcomes = [taken(raw, queue).outcome for raw in (first, *copies)]

    assert outcomes == ["stored", "ignored", "ignored"]
    assert sent(2, queue, sender) == ["stored", "quarantined"]


def test_rows_of_old_code_have_the_old_limit():
    queue = TicketQueueFactory()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, column_default FROM information_schema.columns"
            " WHERE table_name = 'tickets_ticketqueue'"
            " AND column_name IN ('sender_limit', 'unlimited_senders') ORDER BY column_name"
        )
        assert [default for _name, default in cursor.fetchall()] == ["50", "''::text"]
    assert queue.sender_limit == 50


@pytest.mark.parametrize(
    ("entries", "is_taken"),
    [("shop@partner.example\npartner.example", True), ("a..b@mobile.example", True), ("shop@", False), ("*", False)],
)
def test_the_list_of_senders_is_addresses_and_domains(entries, is_taken):
    queue = TicketQueueFactory()
    page = reverse("admin:tickets_ticketqueue_change", args=[queue.pk])

    response = superuser().submit(
        page, expected=302 if is_taken else 200, unlimited_senders=entries, sender_limit="7", language="en"
    )

    queue.refresh_from_db()
    assert queue.sender_limit == (7 if is_taken else 50)
    if not is_taken:
        assert f"{entries} is neither an address nor a domain." in response.content.decode()


def test_a_form_is_read_by_its_reply_to():
    queue, customer = TicketQueueFactory(address="Help@us.example"), CustomerFactory(email="jan@client.example")

    mail = taken(a_mail(**FORM), queue)

    ticket = Ticket.objects.get()
    assert mail.outcome == "stored"
    assert (ticket.sender, ticket.sender_name, ticket.customer) == ("jan@client.example", "Jan Kowal", customer)
    message = ticket.messages.get()
    assert (message.author_address, message.author_name) == ("jan@client.example", "Jan Kowal")


def test_a_form_counts_towards_the_limit_of_the_person_who_filled_it_in():
    queue = TicketQueueFactory(address="help@us.example", sender_limit=1)
    people = ["jan@client.example", "eva@client.example", "jan@client.example"]

    outcomes = [
        taken(a_mail(f"{n}", From="help@us.example", Reply_To=who), queue).outcome for n, who in enumerate(people)
    ]

    assert outcomes == ["stored", "stored", "quarantined"]


@pytest.mark.parametrize("answers_to", [{}, {"Reply_To": "HELP@us.example"}, {"Reply_To": "Sales <sales@us.example>"}])
def test_our_own_mail_is_no_form(answers_to):
    queue = TicketQueueFactory(address="help@us.example")
    TicketQueueFactory(address="sales@us.example")

    mail = taken(a_mail(From="help@us.example", **answers_to), queue)

    assert (mail.outcome, Ticket.objects.count()) == ("quarantined", 0)

    # Nor is the mail of a customer whose answers go to us.
    assert taken(a_mail(Reply_To="help@us.example"), queue).outcome == "quarantined"


def quarantine(client: BackOffice) -> Any:
    return notes_of(client).get("quarantine")


def test_the_start_page_counts_the_quarantine_up_to_its_limit():
    ReceivedMailFactory()
    client = superuser()
    assert quarantine(client) is None
    ReceivedMailFactory.create_batch(2, quarantined=True)

    assert quarantine(client)["text"].startswith("2 mails became no tickets")
    assert "2 mails became no tickets" in client.get(reverse("admin:index")).content.decode()
    listed = client.get(quarantine(client)["url"]).context["cl"].result_list
    assert [mail.outcome for mail in listed] == ["quarantined"] * 2
    assert quarantine(staff()) is None
    ReceivedMailFactory.create_batch(MAILS_COUNTED + 3, quarantined=True)
    assert quarantine(client)["text"].startswith("99+ mails")
