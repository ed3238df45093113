"""What an update finds: ledgers that were kept before there were rollups."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from callcentre.core.times import zone
from reports import rollups
from reports.models import Rollup, RollupProgress
from telephony.models import Agent, AgentSession, AgentState, LedgerChange
from tests.reports.asking import ask, refresh
from tests.reports.reference import Reference
from tests.reports.scenes import Scene, cast
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


def test_an_update_sums_everything_anew_and_reports_are_right_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    people = cast()
    scene = Scene(people, LONG_AGO, 7)
    scene.play()
    now = scene.now
    # As the release before leaves it: everything is summed, in the former table.
    LedgerChange.objects.all().delete()
    RollupProgress.objects.all().delete()

    apply("0010_sum_anew")

    monkeypatch.setattr(rollups, "MOST_HOURS", 1)
    portions = 0
    while True:
        for aggregation in ("hour", "day", "month"):
            span = scene.span(aggregation)
            expected = Reference(zone(), now).report(people.agents, span, aggregation)
            assert ask(people.agents, span, aggregation, now) == expected
        if not rollups.refresh():
            break
        portions += 1
    assert portions == Agent.objects.count()
    assert set(Rollup.objects.values_list("level", flat=True)) == {1, 2, 4}
    assert not LedgerChange.objects.exists()


@pytest.mark.parametrize("table", ["reports_rollup", "reports_stalerollup"])
def test_a_worker_of_the_release_before_cannot_write_in_its_tables(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        assert cursor.fetchone() == (0,)
        with pytest.raises(IntegrityError, match="is_read_only"), transaction.atomic():
            cursor.execute(
                f"INSERT INTO {table} SELECT (jsonb_populate_record(NULL::{table}, defaults)).* FROM ("
                "SELECT jsonb_object_agg(column_name, CASE data_type WHEN 'ARRAY' THEN '[]'::jsonb"
                " WHEN 'timestamp with time zone' THEN to_jsonb(now()) WHEN 'boolean' THEN 'true' ELSE '1' END"
                ") AS defaults FROM information_schema.columns WHERE table_name = %s) row",
                [table],
            )


def test_hours_in_which_a_phone_could_not_be_reached_are_summed_anew() -> None:
    failed = OfferFactory(offered_at=LONG_AGO, ended_at=LONG_AGO + timedelta(seconds=30), outcome="failed")
    OfferFactory(offered_at=LONG_AGO, ended_at=LONG_AGO + timedelta(seconds=30), outcome="not_answered")
    LedgerChange.objects.all().delete()

    apply("0012_offers_to_phones_that_could_not_be_reached", "telephony")

    noted = LedgerChange.objects.values_list("agent_id", "since", "until")
    assert list(noted) == [(failed.agent_id, failed.offered_at, failed.ended_at)]
