"""The demonstration: tickets of every kind and way, something for every agent, once, the same every time."""

from typing import Any

import pytest

from callcentre.demonstration import switchboard, tickets
from tests.conftest import kept_for_all
from tickets.models import Chat, Customer, Message, Source, StoredFile, Ticket, TicketStatus

pytestmark = pytest.mark.django_db

AGENTS = {f"agent{number}" for number in range(1, 6)}


@pytest.fixture(scope="module", autouse=True)
def _seeded(django_db_setup, django_db_blocker):
    def seed() -> None:
        switchboard.seed()
        tickets.seed()

    with kept_for_all(django_db_blocker, seed):
        yield


def test_tickets_are_of_all_kinds_and_every_agent_has_replied_commented_closed_and_chatted():
    assert Ticket.objects.count() == 60
    assert set(Ticket.objects.values_list("source", flat=True)) == set(Source.values)
    kinds = set(TicketStatus.objects.values_list("kind", flat=True))
    assert set(Ticket.objects.values_list("status__kind", flat=True)) == kinds
    for kind in ("REPLY", "COMMENT"):
        said = Message.objects.filter(type=kind, agent__isnull=False)
        assert set(said.values_list("agent__login", flat=True)) == AGENTS
    assert set(Ticket.objects.filter(closed_by__isnull=False).values_list("closed_by__login", flat=True)) == AGENTS
    assert set(Chat.objects.filter(closed_at__isnull=False).values_list("agent__login", flat=True)) == AGENTS
    assert Chat.objects.filter(agent=None).exists()
    for ticket in Ticket.objects.select_related("status").prefetch_related("messages"):
        times = sorted(message.created_at for message in ticket.messages.all())
        assert ticket.created_at <= times[0]
        assert times[-1] <= ticket.updated_at
        assert (ticket.closed_at is not None) == ticket.status.meaning.is_over


def test_a_client_finds_fields_companies_and_attachments_through_the_api(api):
    tickets = api.get("/api/tickets?include_custom_fields=true").json()["result"]
    companies = api.get("/api/companies").json()

    for name in ("order_number", "priority"):
        assert len({ticket["custom_fields"][name] for ticket in tickets} - {None}) >= 2
    assert any(ticket["custom_fields"] == {"order_number": None, "priority": None} for ticket in tickets)
    assert len(companies) == 2
    for company in companies:
        assert api.get(f"/api/tickets?company_id={company['company_id']}").json()["count"] > 0
    tokens = [token for ticket in tickets for message in ticket["messages"] for token in message["attachments"]]
    assert len(tokens) == StoredFile.objects.count() > 10
    download: Any = api.get(f"/api/files/{tokens[0]}")
    assert len(b"".join(download.streaming_content)) > 500
    assert any(message["ratings"] for ticket in tickets for message in ticket["messages"])
    assert any(ticket["connected_ticket_ids"] for ticket in tickets)


def test_a_second_time_adds_nothing():
    def counts() -> list[int]:
        models: list[Any] = [Ticket, Message, Customer, Chat, StoredFile]
        return [model.objects.count() for model in models]

    before = counts()
    tickets.seed()

    assert counts() == before
