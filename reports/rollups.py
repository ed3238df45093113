"""Keeping the rollups current. Each run is one transaction that can be lost.

A run reads and deletes in one snapshot: a change that it does not see keeps its entry in the log. Hours are summed as
soon as they have changed; days and months when they are over, and again when they have changed after that.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

from django.db import connection

from callcentre.core.advisory_locks import try_lock
from reports import ledgers
from reports.figures import COLUMNS
from reports.ledgers import Part, Source
from reports.models import RollupProgress
from reports.parts import LEVELS
from reports.periods import FIRST, HOUR, LAST, Aggregation, Span, end_of, start_of, union
from reports.report import snapshot
from telephony.models import Agent

# The advisory lock of the one process that sums.
_LOCK = 0x726F6C6C
# The most that one transaction deals with: entries of the log, hours of agents.
MOST_ENTRIES, MOST_HOURS = 20_000, 50_000
# A period that has just ended is left alone for so long: its last calls are about to end.
REST = timedelta(minutes=2)

_ENTRIES = """
SELECT id, agent_id, GREATEST(since, %s), LEAST(until, %s) FROM telephony_ledgerchange ORDER BY id LIMIT %s
"""
_DELETE = f"""
WITH {ledgers.STRETCHES}
DELETE FROM reports_sums r USING stretch
WHERE r.agent_id = stretch.agent_id AND r.level = %(level)s AND r.started_at >= a AND r.started_at < b
"""  # noqa: S608
_INSERT = f"""
WITH {ledgers.STRETCHES}, {ledgers.ROWS}
INSERT INTO reports_sums (level, agent_id, queue_id, started_at, {", ".join(COLUMNS)})
SELECT %(level)s, agent_id, queue_id, started_at, {", ".join(COLUMNS)} FROM counted
ORDER BY agent_id, queue_id, started_at
"""  # noqa: S608


def alone() -> AbstractContextManager[bool]:
    """Tell whether no other process sums; then no other does until this block ends, however it ends."""
    return try_lock(_LOCK)


def refresh() -> int:
    """Sum anew what the log names, oldest entries first. Return the number of entries; 0 if none is left."""
    with snapshot(), connection.cursor() as cursor:
        cursor.execute(_ENTRIES, [FIRST, LAST, MOST_ENTRIES])
        done: list[int] = []
        changed: dict[int, list[Span]] = defaultdict(list)
        hours = 0.0
        for pk, agent_id, since, until in cursor.fetchall():
            if hours >= MOST_HOURS:
                break
            done.append(pk)
            changed[agent_id].append((since, until))
            hours += 1 + (until - since) / HOUR
        for length, border in {Aggregation.HOUR: LAST, **_progress()}.items():
            stretches: dict[Span, list[int]] = defaultdict(list)
            for agent_id, spans in changed.items():
                whole = ((start_of(length, since), end_of(length, max(since, until))) for since, until in spans)
                for span in union((begin, min(end, border)) for begin, end in whole):
                    stretches[span].append(agent_id)
            _write(length, stretches)
        cursor.execute("DELETE FROM telephony_ledgerchange WHERE id = ANY(%s)", [done])
    return len(done)


def settle(now: datetime) -> int:
    """Sum the days, or else the months, that have ended. Return 1, or 0 if there are none.

    The caller is alone, so no change is summed meanwhile. One that is noted meanwhile is summed by the next `refresh`.
    """
    for length, begin in _progress().items():
        if begin < (end := start_of(length, now - REST)):
            agents = [*Agent.objects.order_by("pk").values_list("pk", flat=True)]
            together = max(int(MOST_HOURS * HOUR / (end - begin)), 1)
            for place in range(0, len(agents), together):
                with snapshot():
                    _write(length, {(begin, end): agents[place : place + together]})
            RollupProgress.objects.filter(level=LEVELS[length]).update(until=end)
            return 1
    return 0


def _progress() -> dict[Aggregation, datetime]:
    """Return the borders until which there are rollups of days and of months."""
    until = dict(RollupProgress.objects.values_list("level", "until"))
    return {length: start_of(length, until[level]) for length, level in LEVELS.items() if level in until}


def _write(length: Aggregation, stretches: Mapping[Span, Sequence[int]]) -> None:
    """Replace the rollups of these whole periods of agents by the sums of the ledgers."""
    parts = {Part(Source.CLOSED, *span): ids for span, ids in stretches.items()}
    parameters = ledgers.parameters(parts, length, stretches) | {"level": LEVELS[length], "now": None, "queues": None}
    with connection.cursor() as cursor:
        # A plan that is kept for arrays of any length takes three times as long.
        cursor.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        cursor.execute(_DELETE, parameters)
        cursor.execute(_INSERT, parameters)
