"""The report: a page of its rows, in one statement after one that finds the parts of its time (docs/decisions/0018)."""

# ruff: noqa: S608  (SQL is composed of constants)

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

import orjson
from django.db import connection, transaction
from psycopg.pq import Format

from callcentre.core.times import zone
from reports import composition, ledgers
from reports.figures import COLUMNS, FIGURES, Row
from reports.ledgers import Part, Source, array
from reports.periods import LENGTHS, Aggregation


@dataclass(frozen=True)
class Question:
    """A report: agents, queues or campaigns, in its order, with their names; a span without its end; how to count."""

    subjects: Mapping[int, Mapping[str, Any]]
    begin: datetime
    end: datetime
    aggregation: Aggregation
    # Intervals that go on end at this instant.
    now: datetime
    threshold: int = 0
    # None: everything.
    queues: tuple[int, ...] | None = None
    # Seconds within which an offer is answered in time.
    within: int | None = None

    def at(self, now: datetime) -> "Question":
        """Return the question as of this instant, to the second."""
        return replace(self, now=now.replace(microsecond=0))


# To plan a page takes as long as to read it: the plan is kept.
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL plan_cache_mode = force_generic_plan"


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything of one instant. A transaction that has begun already decides for itself what it reads."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_SNAPSHOT)
        yield


_PERIOD = 'to_char(started_at AT TIME ZONE %(zone)s, %(label)s) COLLATE "C"'
_ROLLUPS = """JOIN reports_sums r ON r.level = stretch.source AND r.agent_id = stretch.agent_id
  AND r.queue_id = ANY(%(queues)s::bigint[]) AND r.started_at >= a AND r.started_at < b"""
# In a report of some queues, a row of everything counts if it has time of the agent's own, or chats or tickets of them.
_IS_PRESENT = """(NOT %(is_narrowed)s OR r.queue_id <> 0 OR r.login_seconds IS NOT NULL
  OR r.free_seconds IS NOT NULL OR r.wrap_up_seconds IS NOT NULL OR r.pause_seconds IS NOT NULL
  OR r.consultations IS NOT NULL
  OR EXISTS (SELECT FROM tickets_chat WHERE id = ANY(r.chat_ids) AND queue_id = ANY(%(queues)s::bigint[]))
  OR EXISTS (SELECT FROM tickets_ticket WHERE id = ANY(r.ticket_ids) AND queue_id = ANY(%(queues)s::bigint[])))"""
_PRESENT = {
    False: f"SELECT r.agent_id, started_at FROM stretch {_ROLLUPS} WHERE {_IS_PRESENT}",
    True: f"SELECT agent_id, started_at FROM counted r WHERE {_IS_PRESENT}",
}
_PAGE = f"""
page AS (
  SELECT place, agent_id, {_PERIOD} AS period, min(started_at) AS first, max(started_at) AS last
  FROM ({{present}}) present JOIN unnest(%(order)s::bigint[]) WITH ORDINALITY AS agent(id, place) ON agent.id = agent_id
  GROUP BY place, agent_id, period ORDER BY place, period LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint
)"""
# The same if the rows of all agents are the rollups of one stretch: a loop over the agents in their order, which ends
# with the page. Sorting all rows takes as long as the rest of a page.
_PAGE_OF_ROLLUPS = f"""
page AS (
  SELECT place, agent_id, {_PERIOD} AS period, started_at AS first, started_at AS last FROM (
    SELECT place, agent.id AS agent_id, started_at
    FROM unnest(%(order)s::bigint[]) WITH ORDINALITY AS agent(id, place) CROSS JOIN LATERAL (
      SELECT started_at FROM reports_sums
      WHERE agent_id = agent.id AND level = %(level)s AND started_at >= %(begin)s AND started_at < %(end)s
        AND queue_id = 0
      ORDER BY started_at
    ) r LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint
  ) key
)"""
# The periods of an agent on a page follow one another.
_SHOWN = """(
  SELECT agent_id, place, min(first) AS first, max(last) AS last, min(period) AS first_period,
    max(period) AS last_period
  FROM page GROUP BY agent_id, place
) shown"""
_COLUMNS = ", ".join(f"r.{name}" for name in COLUMNS)
_LINES = {
    False: f"""
SELECT place, first_period, last_period, r.agent_id, r.started_at, r.queue_id, {_COLUMNS}
FROM {_SHOWN} JOIN stretch USING (agent_id) {_ROLLUPS}
WHERE r.started_at >= first AND r.started_at <= last AND {_IS_PRESENT}""",
    True: f"""
SELECT place, first_period, last_period, agent_id, started_at, queue_id, {_COLUMNS}
FROM {_SHOWN} JOIN counted r USING (agent_id) WHERE {_IS_PRESENT}""",
}
# Rows of queues have no time of the agent's own, and no lists of chats and tickets. Where several rows of a period have
# lists, these are returned as well: a chat or ticket that is in two of them counts once.
_OF_QUEUES = """CASE WHEN NOT %(is_narrowed)s THEN {ids}
    ELSE (SELECT array_agg(id) FROM {table} WHERE id = ANY({ids}) AND queue_id = ANY(%(queues)s::bigint[])) END"""
