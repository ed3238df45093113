"""Titles, breadcrumbs and refusals have names that people know; installed statuses are in their language."""

import re
from datetime import UTC, datetime

import pytest
from django.urls import reverse
from django.utils.translation import override

from callcentre.web import menu
from tests.backoffice import inputs_of, page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, AgentSessionFactory, AgentStateFactory
from tests.tickets.factories import (
    ChatFactory,
    CustomerChangeFactory,
    CustomerFactory,
    CustomerNumberFactory,
    DispatchFactory,
    MessageFactory,
    RatingFactory,
    ReceivedMailFactory,
    TicketFactory,
)
from tests.webhooks.factories import AttemptFactory, DeliveryFactory
from tickets.models import Dispatch, ReceivedMail, TicketStatus, TicketSubstatus
from tickets.verbs.tickets import edit_ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

AT = datetime(2026, 11, 7, 8, 5, tzinfo=UTC)
MANY = ["a@c.example", "b@c.example", "c@c.example"]


def anna():
    return AgentFactory(login="anna", name="", surname="")


@pytest.mark.parametrize(
    ("title", "make"),
    [
        ("jan@client.example, 2026-11-07 09:05", lambda: DispatchFactory(queued_at=AT)),
        ("a@c.example + 2, 2026-11-07 09:05", lambda: DispatchFactory(queued_at=AT, recipients=MANY)),
        (
            "marketplace: message, 2026-11-07 09:05",
            lambda: DispatchFactory(queued_at=AT, recipients=[], source="marketplace_message", header_id=""),
        ),
        ("2026-11-07 09:05, tester", lambda: CustomerChangeFactory(at=AT)),
        ("Where is it?", lambda: ReceivedMailFactory(subject="Where is it?")),
        ("jan@client.example, 2026-11-07 09:05", lambda: ReceivedMailFactory(subject="", received_at=AT)),
        ("2026-11-07 09:05", lambda: ReceivedMailFactory(subject="", sender="", received_at=AT)),
        ("★★★★☆", lambda: RatingFactory(value=4)),
        ("to the customer, 2026-11-07 09:05", lambda: MessageFactory(reply=True, created_at=AT)),
        ("Jan Kowal 2026-11-07 09:05", lambda: ChatFactory(created_at=AT)),
        ("anna, 2026-11-07 09:05", lambda: AgentSessionFactory(agent=anna(), started_at=AT)),
        ("anna, ready, 2026-11-07 09:05", lambda: AgentStateFactory(agent=anna(), kind="free", started_at=AT)),
        ("2026-11-07 09:05:00, 500", lambda: AttemptFactory(started_at=AT, status=500, error="")),
        ("event 7 to webhook 8", lambda: DeliveryFactory.build(event_id=7, webhook_id=8)),
    ],
)
def test_objects_have_names_that_people_know(title, make):
    assert str(make()) == title


@pytest.mark.parametrize("language", ["en", "pl"])
@pytest.mark.parametrize("model", [Dispatch, ReceivedMail])
def test_mail_has_one_name_in_the_menu_and_on_its_pages(model, language):
    with override(language):
        pages = [page for _area, pages, _is_folded in menu.MENU for page in pages]
        titles = [str(page.title).lower() for page in pages if page.name == model._meta.model_name]
        assert titles == [str(model._meta.verbose_name_plural)]


def test_customers_with_one_name_are_distinguishable_in_the_select_field():
    first = CustomerFactory(name="Jan", surname="Kowal", email="jan@c.example")
    second = CustomerFactory(name="Jan", surname="Kowal", email="")
    CustomerNumberFactory(customer=second, phone_number="22 555 01 07")
    third = CustomerFactory(name="Jan", surname="Kowal", email="")
    query = {"app_label": "tickets", "model_name": "ticket", "field_name": "customer", "term": "kowal"}

    found = superuser().get(reverse("admin:tickets_customer_choices"), query).json()["results"]

    assert {one["id"]: one["text"] for one in found} == {
        str(first.pk): "Jan Kowal (jan@c.example)",
        str(second.pk): "Jan Kowal (22 555 01 07)",
        str(third.pk): "Jan Kowal",
    }


