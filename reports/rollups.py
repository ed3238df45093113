"""Keeping the rollups current: which are stale is written in rows, and each run is one transaction that can be lost.

Hours are summed as soon as they have changed, days once they are over; both from the ledgers. What a run reads and
what it deletes is of one snapshot: a change that it does not see keeps its entry in the log.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import connection

from reports import ledgers
from reports.ledgers import SOURCE_OF, Part, Source
from reports.periods import FIRST, LAST, RESOLUTION, Aggregation, Span, end_of, start_of
from reports.report import snapshot
from reports.staleness import union
from reports.sums import OWN, SOURCES
from telephony.verbs import ledger_changes

# The advisory lock of the one process that sums.
_LOCK = 0x726F6C6C
# The most that one transaction deals with: entries of the log, hours of agents, days and months of agents.
MOST_ENTRIES, MOST_HOURS, MOST_OF = 20_000, 50_000, {Source.DAY: 5_000, Source.MONTH: 200}
# A period that has just ended is left alone for so long: its last calls are about to end.
REST = timedelta(minutes=2)
HOUR = timedelta(hours=1)
# Rollups of weeks and years are no longer written or read. The release before this one reads them, and its processes
# may run during an update: they take a row that is marked as stale from shorter ones. Drop these marks, the rows of
# these levels and the function reports_ready in the release after this one.
_OF_LAST_RELEASE = {3: Aggregation.WEEK, 5: Aggregation.YEAR}
SETTLED = {Source.DAY: Aggregation.DAY, Source.MONTH: Aggregation.MONTH}
_MARKED = {**{int(level): length for level, length in SETTLED.items()}, **_OF_LAST_RELEASE}

_ENTRIES = """
SELECT id, agent_id, GREATEST(since, %s), LEAST(until, %s) FROM telephony_ledgerchange ORDER BY id LIMIT %s
"""
_MARK = """
INSERT INTO reports_stalerollup (level, agent_id, started_at)
SELECT * FROM unnest(%s::int[], %s::bigint[], %s::timestamptz[]) ON CONFLICT DO NOTHING
"""
_MARKS = """
SELECT id, agent_id, started_at FROM reports_stalerollup WHERE level = %s AND started_at < %s
ORDER BY started_at, agent_id LIMIT %s
"""
# Queues are named one by one, because the index of the rollups has them before the agent.
_DELETE = f"""
WITH {ledgers.STRETCHES}
DELETE FROM reports_rollup r USING stretch, (
  SELECT 0::bigint AS id UNION ALL SELECT id FROM telephony_queue UNION ALL SELECT id FROM tickets_ticketqueue
) queue
WHERE source = {Source.CLOSED} AND r.level = %(level)s AND r.queue_id = queue.id AND r.agent_id = stretch.agent_id
  AND r.started_at >= a AND r.started_at < b
"""  # noqa: S608


def _array_of(kind: str, what: str) -> str:
    return f"COALESCE(array_agg({what} ORDER BY detail) FILTER (WHERE kind = '{kind}'), '{{}}')"


_COLUMNS = {
    "level": "%(level)s",
    "queue_id": "queue",
    "agent_id": "agent_id",
    "started_at": "key",
    "hour": ledgers.HOUR_OF.format(instant="key"),
    "has_time": f"bool_or(kind IN {OWN})",
    **{name: one.grains for name, one in SOURCES.items() if one.rollup == f"r.{name}"},
    "pause_ids": _array_of("paused", "detail"),
    "pause_counts": _array_of("paused", "begun"),
    "pause_seconds": _array_of("paused", "seconds"),
    "talked_count": SOURCES["calls_talked"].grains,
    "talked_seconds": SOURCES["calls_seconds"].grains,
    "silent_count": f"{SOURCES['calls'].grains} - {SOURCES['calls_talked'].grains}",
    # The lengths of talks, ascending; up to each of them, how many calls and how many seconds.
    "call_lengths": _array_of("call", "detail"),
    "call_counts": _array_of("call", "begun_until"),
    "call_seconds": _array_of("call", "seconds_until"),
}
_INSERT = f"""
WITH {ledgers.grains(with_queues=True, each_queue=True)},
running AS (
  SELECT *, sum(begun) OVER shorter AS begun_until, sum(seconds) OVER shorter AS seconds_until
  FROM grain WINDOW shorter AS (PARTITION BY agent_id, key, queue, kind ORDER BY detail)
)
INSERT INTO reports_rollup ({", ".join(_COLUMNS)})
SELECT {", ".join(_COLUMNS.values())} FROM running GROUP BY agent_id, key, queue
"""  # noqa: S608


@contextmanager
def alone() -> Iterator[bool]:
    """Tell whether no other process sums; then no other does until this block ends, however it ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        is_ours: bool = cursor.fetchone()[0]
        try:
            yield is_ours
        finally:
            if is_ours:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def refresh() -> int:
    """Sum anew the hours that the log names, oldest entries first. Return the number of entries; 0 if none is left."""
    with snapshot(), connection.cursor() as cursor:
        cursor.execute(_ENTRIES, [FIRST, LAST, MOST_ENTRIES])
        if not (entries := cursor.fetchall()):
            return 0
        done, stretches, rest = _portion(entries)
        _write(Aggregation.HOUR, stretches)
        _mark(stretches)
        cursor.execute("DELETE FROM telephony_ledgerchange WHERE id = ANY(%s)", [done])
        if rest:
            ledger_changes.record_rows(
                "SELECT * FROM unnest(%s::bigint[], %s::timestamptz[], %s::timestamptz[])",
                [list(column) for column in zip(*rest, strict=True)],
            )
    return len(done)


