"""Keeping the rollups current: which are stale is written in rows, and each run is one transaction that can be lost.

An hour is summed from the ledgers as soon as it has changed; a longer period from shorter ones, once it is over. What a
run reads and what it deletes is of one snapshot: a change that it does not see keeps its entry.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from psycopg import sql

from callcentre.core.times import zone
from reports import ledgers
from reports.builder import snapshot
from reports.covering import Span, union
from reports.ledgers import Slots, Stretch
from reports.measures import COUNTS, Measures
from reports.models import Rollup, column_names
from reports.periods import FIRST, LAST, RESOLUTION, Level, borders, end_of, start_of
from reports.stored import array
from telephony.verbs import ledger_changes

# Who sums is alone.
_LOCK = 0x726F6C6C
# Of one transaction: entries of the log, and hours of agents.
MOST_ENTRIES, MOST_HOURS = 20_000, 50_000
MOST_MARKS = 2_000
# A period that has just ended is left alone for so long: the last calls of it are about to end.
REST = timedelta(minutes=2)
FINER = {
    Level.DAY: (Level.HOUR,),
    Level.WEEK: (Level.HOUR, Level.DAY),
    Level.MONTH: (Level.HOUR, Level.DAY),
    Level.YEAR: (Level.HOUR, Level.DAY, Level.MONTH),
}

_ENTRIES = """
SELECT id, agent_id, GREATEST(since, %s), LEAST(until, %s) FROM telephony_ledgerchange ORDER BY id LIMIT %s
"""
_HOURS_LEFT = """
SELECT COALESCE(sum(1 + extract(epoch FROM LEAST(until, %s) - GREATEST(since, %s)) / 3600), 0)::bigint
FROM telephony_ledgerchange
"""
_MARK = """
INSERT INTO reports_stalerollup (level, agent_id, started_at)
SELECT * FROM unnest(%s::int[], %s::bigint[], %s::timestamptz[]) ON CONFLICT DO NOTHING
"""
# Named one by one, because the index of the rollups has them before the agent.
EVERY_QUEUE = """(
  SELECT 0::bigint AS id UNION ALL SELECT id FROM telephony_queue UNION ALL SELECT id FROM tickets_ticketqueue
) queue"""
_DELETE = f"""
DELETE FROM reports_rollup r
USING unnest(%s::bigint[], %s::timestamptz[], %s::timestamptz[]) AS t(agent_id, a, b), {EVERY_QUEUE}
WHERE r.level = %s AND r.queue_id = queue.id AND r.agent_id = t.agent_id AND r.started_at >= t.a AND r.started_at < t.b
"""  # noqa: S608
_COLUMNS = column_names(Rollup)
_OF_COUNTS = [name for name in COUNTS if name != "not_answered"]


@contextmanager
def alone() -> Iterator[bool]:
    """Whether nobody else sums at this time; then nobody does until this is over, however it ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        is_ours: bool = cursor.fetchone()[0]
        try:
            yield is_ours
        finally:
            if is_ours:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def refresh() -> int:
    """Sum anew the hours that the log names, oldest entries first. How many there were; 0 when nothing is left."""
    with snapshot(), connection.cursor() as cursor:
        cursor.execute(_ENTRIES, [FIRST, LAST, MOST_ENTRIES])
        entries = cursor.fetchall()
        if not entries:
            return 0
        done, stretches, rest = _portion(entries)
        hours = _sum_hours(stretches)
        replace(Level.HOUR, stretches, hours)
        _mark(stretches)
        cursor.execute("DELETE FROM telephony_ledgerchange WHERE id = ANY(%s)", [done])
        if rest:
            ledger_changes.record_rows(
                "SELECT * FROM unnest(%s::bigint[], %s::timestamptz[], %s::timestamptz[])",
                [list(column) for column in zip(*rest, strict=True)],
            )
    return len(done)