@pytest.mark.parametrize("page", ["ticket_add", "customer_merge"])
def test_an_address_without_a_valid_customer_chooses_none(page):
    customer = CustomerFactory()
    path = reverse(f"admin:tickets_{page}", args=[] if page == "ticket_add" else [customer.pk])

    assert superuser().page(path, customer="abc", target="abc")


def test_an_address_fills_in_valid_values_only_and_inputs_of_rows_have_the_name_of_their_column():
    client = superuser()

    assert 'value="Nowak"' in client.page(reverse("admin:tickets_customer_add"), surname="Nowak", company="abc")
    # A screen reader reads each label aloud without the heading.
    assert 'aria-label="Opens"' in client.page(reverse("admin:telephony_queue_add"))


def test_breadcrumbs_begin_with_the_list():
    anna = AgentFactory(login="anna", name="Anna", surname="Nowak")
    admin = superuser()

    assert crumbs(admin.page(reverse("admin:telephony_agent_changelist"))) == ["Agents"]
    assert crumbs(admin.page(page_of(anna))) == ["Agents", str(anna)]


def crumbs(page):
    return re.findall(r"min-w-0 truncate tracking-tight[^>]*>([^<]+)</", page)


LIST = reverse("admin:tickets_ticketstatus_changelist")
POLISH = {"accept-language": "pl"}
KIND = TicketStatus.Kind


def in_polish(path: str) -> str:
    return superuser().get(path, headers=POLISH).content.decode()


def status(kind: str) -> TicketStatus:
    return TicketStatus.objects.get(kind=kind)


def test_status_is_shown_in_the_language_of_the_reader():
    ticket = TicketFactory(status=status(KIND.POSTPONED))

    assert "Odłożone" in in_polish(reverse("admin:tickets_ticket_changelist"))
    page = in_polish(page_of(ticket))
    assert ">Odłożone<" in page
    assert "Oczekuje na klienta" in page
    assert "Postponed" not in page
    assert ">Postponed<" in superuser().page(page_of(ticket))


def test_renamed_status_and_name_that_begins_like_an_installed_one_are_not_translated():
    postponed = status(KIND.POSTPONED)
    superuser().submit(page_of(postponed), name="Later")

    page = in_polish(page_of(TicketFactory(status=postponed)))

    assert ">Later<" in page
    # The label of the time is "Odłożone do".
    assert ">Odłożone<" not in page
    with override("pl"):
        assert str(TicketStatus(name="New - urgent")) == "New - urgent"
        assert str(TicketSubstatus(status=status(KIND.NEW), name="urgent")) == "Nowe - urgent"


def test_system_comment_is_stored_in_english_and_shown_in_polish():
    ticket = TicketFactory(status=status(KIND.NEW))
    refused = TicketSubstatus.objects.create(status=status(KIND.CLOSED), name="Refused")
    edit_ticket(ticket, ACTOR, substatus_id=refused.pk)

    page = in_polish(page_of(ticket))

    assert ticket.messages.get().system_comment == "Changed status from [New] to [Closed - Refused]"
    assert "Nowe" in page
    assert "Zamknięte - Refused" in page
    assert "Closed - Refused" not in page


def test_admin_shows_the_name_and_that_it_is_translated():
    new = status(KIND.NEW)

    page = in_polish(page_of(new))

    assert 'Nowe <span class="cc-subtle">New</span>' in in_polish(LIST)
    assert inputs_of(page)["name"] == "New"
    assert "brzmi „Nowe”" in page
    assert '<span class="cc-subtle">' not in superuser().page(LIST)


def test_api_returns_the_untranslated_name(api):
    TicketFactory(status=status(KIND.NEW))

    statuses = api.get("/api/ticket_statuses", headers=POLISH).json()
    ticket = api.get("/api/tickets", headers=POLISH).json()["result"][0]

    assert [one["name"] for one in statuses] == [*TicketStatus.objects.values_list("name", flat=True)]
    assert statuses[0]["name"] == ticket["full_status_name"] == "New"
