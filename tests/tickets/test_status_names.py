"""The installed statuses: people read them in their language, programs use their names."""

import pytest
from django.urls import reverse
from django.utils.translation import override

from tests.backoffice import inputs_of, page_of, superuser
from tests.conftest import ACTOR, ApiClient
from tests.tickets.factories import TicketFactory
from tickets.models import TicketStatus, TicketSubstatus
from tickets.verbs.tickets import edit_ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

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
    assert "Odłożone" not in page
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


def test_api_returns_the_untranslated_name(api: ApiClient):
    TicketFactory(status=status(KIND.NEW))

    statuses = api.get("/api/ticket_statuses", headers=POLISH).json()
    ticket = api.get("/api/tickets", headers=POLISH).json()["result"][0]

    assert [one["name"] for one in statuses] == [*TicketStatus.objects.values_list("name", flat=True)]
    assert statuses[0]["name"] == ticket["full_status_name"] == "New"
