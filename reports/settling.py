"""Summing days, weeks, months and years from what is shorter, once they are over and nothing in them is stale."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from reports import ledgers
from reports.builder import snapshot
from reports.ledgers import Slots, Stretch
from reports.measures import COUNTS, Measures
from reports.periods import Level, end_of, start_of
from reports.rollup import EVERY_QUEUE, FINER, MOST_MARKS, REST, Sums, replace
from reports.stored import COLUMNS, instant

_MARKS = """
SELECT agent_id, started_at FROM reports_stalerollup WHERE level = %s AND started_at < %s ORDER BY started_at, agent_id
LIMIT %s
"""
# Those in which a shorter period is stale come later.
_UNSETTLED = """
SELECT DISTINCT t.agent_id, t.a
FROM unnest(%(agents)s::bigint[], %(begins)s::timestamptz[], %(ends)s::timestamptz[]) AS t(agent_id, a, b)
WHERE EXISTS (
  SELECT 1 FROM telephony_ledgerchange c WHERE c.agent_id = t.agent_id AND c.since < t.b AND c.until >= t.a
) OR EXISTS (
  SELECT 1 FROM reports_stalerollup s
  WHERE s.agent_id = t.agent_id AND s.level = ANY(%(finer)s::int[]) AND s.started_at >= t.a AND s.started_at < t.b
)
"""
_FINER_ROWS = f"""
SELECT t.place, r.queue_id, {", ".join(COLUMNS)},
  date_part('epoch', r.first_login_at), date_part('epoch', r.last_logout_at), r.has_time,
  r.pause_ids, r.pause_counts, r.pause_seconds, r.call_lengths, r.call_counts, r.call_seconds
FROM unnest(%s::bigint[], %s::timestamptz[], %s::timestamptz[]) WITH ORDINALITY AS t(agent_id, a, b, place)
CROSS JOIN {EVERY_QUEUE}
JOIN reports_rollup r ON r.level = %s AND r.queue_id = queue.id AND r.agent_id = t.agent_id
  AND r.started_at >= t.a AND r.started_at < t.b
"""  # noqa: S608  (names of columns)
_LEFT = """
SELECT count(*) FROM unnest(%s::int[], %s::timestamptz[]) AS current(level, started_at)
JOIN reports_stalerollup s ON s.level = current.level AND s.started_at < current.started_at
"""
_DONE = """
DELETE FROM reports_stalerollup s USING unnest(%s::bigint[], %s::timestamptz[]) AS t(agent_id, a)
WHERE s.level = %s AND s.agent_id = t.agent_id AND s.started_at = t.a
"""


def settle(level: Level, now: datetime) -> int:
    """Sum anew stale periods of this length that are over. How many they were; 0 when none is left that can be."""
    with snapshot(), connection.cursor() as cursor:
        cursor.execute(_MARKS, [level.value, now, MOST_MARKS])
        marked = [(agent_id, start, end_of(level, start)) for agent_id, start in cursor.fetchall()]
        over = [stretch for stretch in marked if stretch[2] <= now - REST]
        if not over:
            return 0
        agents, begins, ends = map(list, zip(*over, strict=True))
        finer = [one.value for one in FINER[level]]
        cursor.execute(_UNSETTLED, {"agents": agents, "begins": begins, "ends": ends, "finer": finer})
        unsettled = set(cursor.fetchall())
        stretches = [stretch for stretch in over if stretch[:2] not in unsettled]
        if not stretches:
            return 0
        replace(level, stretches, _sums(level, stretches))
        cursor.execute(_DONE, [[one[0] for one in stretches], [one[1] for one in stretches], level.value])
    return len(stretches)


def _sums(level: Level, stretches: Sequence[Stretch]) -> Sums:
    found: Sums = defaultdict(Measures)
    with connection.cursor() as cursor:
        parameters: list[Any] = [*(list(column) for column in zip(*stretches, strict=True)), FINER[level][-1].value]
        cursor.execute(_FINER_ROWS, parameters)
        for place, queue_id, *row in cursor:
            agent_id, start, _ = stretches[place - 1]
            found[queue_id, agent_id, start].merge(_finer(row))
    borders = sorted({border for _, a, b in stretches for border in (a, b)})
    slots = Slots(borders, range(len(borders)))
    for grain in ledgers.written(stretches, slots):
        start = borders[grain.period]
        found[0, grain.agent_id, start].add(grain)
        if grain.queue_id is not None:
            found[grain.queue_id, grain.agent_id, start].add(grain)
    return found


def _finer(row: Sequence[Any]) -> Measures:
    """Of the columns of a row, with each length of its calls."""
    first, last, has_time, *arrays = row[len(COUNTS) :]
    pauses = {pause_id: (count, seconds) for pause_id, count, seconds in zip(*arrays[:3], strict=True)}
    calls: dict[int, tuple[int, int]] = {}
    counted = talked = 0
    for length, counts, seconds in zip(*arrays[3:], strict=True):
        calls[length] = (counts - counted, seconds - talked)
        counted, talked = counts, seconds
    fields = [*row[: len(COUNTS)], instant(first), instant(last), False, pauses, calls, has_time]
    return Measures(*fields)


def settle_all(now: datetime, most: int | None = None) -> int:
    """All that can be, the shorter ones first; or that of so many transactions. How many they were."""
    settled = runs = 0
    for level in FINER:
        while (most is None or runs < most) and (count := settle(level, now)):
            settled, runs = settled + count, runs + 1
    return settled


def left(now: datetime) -> int:
    """How many stale periods there are that are over."""
    levels = list(FINER)
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, [[one.value for one in levels], [start_of(one, now - REST) for one in levels]])
        count: int = cursor.fetchone()[0]
    return count
