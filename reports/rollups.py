"""Keeping the rollups current. Each run is one transaction that can be lost.

A run reads and deletes in one snapshot: a change that it does not see keeps its entry in the log. Hours are summed as
soon as they have changed; days and months when they are over, and again when they have changed after that.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from callcentre.core.advisory_locks import try_lock
from callcentre.core.statements import Statement, row_of
from reports import ledgers
from reports.composition import LEVELS
from reports.figures import COLUMNS
from reports.ledgers import Part, Source
from reports.models import RollupProgress
from reports.periods import DAY, FIRST, HOUR, LAST, RESOLUTION, Aggregation, Span, end_of, start_of, union
from reports.report import snapshot
from telephony.models import Agent
from telephony.models.agent_intervals import LedgerChange

# The advisory lock of the one process that sums.
_LOCK = 0x726F6C6C
# The most that one transaction deals with: entries of the log, hours of agents.
MOST_ENTRIES, MOST_HOURS = 20_000, 50_000
# A period that has just ended is left alone for so long: its last calls are about to end.
REST = timedelta(minutes=2)

_ENTRIES = """
SELECT id, agent_id, GREATEST(since, %s), LEAST(until, %s) FROM telephony_ledgerchange ORDER BY id LIMIT %s
"""
# The first instant and the last of any ledger and any rollup.
_BOUNDS = """
SELECT min(since), max(until) FROM (
  SELECT min(started_at) AS since, max(COALESCE(ended_at, started_at)) AS until FROM telephony_agentsession
  UNION ALL SELECT min(started_at), max(COALESCE(ended_at, started_at)) FROM telephony_agentstate
  UNION ALL SELECT min(created_at), max(GREATEST(created_at, ended_at)) FROM telephony_connection
  UNION ALL SELECT min(created_at), max(GREATEST(created_at, closed_at)) FROM tickets_chat
  UNION ALL SELECT min(created_at), max(created_at) FROM tickets_message
  UNION ALL SELECT min(closed_at), max(closed_at) FROM tickets_ticket
  UNION ALL SELECT min(started_at), max(started_at) FROM reports_sums
) ledger
"""
_EVERYTHING = """
INSERT INTO telephony_ledgerchange (agent_id, since, until) SELECT id, %s, %s FROM telephony_agent
"""
_DELETE = Statement("""
WITH {stretches}
DELETE FROM reports_sums r USING stretch
WHERE r.agent_id = stretch.agent_id AND r.level = %(level)s AND r.started_at >= a AND r.started_at < b
""").of(stretches=ledgers.STRETCHES)
_INSERT = Statement("""
WITH {stretches}, {rows}
INSERT INTO reports_sums (level, agent_id, queue_id, started_at, {columns})
SELECT %(level)s, agent_id, queue_id, started_at, {columns} FROM counted
ORDER BY agent_id, queue_id, started_at
""").of(stretches=ledgers.STRETCHES, rows=ledgers.ROWS, columns=", ".join(COLUMNS))


def alone() -> AbstractContextManager[bool]:
    """Tell whether no other process sums; then no other does until this block ends, however it ends."""
    return try_lock(_LOCK)


def log_everything(since: datetime, until: datetime) -> None:
    """Log the time of every agent between two instants as changed, so that it is summed anew."""
    with connection.cursor() as cursor:
        cursor.execute(_EVERYTHING, [since, until])


def bring_up_to_date(now: datetime) -> bool:
    """Sum what is stale and what has ended. Return False, and do nothing, if another process does so already."""
    with alone() as is_alone:
        while is_alone and (refresh() or settle(now)):
            pass
    return is_alone


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
        for length, (first, border) in progress().items():
            stretches: dict[Span, list[int]] = defaultdict(list)
            for agent_id, spans in changed.items():
                whole = ((start_of(length, since), end_of(length, max(since, until))) for since, until in spans)
                for span in union((max(begin, first), min(end, border)) for begin, end in whole):
                    stretches[span].append(agent_id)
            write(length, stretches)
        LedgerChange.objects.filter(pk__in=done).delete()
    return len(done)


def settle(now: datetime) -> int:
    """Sum the days, or else the months, that have ended. Return 1, or 0 if there are none.

    The caller is alone, so no change is summed meanwhile. One that is noted meanwhile is summed by the next `refresh`.
    """
    for length, (_first, begin) in progress().items():
        if length is not Aggregation.HOUR and begin < (end := start_of(length, now - REST)):
            agents = [*Agent.objects.order_by("pk").values_list("pk", flat=True)]
            for some in portions((begin, end), agents):
                with snapshot():
                    write(length, {(begin, end): some})
            RollupProgress.objects.filter(level=LEVELS[length]).update(until=end)
            return 1
    return 0


def bounds() -> Span | None:
    """Return the first instant and the last of which any ledger, or any rollup, says something."""
    since, until = row_of(_BOUNDS)
    return (since, until) if since else None


def portions(span: Span, agents: Sequence[int]) -> Iterator[Sequence[int]]:
    """Divide agents so that one transaction can deal with this span of each portion."""
    begin, end = span
    size = max(int(MOST_HOURS * HOUR / (end - begin)), 1)
    return (agents[place : place + size] for place in range(0, len(agents), size))


def progress() -> dict[Aggregation, Span]:
    """Return the spans in which there are rollups of hours, of days and of months, and none is final."""
    until = {RollupProgress.FINAL: FIRST - DAY, Source.HOUR: LAST}
    until |= dict(RollupProgress.objects.values_list("level", "until"))
    return {
        length: (end_of(length, until[RollupProgress.FINAL] - RESOLUTION), start_of(length, until[level]))
        for length, level in LEVELS.items()
        if level in until
    }


def write(length: Aggregation, stretches: Mapping[Span, Sequence[int]]) -> None:
    """Replace the rollups of these whole periods of agents by the sums of the ledgers."""
    execute(_DELETE, length, stretches)
    execute(_INSERT, length, stretches)


def execute(statement: str, length: Aggregation, stretches: Mapping[Span, Sequence[int]]) -> list[Any]:
    """Run a statement of STRETCHES and ROWS for these whole periods of agents. Return its rows, if it has any."""
    parts = {Part(Source.CLOSED, *span): ids for span, ids in stretches.items()}
    parameters = ledgers.parameters(parts, length, stretches) | {"level": LEVELS[length], "now": None, "queues": None}
    with connection.cursor() as cursor:
        # A plan that is kept for arrays of any length takes three times as long.
        cursor.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []
