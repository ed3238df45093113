"""What the ledgers say of stretches of agents' time, in SQL: the definitions of the report's columns.

Of all that is over. What goes on is read by `reports.ongoing`. Each interval is found by an index, cut at the borders
of the stretch and of the periods, and summed as grains (reports.measures.Grain).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from callcentre.core.times import zone
from reports.measures import Grain
from reports.periods import HOUR_OF

# A stretch of an agent's time: agent, begin, end.
Stretch = tuple[int, datetime, datetime]


@dataclass(frozen=True)
class Slots:
    """Borders in order, and for each stretch of time between two the number of the period that it belongs to."""

    borders: Sequence[datetime]
    periods: Sequence[int]
    # Periods are hours of the day, 0 to 23. Rows know theirs: borders are only of what is cut.
    by_hour: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        return {"borders": list(self.borders), "periods": list(self.periods), "zone": zone().key}


_STRETCHES = """
stretch AS (
  SELECT * FROM unnest(%(agents)s::bigint[], %(begins)s::timestamptz[], %(ends)s::timestamptz[]) AS t(agent_id, a, b)
)"""
# Of sessions and states no two overlap: of those that began before a stretch only the last can reach into it.
_INTERVALS = """
  SELECT x.* FROM {table} x
  WHERE x.agent_id = stretch.agent_id AND x.started_at >= a AND x.started_at < b AND x.ended_at IS NOT NULL
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM {table} x
    WHERE x.agent_id = stretch.agent_id AND x.started_at < a AND x.ended_at > x.started_at
    ORDER BY x.started_at DESC LIMIT 1
  ) last WHERE ended_at > a
"""
# Calls may overlap. One that reaches into a stretch began six hours before it or later, or is one of the few long ones
# (see telephony.models.connection.LONG), which are fetched before anything else is asked of them: the planner takes a
# third of all calls for long, and would rather read the whole history of the agent.
_CALLS = """
  SELECT x.* FROM {table} x
  WHERE x.agent_id = stretch.agent_id AND x.{start} >= a - interval '6 hours' AND x.{start} < b AND x.ended_at >= a
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM {table} x
    WHERE x.agent_id = stretch.agent_id AND x.ended_at - x.{start} > interval '6 hours' OFFSET 0
  ) long WHERE {start} < a - interval '6 hours' AND ended_at > a