def _portion(entries: Iterable[tuple[int, int, datetime, datetime]]) -> tuple[list[int], list[Stretch], list[Stretch]]:
    """What is dealt with at once: ids of entries, stretches in whole hours, and what is left of entries too long."""
    by_agent: dict[int, list[Span]] = defaultdict(list)
    done: list[int] = []
    rest: list[Stretch] = []
    hours = 0.0
    for pk, agent_id, since, until in entries:
        if hours >= MOST_HOURS:
            break
        begin, end = start_of(Level.HOUR, since), end_of(Level.HOUR, max(since, until))
        if (end - begin) / timedelta(hours=1) > MOST_HOURS - hours:
            cut = start_of(Level.HOUR, begin + timedelta(hours=max(MOST_HOURS - hours, 24)))
            if cut < end:
                rest.append((agent_id, cut, end - RESOLUTION))
                end = cut
        done.append(pk)
        by_agent[agent_id].append((begin, end))
        hours += (end - begin) / timedelta(hours=1)
    return done, [(agent_id, a, b) for agent_id, spans in by_agent.items() for a, b in union(spans)], rest


Sums = dict[tuple[int, int, datetime], Measures]


def _sum_hours(stretches: Sequence[Stretch]) -> Sums:
    """(queue, agent, start) -> the sums of each hour in which there is anything; queue 0 is everything."""
    starts = sorted({border for a, b in union((a, b) for _, a, b in stretches) for border in borders(Level.HOUR, a, b)})
    slots = Slots(starts, range(len(starts)))
    found: Sums = defaultdict(Measures)
    for grain in (*ledgers.grains(stretches, slots), *ledgers.written(stretches, slots)):
        start = starts[grain.period]
        found[0, grain.agent_id, start].add(grain)
        if grain.queue_id is not None:
            found[grain.queue_id, grain.agent_id, start].add(grain)
    return found


def replace(level: Level, stretches: Sequence[Stretch], sums: Sums) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_DELETE, [*(list(column) for column in zip(*stretches, strict=True)), level.value])
        columns = sql.SQL(", ").join(map(sql.Identifier, _COLUMNS))
        statement = sql.SQL("COPY reports_rollup ({}) FROM STDIN").format(columns)
        with cursor.copy(statement) as copy:
            for (queue_id, agent_id, start), measures in sums.items():
                copy.write_row(_row(level, queue_id, agent_id, start, measures))


def _row(level: Level, queue_id: int, agent_id: int, start: datetime, measures: Measures) -> list[Any]:
    """In the order of the model's columns."""
    lengths = sorted(measures.calls)
    counts: list[int] = []
    seconds: list[int] = []
    for length in lengths:
        count, talked = measures.calls[length]
        counts.append((counts[-1] if counts else 0) + count)
        seconds.append((seconds[-1] if seconds else 0) + talked)
    talked_count, talked_seconds, silent_count, _ = measures.calls_by(0)
    pauses = sorted(measures.pauses)
    values = {
        "level": level.value,
        "queue_id": queue_id,
        "agent_id": agent_id,
        "started_at": start,
        "hour": start.astimezone(zone()).hour,
        "has_time": measures.has_time,
        **{name: getattr(measures, name) for name in _OF_COUNTS},
        "first_login_at": measures.first_login_at,
        "last_logout_at": measures.last_logout_at,
        "pause_ids": array(pauses),
        "pause_counts": array(measures.pauses[pause][0] for pause in pauses),
        "pause_seconds": array(measures.pauses[pause][1] for pause in pauses),
        "talked_count": talked_count,
        "talked_seconds": talked_seconds,
        "silent_count": silent_count,
        "call_lengths": array(lengths),
        "call_counts": array(counts),
        "call_seconds": array(seconds),
    }
    return [values[name] for name in _COLUMNS]


def _mark(stretches: Iterable[Stretch]) -> None:
    """The longer periods in which these lie are stale from now on."""
    marks = {
        (level.value, agent_id, start)
        for agent_id, a, b in stretches
        for level in FINER
        for start in borders(level, a, b)[:-1]
    }
    if marks:
        with connection.cursor() as cursor:
            cursor.execute(_MARK, [list(column) for column in zip(*marks, strict=True)])


def hours_left() -> int:
    """How many hours of agents the log names; one that several entries name counts as often."""
    with connection.cursor() as cursor:
        cursor.execute(_HOURS_LEFT, [LAST, FIRST])
        left: int = cursor.fetchone()[0]
    return left


def is_rebuilding() -> bool:
    """Whether entries are left that are longer than anything that anybody does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM telephony_ledgerchange WHERE until - since > interval '31 days')")
        found: bool = cursor.fetchone()[0]
    return found