def settle(now: datetime) -> int:
    """Sum anew stale days, or else months, that are over. Return how many they were; 0 if none is left."""
    return next((count for source in SETTLED if (count := _settle(source, now))), 0)


def _settle(source: Source, now: datetime) -> int:
    length = SETTLED[source]
    with snapshot(), connection.cursor() as cursor:
        cursor.execute(_MARKS, [int(source), start_of(length, now - REST), MOST_OF[source]])
        if not (marks := cursor.fetchall()):
            return 0
        stretches: dict[Span, list[int]] = defaultdict(list)
        for _id, agent_id, start in marks:
            stretches[start, end_of(length, start)].append(agent_id)
        _write(length, stretches)
        cursor.execute("DELETE FROM reports_stalerollup WHERE id = ANY(%s)", [[mark[0] for mark in marks]])
    return len(marks)


def _portion(
    entries: Iterable[tuple[int, int, datetime, datetime]],
) -> tuple[list[int], Mapping[Span, Sequence[int]], list[tuple[int, datetime, datetime]]]:
    """Return what one transaction does: ids of entries, whole hours of agents; and what is left of too long entries."""
    by_agent: dict[int, list[Span]] = defaultdict(list)
    done: list[int] = []
    rest: list[tuple[int, datetime, datetime]] = []
    hours = 0.0
    for pk, agent_id, since, until in entries:
        if hours >= MOST_HOURS:
            break
        begin, end = start_of(Aggregation.HOUR, since), end_of(Aggregation.HOUR, max(since, until))
        if (end - begin) / HOUR > MOST_HOURS - hours:
            cut = start_of(Aggregation.HOUR, begin + max(MOST_HOURS - hours, 24) * HOUR)
            if cut < end:
                rest.append((agent_id, cut, end - RESOLUTION))
                end = cut
        done.append(pk)
        by_agent[agent_id].append((begin, end))
        hours += (end - begin) / HOUR
    stretches: dict[Span, list[int]] = defaultdict(list)
    for agent_id, spans in by_agent.items():
        for span in union(spans):
            stretches[span].append(agent_id)
    return done, stretches, rest


def _write(length: Aggregation, stretches: Mapping[Span, Sequence[int]]) -> None:
    """Replace the rollups of these whole periods of agents by the sums of the ledgers."""
    parts = {Part(source, *span): ids for source in (Source.CLOSED, Source.DISTINCT) for span, ids in stretches.items()}
    borders = sorted({border for span in union(stretches) for border in length.borders(*span)})
    parameters = ledgers.parameters(parts, borders, map(length.key, borders))
    parameters |= {"level": int(SOURCE_OF[length]), "now": None, "queues": None, "threshold": 0}
    with connection.cursor() as cursor:
        # A plan that is kept for arrays of any length takes three times as long.
        cursor.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        cursor.execute(_DELETE, parameters)
        cursor.execute(_INSERT, parameters)


def _mark(stretches: Mapping[Span, Sequence[int]]) -> None:
    """Mark the longer periods in which these hours lie as stale."""
    marks = {
        (level, agent_id, start)
        for span, ids in stretches.items()
        for level, length in _MARKED.items()
        for start in length.borders(*span)[:-1]
        for agent_id in ids
    }
    with connection.cursor() as cursor:
        cursor.execute(_MARK, [list(column) for column in zip(*marks, strict=True)])