_TWICE = "(CASE WHEN count(r.{ids}) > 1 THEN json_agg(r.{ids}) FILTER (WHERE r.{ids} IS NOT NULL) END)::text"
_SUMS = f"""
SELECT agent_id, period, {", ".join(FIGURES.values())}, {_TWICE.format(ids="chats")}, {_TWICE.format(ids="tickets")}
FROM (
  SELECT *, {_PERIOD} AS period, (queue_id <> 0) = %(is_narrowed)s AS is_wanted,
    {_OF_QUEUES.format(ids="chat_ids", table="tickets_chat")} AS chats,
    {_OF_QUEUES.format(ids="ticket_ids", table="tickets_ticket")} AS tickets
  FROM ({{lines}}) line
) r
WHERE period BETWEEN first_period AND last_period GROUP BY place, agent_id, period ORDER BY place, period"""


def page(question: Question, limit: int, offset: int) -> list[Row]:
    """Return so many rows of the report, from there on."""
    with snapshot():
        found, read = composition.find(
            [*question.subjects], question.begin, question.end, question.aggregation, question.now
        )
        if not found:
            return []
        level = composition.LEVELS.get(question.aggregation)
        statement = _statement(found, is_level=question.queues is None and [part.source for part in found] == [level])
        parameters = {
            **ledgers.parameters(found, question.aggregation, read),
            "order": array(question.subjects),
            "level": level,
            "begin": question.begin,
            "end": question.end,
            "now": question.now,
            "zone": zone().key,
            "label": LENGTHS[question.aggregation].sql_label,
            "threshold": question.threshold,
            "within": question.within,
            "is_narrowed": question.queues is not None,
            "queues": array([0, *(question.queues or ())]),
            "limit": limit,
            "offset": offset,
        }
        with connection.cursor() as cursor:
            # A page has thousands of numbers: as text they take a tenth more of a statement's time.
            cursor.cursor.format = Format.BINARY
            cursor.execute(statement, parameters)
            rows = cursor.fetchall()
    return [_row(question, *row) for row in rows]


def _statement(found: Mapping[Part, object], *, is_level: bool) -> str:
    """Compose the statement of a page. SQL of tables that have no part is left out, so it is neither planned nor run.

    `is_level`: the rows of the page are rollups, as they are.
    """
    tables = sorted({part.source in (Source.CLOSED, Source.OPEN) for part in found})
    present, lines = (" UNION ALL ".join(map(select.__getitem__, tables)) for select in (_PRESENT, _LINES))
    shared = [ledgers.STRETCHES, *([ledgers.ROWS] if True in tables else [])]
    shared.append(_PAGE_OF_ROLLUPS if is_level else _PAGE.format(present=present))
    return f"WITH {', '.join(shared)} {_SUMS.format(lines=lines)}"


def _row(question: Question, agent_id: int, period: str, pauses: str | None, *figures: Any) -> Row:
    *sums, chats, tickets = figures
    reasons: dict[int, tuple[int, int]] = {}
    for part in orjson.loads(pauses or "[]"):
        for reason, (count, seconds) in part.items():
            before = reasons.get(int(reason), (0, 0))
            reasons[int(reason)] = (before[0] + count, before[1] + seconds)
    reasons = dict(sorted(reasons.items()))
    row = Row(agent_id, question.subjects[agent_id], period, question.queues is not None, reasons, *sums)
    if chats:
        row.chats_answered = len(set(chain.from_iterable(orjson.loads(chats))))
    if tickets:
        row.tickets_answered = len(set(chain.from_iterable(orjson.loads(tickets))))
    return row
