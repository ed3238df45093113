"""Each write of a ledger is in the log, however it is done and whatever the worker sums meanwhile; and the nightly
comparison, which would find one that is not.
"""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from random import sample
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from callcentre.core.times import zone
from reports import comparison, ledgers, rollups
from reports.models import Rollup, RollupProgress
from telephony.models import AgentSession, AgentState, Connection, Consultation, LedgerChange, Offer, Talk
from tests.reports.asking import ask, refresh
from tests.reports.reference import Reference
from tests.reports.scenes import Cast, cast
from tests.tickets.factories import TicketFactory
from tests.tiers import examples
from tickets.models import Chat, ChatMessage, Message, Ticket

AT = datetime(2026, 6, 10, 12, 20, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
END, NOW = AT + 3 * MINUTE, AT + 2 * DAY
MONTH = (datetime(2026, 6, 1, tzinfo=zone()), datetime(2026, 7, 1, tzinfo=zone()))
ASKED = {"hour": (AT - 2 * HOUR, AT + 2 * HOUR), "day": (MONTH[0] + 8 * DAY, MONTH[0] + 12 * DAY), "month": MONTH}


def lots(people: Cast) -> list[list[Any]]:
    """Return rows of each ledger, two agents' each, for bulk inserts in this order."""
    queue, pause = people.queues[0], people.pauses[0]
    past = {"created_at": AT, "answered_at": AT + MINUTE, "ended_at": END, "state": "ended", "disposition": "ANSWERED"}
    offer = {"queue": queue, "offered_at": AT, "answered_at": AT + MINUTE, "transferred_at": END, "outcome": "answered"}
    of_each: list[list[Any]] = []
    for agent, ticket_queue in zip(people.agents, people.ticket_queues, strict=True):
        out, transferred, inbound = (
            Connection(direction=direction, has_talks=has_talks, agent=agent, queue=queue, **past)
            for direction, has_talks in (("OUTBOUND", False), ("OUTBOUND", True), ("INBOUND", False))
        )
        chat = Chat(agent=agent, queue=queue, created_at=AT, closed_at=END)
        ticket = TicketFactory.build(
            queue=ticket_queue, closed_by=agent, closed_at=END, status=people.tickets[0].status
        )
        of_each.append(
            [
                AgentSession(agent=agent, started_at=AT, ended_at=END),
                AgentState(agent=agent, kind="paused", pause=pause, started_at=AT, ended_at=END),
                *(out, transferred, inbound),
                Offer(connection=inbound, agent=agent, ended_at=END, **offer),
                Consultation(
                    connection=inbound, from_agent=agent, agent=agent, asked_at=AT, up_at=AT + MINUTE, ended_at=END
                ),
                Talk(connection=transferred, agent=agent, queue=queue, counted_at=AT, started_at=AT, ended_at=END),
                chat,
                ChatMessage(chat=chat, agent=agent, body="?", created_at=END),
                ticket,
                Message(ticket=ticket, type="REPLY", agent=agent, created_at=END),
            ]
        )
    return [list(pair) for pair in zip(*of_each, strict=True)]


def write(rows: list[Any]) -> None:
    type(rows[0]).objects.bulk_create(rows)


def updates(people: Cast) -> list[tuple[Any, dict[str, Any]]]:
    """Return changes of rows that change the report, of each column that counts."""
    queue, ticket_queue = people.queues[1], people.ticket_queues[1]
    later, earlier = END + HOUR, AT - HOUR
    return [
        *((AgentSession, change) for change in ({"ended_at": later}, {"started_at": earlier}, {"ended_at": None})),
        *(
            (AgentState, change)
            for change in ({"ended_at": later}, {"kind": "talking", "pause": None}, {"pause": people.pauses[1]})
        ),
        *((Offer, change) for change in ({"ended_at": later}, {"outcome": "failed"}, {"queue": queue})),
        *((Offer, change) for change in ({"answered_at": END}, {"transferred_at": None}, {"offered_at": earlier})),
        *((Connection, change) for change in ({"ended_at": later}, {"answered_at": None}, {"queue": None})),
        (Connection, {"agent": None}),
        *((Talk, change) for change in ({"ended_at": later}, {"counted_at": earlier}, {"started_at": END})),
        *((Consultation, change) for change in ({"ended_at": later}, {"up_at": None}, {"asked_at": earlier})),
        *((Consultation, change) for change in ({"joined_at": END - MINUTE}, {"agent": None})),
        *((Talk, change) for change in ({"queue": None}, {"agent": people.agents[0]})),
        *((Chat, change) for change in ({"closed_at": later}, {"closed_at": None}, {"queue": queue}, {"agent": None})),
        *((ChatMessage, change) for change in ({"created_at": later}, {"agent": None})),
        *((Ticket, change) for change in ({"closed_at": later}, {"closed_by": None}, {"queue": ticket_queue})),
        *((Message, change) for change in ({"created_at": later}, {"type": "COMMENT"}, {"agent": None})),
        (Message, {"ticket": people.tickets[0]}),
    ]


def assert_right(people: Cast, doing: object = None) -> None:
    """Compare hours, the days of the first queues, and the month with the definitions."""
    for aggregation, span in ASKED.items():
        queues = [people.queues[0].pk, people.ticket_queues[0].pk] if aggregation == "day" else None
        expected = Reference(zone(), NOW).report(people.agents, span, aggregation, queues=queues)
        assert ask(people.agents, span, aggregation, NOW, queues=queues) == expected, (doing, aggregation)


def test_each_table_of_which_rollups_are_made_has_the_triggers(db):
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname LIKE 'reports_log_%'")
        found = sorted(table for (table,) in cursor.fetchall())

    tables = {*re.findall(r"\w+", ledgers.ROWS)} & {*connection.introspection.table_names()}
    assert found == sorted([*tables] * 3)
    assert tables == {rows[0]._meta.db_table for rows in lots(cast())}


def summed_up(people: Cast, doing: object = None) -> None:
    refresh()
    assert not LedgerChange.objects.exists()
    assert_right(people, doing)


@pytest.mark.slow("writes every ledger")
def test_a_write_by_sql_is_in_the_report_before_and_after_it_is_summed(db):
    people = cast()
    summed_up(people)
    for rows in lots(people):
        write(rows)
        refresh()
    summed_up(people)
    acts: list[Callable[[], object]] = [partial(model.objects.update, **change) for model, change in updates(people)]
    acts += [
        partial(delete, *models)
        for models in (
            (AgentSession,),
            (AgentState,),
            (Offer,),
            (Consultation,),
            (Message,),
            (Talk, Offer, Consultation, Connection),
            (ChatMessage,),
            (Chat, ChatMessage),
            (Message, Ticket),
        )
    ]
    acts += [partial(copy_chat, people)]
    for act in sample(acts, examples(len(acts))):
        with transaction.atomic():
            act()
            assert LedgerChange.objects.exists(), act
            assert_right(people, act)
            summed_up(people, act)
            transaction.set_rollback(True)


def delete(*every: Any) -> None:
    for model in every:
        model.objects.all()._raw_delete("default")


def copy_chat(people: Cast) -> None:
    columns = "id, client_name, client_email, queue_id, agent_id, created_at, closed_at"
    with connection.cursor() as cursor, cursor.copy(f"COPY tickets_chat ({columns}) FROM STDIN") as copy:
        copy.write_row([uuid4(), "C", "", people.queues[0].pk, people.agents[0].pk, AT, END])


@pytest.mark.slow("runs threads")
def test_a_worker_that_sums_between_and_inside_bulk_inserts_loses_none(committed_db):
    people = cast()
    for first, second in lots(people):
        with transaction.atomic():
            write([first])
            in_a_worker()
            write([second])
        in_a_worker()
    assert not LedgerChange.objects.exists()
    assert_right(people)


def in_a_worker() -> None:
    """Sum in another thread, with a connection of its own."""

    def run() -> None:
        try:
            assert rollups.bring_up_to_date(NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()


@pytest.fixture
def kept(db):
    """Return the cast of ledgers that are summed."""
    people = cast()
    for rows in lots(people):
        write(rows)
    summed_up(people)
    return people


def lose_one() -> None:
    Rollup.objects.filter(level=1, queue_id=0).earliest("pk").delete()


def spoil_a_month() -> None:
    Rollup.objects.filter(level=4).update(talk_seconds=1)


def keep_one_too_many() -> None:
    row = Rollup.objects.filter(level=2).earliest("pk")
    row.started_at -= DAY
    row.save(force_insert=True)


@pytest.mark.parametrize("spoil", [lose_one, spoil_a_month, keep_one_too_many])
def test_the_comparison_finds_what_differs_and_has_it_summed_anew(spoil, kept, caplog):
    assert comparison.compare_sample(NOW) == 0
    spoil()

    assert comparison.compare_sample(NOW) > 0
    assert "rollups differed from the ledgers" in caplog.text
    summed_up(kept)
    assert comparison.compare_sample(NOW) == 0


def test_what_is_stale_or_final_is_not_compared(kept):
    spoil_a_month()
    rollups.log_everything(AT, END)
    assert comparison.compare_sample(NOW) == 0
    LedgerChange.objects.all().delete()

    RollupProgress.objects.create(level=RollupProgress.FINAL, until=MONTH[1])
    assert comparison.compare_sample(NOW) == 0


def test_rollups_of_time_whose_ledgers_are_gone_stay_and_are_shown(kept):
    expected = {length: ask(kept.agents, MONTH, length, NOW) for length in ASKED}
    RollupProgress.objects.create(level=RollupProgress.FINAL, until=MONTH[1])
    delete(Offer, Talk, Consultation, ChatMessage, Chat, Message, AgentState, AgentSession, Connection)

    assert LedgerChange.objects.exists()
    assert {length: ask(kept.agents, MONTH, length, NOW) for length in ASKED} == expected
    refresh()
    assert {length: ask(kept.agents, MONTH, length, NOW) for length in ASKED} == expected