"""
# By its key, however many messages are expected: most often they are few of many.
_ITS_QUEUE = "CROSS JOIN LATERAL (SELECT queue_id FROM {table} WHERE id = x.{key} OFFSET 0) its"
_OF_CHAT = _ITS_QUEUE.format(table="tickets_chat", key="chat_id")
_OF_TICKET = _ITS_QUEUE.format(table="tickets_ticket", key="ticket_id")
_SPANS = f"""
span AS (
  SELECT 'session' AS kind, agent_id, NULL::bigint AS queue_id, 0::bigint AS detail, a, b, started_at AS since,
    ended_at AS until, true AS counts
  FROM stretch CROSS JOIN LATERAL (
    SELECT started_at, ended_at FROM ({_INTERVALS.format(table="telephony_agentsession")}) y
  ) session
  UNION ALL
  SELECT kind, agent_id, NULL, COALESCE(pause_id, 0), a, b, started_at, ended_at, true
  FROM stretch CROSS JOIN LATERAL (
    SELECT kind, pause_id, started_at, ended_at FROM ({_INTERVALS.format(table="telephony_agentstate")}) y
    WHERE kind IN ('free', 'paused', 'wrap_up')
  ) state
  UNION ALL
  SELECT part.kind, agent_id, queue_id, outcome, a, b, part.since, part.until, part.kind = 'offer'
  FROM stretch CROSS JOIN LATERAL (
    SELECT y.queue_id, y.offered_at, y.answered_at, y.ended_at,
      (y.answered_at IS NOT NULL)::int + 2 * (y.transferred_at IS NOT NULL)::int AS outcome
    FROM ({_CALLS.format(table="telephony_offer", start="offered_at")}) y
    JOIN telephony_connection c ON c.id = y.connection_id AND c.direction = 'INBOUND'
    WHERE y.outcome <> 'failed'
  ) offer CROSS JOIN LATERAL (
    VALUES ('offer', offered_at, COALESCE(answered_at, ended_at)), ('talk', answered_at, ended_at)
  ) part(kind, since, until)
  UNION ALL
  SELECT 'call', agent_id, queue_id, GREATEST(COALESCE(extract(epoch FROM ended_at - started_at), 0), 0)::bigint, a, b,
    part.since, part.until, part.counts
  FROM stretch CROSS JOIN LATERAL (
    SELECT y.queue_id, y.created_at AS counted_at, y.answered_at AS started_at, y.ended_at
    FROM ({_CALLS.format(table="telephony_connection", start="created_at")}) y
    WHERE y.direction = 'OUTBOUND' AND NOT y.has_talks
    UNION ALL
    SELECT y.queue_id, y.counted_at, y.started_at, y.ended_at
    FROM ({_CALLS.format(table="telephony_talk", start="counted_at")}) y
  ) call CROSS JOIN LATERAL (
    VALUES (counted_at, counted_at, true), (started_at, ended_at, false)
  ) part(since, until, counts)
  UNION ALL
  SELECT 'chats_closed', stretch.agent_id, x.queue_id, 0, a, b, x.closed_at, x.closed_at, true
  FROM stretch JOIN tickets_chat x ON x.agent_id = stretch.agent_id AND x.closed_at >= a AND x.closed_at < b
  UNION ALL
  SELECT 'tickets_closed', stretch.agent_id, x.queue_id, 0, a, b, x.closed_at, x.closed_at, true
  FROM stretch JOIN tickets_ticket x ON x.closed_by_id = stretch.agent_id AND x.closed_at >= a AND x.closed_at < b
  UNION ALL
  SELECT 'replies', stretch.agent_id, queue_id, 0, a, b, x.created_at, x.created_at, true
  FROM stretch
  JOIN tickets_message x
    ON x.agent_id = stretch.agent_id AND x.type = 'REPLY' AND x.created_at >= a AND x.created_at < b
  {_OF_TICKET}
)"""  # noqa: S608
# What begins in the stretch, and what reaches into it. Of length 0 it is where it begins; then only if it is counted.
_CUT = """
cut AS (
  SELECT span.*, slot, GREATEST(since, a, (%(borders)s::timestamptz[])[slot]) AS lo,
    LEAST(until, b, (%(borders)s::timestamptz[])[slot + 1]) AS hi
  FROM span CROSS JOIN LATERAL generate_series(
    width_bucket(GREATEST(since, a), %(borders)s::timestamptz[]),
    width_bucket(
      GREATEST(since, a, LEAST(until, b) - interval '1 microsecond'), %(borders)s::timestamptz[]
    )
  ) AS slot
  WHERE since < b AND (until > a AND until > since OR since >= a AND counts)
    AND (%(queues)s::bigint[] IS NULL OR queue_id = ANY(%(queues)s::bigint[])
         OR kind IN ('session', 'free', 'paused', 'wrap_up'))
)"""
_PERIOD = "(%(periods)s::int[])[slot]"
_GRAINS = f"""
WITH {_STRETCHES}, {_SPANS}, {_CUT}
SELECT agent_id, {_PERIOD} AS period, queue_id, kind, detail, count(*) FILTER (WHERE counts AND since = lo),
  COALESCE(sum(extract(epoch FROM hi - lo)), 0)::bigint,
  min(since) FILTER (WHERE kind = 'session'), max(until) FILTER (WHERE kind = 'session')
