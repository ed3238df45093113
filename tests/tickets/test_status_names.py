"""The statuses that every service begins with: people read them in their language, programs know their names."""

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


def test_a_ticket_bears_its_status_in_the_language_of_who_looks():
    ticket = TicketFactory(status=status(KIND.POSTPONED))

    assert "Odłożone" in in_polish(reverse("admin:tickets_ticket_changelist"))
    page = in_polish(page_of(ticket))
    assert ">Odłożone<" in page
    assert "Oczekuje na klienta" in page
    assert "Postponed" not in page
    assert ">Postponed<" in superuser().page(page_of(ticket))


def test_a_status_that_was_renamed_is_shown_as_it_is_named():
    postponed = status(KIND.POSTPONED)
    superuser().submit(page_of(postponed), name="Later")

    page = in_polish(page_of(TicketFactory(status=postponed)))

    assert ">Later<" in page
    assert "Odłożone" not in page


def test_a_name_that_only_begins_like_one_of_ours_is_nobody_elses():
    with override("pl"):
        assert str(TicketStatus(name="New - urgent")) == "New - urgent"
        assert str(TicketSubstatus(status=status(KIND.NEW), name="urgent")) == "Nowe - urgent"


def test_a_move_is_kept_in_english_and_read_in_polish():
    ticket = TicketFactory(status=status(KIND.NEW))
    refused = TicketSubstatus.objects.create(status=status(KIND.CLOSED), name="Refused")
    edit_ticket(ticket, ACTOR, substatus_id=refused.pk)

    page = in_polish(page_of(ticket))

    assert ticket.messages.get().system_comment == "Changed status from [New] to [Closed - Refused]"
    assert "Nowe" in page
    assert "Zamknięte - Refused" in page
    assert "Closed - Refused" not in page


def test_the_list_says_what_programs_know_a_status_by_and_its_page_that_it_is_translated():
    new = status(KIND.NEW)

    page = in_polish(page_of(new))

    assert 'Nowe <span class="cc-subtle">New</span>' in in_polish(LIST)
    assert inputs_of(page)["name"] == "New"
    assert "brzmi „Nowe”" in page
    assert "cc-subtle" not in superuser().page(LIST)


def test_the_api_knows_one_name(api: ApiClient):
    TicketFactory(status=status(KIND.NEW))

    statuses = api.get("/api/ticket_statuses", headers=POLISH).json()
    ticket = api.get("/api/tickets", headers=POLISH).json()["result"][0]

    assert [one["name"] for one in statuses] == [*TicketStatus.objects.values_list("name", flat=True)]
    assert statuses[0]["name"] == ticket["full_status_name"] == "New"
