"""What an update finds: ledgers that were kept before there were rollups."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from reports.models import Rollup
from telephony.models import Agent, AgentSession, AgentState, LedgerChange
from tests.reports.asking import refresh
from tests.telephony.factories import AgentFactory, ConnectionFactory, OfferFactory
from tests.tickets.factories import ChatFactory, TicketFactory
from tickets.models import Chat, Ticket

pytestmark = pytest.mark.django_db

LONG_AGO = datetime(2025, 2, 3, 9, 30, tzinfo=UTC)


def apply(name: str, app: str = "reports") -> None:
    """Apply a migration that changes rows only to the database as it is."""
    loader = MigrationLoader(connection)
    migration = loader.get_migration(app, name)
    with connection.schema_editor() as editor:
        migration.apply(loader.project_state((app, name), at_end=False), editor)


def have_session(agent: Agent) -> None:
    AgentSession.objects.create(agent=agent, started_at=LONG_AGO, ended_at=LONG_AGO + timedelta(hours=1))


def have_state(agent: Agent) -> None:
    AgentState.objects.create(
        agent=agent, kind="free", started_at=LONG_AGO, ended_at=LONG_AGO + timedelta(hours=1), resumes_as=""
    )


def have_call(agent: Agent) -> None:
    ConnectionFactory(
        direction="OUTBOUND", agent=agent, created_at=LONG_AGO, ended_at=LONG_AGO + timedelta(minutes=1), state="ended"
    )


def have_chat(agent: Agent) -> None:
    chat = ChatFactory(agent=agent)
    Chat.objects.filter(pk=chat.pk).update(created_at=LONG_AGO, closed_at=LONG_AGO + timedelta(hours=1))


def have_ticket(agent: Agent) -> None:
    ticket = TicketFactory()
    Ticket.objects.filter(pk=ticket.pk).update(
        created_at=LONG_AGO, closed_by=agent, closed_at=LONG_AGO + timedelta(hours=1)
    )


@pytest.mark.parametrize("have", [have_session, have_state, have_call, have_chat, have_ticket])
def test_what_happened_before_there_were_rollups_is_noted_and_summed(have: Callable[[Any], None]) -> None:
    agents = AgentFactory.create_batch(2)
    have(agents[0])
    LedgerChange.objects.all().delete()

    apply("0002_note_history")

    noted = LedgerChange.objects.order_by("agent_id").values_list("agent_id", "since")
    assert list(noted) == [(agent.pk, LONG_AGO) for agent in agents]
    refresh()
    assert set(Rollup.objects.values_list("agent_id", flat=True)) == {agents[0].pk}


def test_where_nothing_happened_nothing_is_noted() -> None:
    AgentFactory()

    apply("0002_note_history")

    assert not LedgerChange.objects.exists()


def test_hours_in_which_a_phone_could_not_be_reached_are_summed_anew() -> None:
    failed = OfferFactory(offered_at=LONG_AGO, ended_at=LONG_AGO + timedelta(seconds=30), outcome="failed")
    OfferFactory(offered_at=LONG_AGO, ended_at=LONG_AGO + timedelta(seconds=30), outcome="not_answered")

    apply("0012_offers_to_phones_that_could_not_be_reached", "telephony")

    noted = LedgerChange.objects.values_list("agent_id", "since", "until")
    assert list(noted) == [(failed.agent_id, failed.offered_at, failed.ended_at)]