FROM cut GROUP BY agent_id, period, queue_id, kind, detail
"""  # noqa: S608
_SLOT_OF_LINE = "(%(periods)s::int[])[width_bucket(x.created_at, %(borders)s::timestamptz[])]"
# Each chat and each ticket once in a period, however often somebody wrote in it. It is in one queue.
_WRITTEN = f"""
written AS (
  SELECT DISTINCT 'chats_answered' AS kind, stretch.agent_id, queue_id, x.chat_id::text AS subject,
    {{period}} AS period
  FROM stretch
  JOIN tickets_chatmessage x ON x.agent_id = stretch.agent_id AND x.created_at >= a AND x.created_at < b
  {_OF_CHAT}
  WHERE %(queues)s::bigint[] IS NULL OR queue_id = ANY(%(queues)s::bigint[])
  UNION ALL
  SELECT DISTINCT 'tickets_answered', stretch.agent_id, queue_id, x.ticket_id::text, {{period}}
  FROM stretch
  JOIN tickets_message x
    ON x.agent_id = stretch.agent_id AND x.type = 'REPLY' AND x.created_at >= a AND x.created_at < b
  {_OF_TICKET}
  WHERE %(queues)s::bigint[] IS NULL OR queue_id = ANY(%(queues)s::bigint[])
)"""  # noqa: S608
_WRITTEN_GRAINS = f"""
WITH {_STRETCHES}, {_WRITTEN}
SELECT agent_id, period, queue_id, kind, 0, count(*), 0, NULL, NULL FROM written
GROUP BY agent_id, period, queue_id, kind
"""  # noqa: S608
# Who replied or closed is in a cut; who only wrote in a chat is not.
_PRESENT = f"""
WITH {_STRETCHES}, {_SPANS}, {_CUT}, {_WRITTEN.format(period=_SLOT_OF_LINE)}
SELECT agent_id, {_PERIOD} FROM cut UNION SELECT agent_id, period FROM written
"""  # noqa: S608
_BOUNDS = """
SELECT min(since), max(until) FROM (
  SELECT min(started_at) AS since, max(COALESCE(ended_at, started_at)) AS until FROM telephony_agentsession
  UNION ALL SELECT min(started_at), max(COALESCE(ended_at, started_at)) FROM telephony_agentstate
  UNION ALL SELECT min(created_at), max(GREATEST(created_at, ended_at)) FROM telephony_connection
  UNION ALL SELECT min(created_at), max(GREATEST(created_at, closed_at)) FROM tickets_chat
  UNION ALL SELECT min(created_at), max(created_at) FROM tickets_message
  UNION ALL SELECT min(closed_at), max(closed_at) FROM tickets_ticket
  UNION ALL SELECT min(started_at), max(started_at) FROM reports_rollup
) ledger
"""


def _run(statement: str, stretches: Iterable[Stretch], slots: Slots, queues: Sequence[int] | None) -> list[Any]:
    agents, begins, ends = zip(*stretches, strict=True)
    parameters = {
        "agents": list(agents),
        "begins": list(begins),
        "ends": list(ends),
        "queues": None if queues is None else list(queues),
        **slots.parameters,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[Any] = cursor.fetchall()
    return rows


def grains(stretches: Sequence[Stretch], slots: Slots, queues: Sequence[int] | None = None) -> list[Grain]:
    """The sums of these stretches, by agent, period and queue, of all that can be added up."""
    return [Grain(*row) for row in _run(_GRAINS, stretches, slots, queues)] if stretches else []


def written(stretches: Sequence[Stretch], slots: Slots, queues: Sequence[int] | None = None) -> list[Grain]:
    """In how many chats they wrote, and to how many tickets they replied: of stretches that are whole periods."""
    period = HOUR_OF.format(column="x.created_at") if slots.by_hour else _SLOT_OF_LINE
    statement = _WRITTEN_GRAINS.format(period=period)
    return [Grain(*row) for row in _run(statement, stretches, slots, queues)] if stretches else []


def present(stretches: Sequence[Stretch], slots: Slots, queues: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """(agent, period) of those who did anything."""
    return _run(_PRESENT, stretches, slots, queues) if stretches else []


def bounds() -> tuple[datetime, datetime] | None:
    """From the first instant to the last that any ledger, or any rollup, speaks of."""
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS)
        since, until = cursor.fetchone()
    return (since, until) if since else None
