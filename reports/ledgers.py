"""SQL that reads the ledgers: from intervals of agents' time to grains, and from those to rows like the rollups'.

A grain says of an agent, a period, a queue and one kind of thing how many began and how many seconds of it lie in the
period. Its `detail` is, of an offer, the seconds until the answer (−1: it ended without one, −2: it goes on without
one); of a pause its reason; of an outbound call the length of its talk; of a reply its ticket.
"""

# ruff: noqa: S608  (SQL is composed of constants)

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple

from reports.figures import COLUMNS
from reports.periods import Aggregation, Span, union


class Source(IntEnum):
    """The origin of the figures of a stretch of time: the rollups, whose `level` it is, or the ledgers."""

    HOUR = 1
    DAY = 2
    MONTH = 4
    # Intervals that are over.
    CLOSED = 11
    # Intervals that go on: they last until now.
    OPEN = 12


class Part(NamedTuple):
    """A part of a stretch of time, and where its figures come from."""

    source: Source
    begin: datetime
    end: datetime


def array(values: Iterable[object]) -> str:
    """Spell an array of numbers or instants for PostgreSQL, ten times as fast as psycopg does."""
    return "{" + ",".join(map(str, values)) + "}"


def parameters(parts: Mapping[Part, Sequence[int]], aggregation: Aggregation, read: Iterable[Span]) -> dict[str, Any]:
    """Return the parameters of STRETCHES, each part with its agents, and of ROWS, with the spans of ledgers to cut."""
    return {
        "sources": array(map(int, (part.source for part in parts))),
        "begins": array(part.begin for part in parts),
        "ends": array(part.end for part in parts),
        "agents": [array(ids) for ids in parts.values()],
        "borders": array(sorted({border for span in union(read) for border in aggregation.borders(*span)})),
    }


STRETCHES = """
stretch AS (
  SELECT source, agent_id, a, b
  FROM unnest(%(sources)s::int[], %(begins)s::timestamptz[], %(ends)s::timestamptz[], %(agents)s::text[])
    AS t(source, a, b, ids) CROSS JOIN unnest(t.ids::bigint[]) AS agent_id
)"""

# Sessions and states of an agent do not overlap: of those that began before a stretch only the last can reach into it.
_CLOSED_INTERVALS = f"""
JOIN LATERAL (
  SELECT x.* FROM {{table}} x
  WHERE x.agent_id = stretch.agent_id AND x.started_at >= a AND x.started_at < b AND x.ended_at IS NOT NULL
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM {{table}} x
    WHERE x.agent_id = stretch.agent_id AND x.started_at < a AND x.ended_at > x.started_at
    ORDER BY x.started_at DESC LIMIT 1
  ) last WHERE ended_at > a
) x ON stretch.source = {Source.CLOSED}"""
# Calls may overlap. One that reaches into a stretch began six hours before it or later, or is one of the few long ones
# (telephony.models.connection.LONG). These are fetched behind a fence: the planner expects a third of all calls to be
# long, and would rather read the whole history of the agent.
_CLOSED_CALLS = f"""
JOIN LATERAL (
  SELECT x.* FROM {{table}} x
  WHERE x.agent_id = stretch.agent_id AND x.{{start}} >= a - interval '6 hours' AND x.{{start}} < b AND x.ended_at >= a
  UNION ALL
  SELECT * FROM (
    SELECT x.* FROM {{table}} x
    WHERE x.agent_id = stretch.agent_id AND x.ended_at - x.{{start}} > interval '6 hours' OFFSET 0
  ) long WHERE {{start}} < a - interval '6 hours' AND ended_at > a
) x ON stretch.source = {Source.CLOSED}"""
_OPEN = f"""
JOIN {{table}} x ON stretch.source = {Source.OPEN} AND x.agent_id = stretch.agent_id
  AND x.{{start}} < b AND {{is_open}}"""

_UNTIL = "COALESCE(x.ended_at, GREATEST(%(now)s, x.{start}))"
# Each kind of row of the ledgers as spans: kind, agent, queue, detail, chat, stretch, since, until, whether it counts
# where it begins, and its end if it is over. `x` is the row. The agent's own time belongs to no queue.
_SESSION = f"""
SELECT 'session' AS kind, stretch.agent_id, NULL::bigint AS queue_id, 0::bigint AS detail, NULL::uuid AS chat_id, a, b,
  x.started_at AS since, {_UNTIL} AS until, true AS counts, COALESCE(x.ended_at, 'infinity') AS ended_at
FROM stretch {{x}}"""
_STATE = f"""
SELECT x.kind, stretch.agent_id, NULL, COALESCE(x.pause_id, 0), NULL, a, b, x.started_at, {_UNTIL}, true, x.ended_at
FROM stretch {{x}} WHERE x.kind IN ('free', 'paused', 'wrap_up')"""
_OFFER = f"""
SELECT part.kind, stretch.agent_id, x.queue_id,
  CASE WHEN x.answered_at IS NULL THEN CASE WHEN x.ended_at IS NULL THEN -2 ELSE -1 END
    ELSE GREATEST(ceil(extract(epoch FROM x.answered_at - x.offered_at)), 0)::bigint END,
  NULL, a, b, part.since, part.until, part.counts, x.ended_at
FROM stretch {{x}} JOIN telephony_connection c ON c.id = x.connection_id AND c.direction = 'INBOUND'
CROSS JOIN LATERAL (
  VALUES ('offer', x.offered_at, COALESCE(x.answered_at, {_UNTIL}), true), ('talk', x.answered_at, {_UNTIL}, false),
    ('transfer', x.offered_at, x.offered_at, x.transferred_at IS NOT NULL)
) part(kind, since, until, counts)
WHERE x.outcome <> 'failed'"""
_CALL = f"""
SELECT 'call', stretch.agent_id, x.queue_id,
  COALESCE(GREATEST(floor(extract(epoch FROM {_UNTIL} - x.{{answered}})), 0), 0)::bigint, NULL, a, b, part.since,
  part.until, part.counts, x.ended_at
FROM stretch {{x}}
CROSS JOIN LATERAL (
  VALUES (x.{{start}}, x.{{start}}, true), (x.{{answered}}, {_UNTIL}, false)
) part(since, until, counts)
"""
_PLACED = _CALL.replace("{answered}", "answered_at") + "WHERE x.direction = 'OUTBOUND' AND NOT x.has_talks"
_TALK = _CALL.replace("{answered}", "started_at")
# Of the consulted agent, apart from the customer.
_CONSULTATION = f"""
SELECT 'consultation', stretch.agent_id, NULL, 0, NULL, a, b, x.up_at, COALESCE(x.joined_at, {_UNTIL}), true, x.ended_at
FROM stretch {{x}} WHERE x.up_at IS NOT NULL"""
_LEDGERS = [
    (_SESSION, _CLOSED_INTERVALS, "telephony_agentsession", "started_at", "x.ended_at IS NULL"),
    (_STATE, _CLOSED_INTERVALS, "telephony_agentstate", "started_at", "x.ended_at IS NULL"),
    (_OFFER, _CLOSED_CALLS, "telephony_offer", "offered_at", "x.ended_at IS NULL"),
    (_PLACED, _CLOSED_CALLS, "telephony_connection", "created_at", "x.state <> 'ended'"),
    (_TALK, _CLOSED_CALLS, "telephony_talk", "counted_at", "x.ended_at IS NULL"),
    (_CONSULTATION, _CLOSED_CALLS, "telephony_consultation", "asked_at", "x.ended_at IS NULL"),
]
_INTERVALS = [
    span.format(start=start, x=rows.format(table=table, start=start, is_open=is_open))
    for span, closed, table, start, is_open in _LEDGERS
    for rows in (closed, _OPEN)
]
# Things without a length: kind, queue, detail, chat, table, agent, instant, further joins. The queue by the key of the
# ticket, however many replies are expected: usually they are few.
_REPLY = """AND x.type = 'REPLY'
CROSS JOIN LATERAL (SELECT queue_id FROM tickets_ticket WHERE id = x.ticket_id OFFSET 0) its
CROSS JOIN LATERAL (VALUES ('reply', its.queue_id), ('ticket_answered', NULL)) part(kind, queue_id)"""
_EVENTS = [
    f"""
SELECT {kind}, stretch.agent_id, {queue}, {detail}, {chat}, a, b, x.{at}, x.{at}, true, x.{at}
FROM stretch JOIN {table} x
  ON stretch.source = {Source.CLOSED} AND x.{agent} = stretch.agent_id AND x.{at} >= a AND x.{at} < b {joins}"""
    for kind, queue, detail, chat, table, agent, at, joins in (
        ("'chat_closed'", "x.queue_id", "0", "NULL", "tickets_chat", "agent_id", "closed_at", ""),
        ("'ticket_closed'", "x.queue_id", "0", "NULL", "tickets_ticket", "closed_by_id", "closed_at", ""),
        ("part.kind", "part.queue_id", "x.ticket_id", "NULL", "tickets_message", "agent_id", "created_at", _REPLY),
        ("'chat_answered'", "NULL", "0", "x.chat_id", "tickets_chatmessage", "agent_id", "created_at", ""),
    )
]
# Rows of STRETCHES like those of the rollups, of the queues that are wanted, or of all. A row has what begins in a
# stretch, and what reaches into it. A span of length 0 lies where it begins, if it counts.
ROWS = f"""
span AS ({" UNION ALL ".join([*_INTERVALS, *_EVENTS])}),
cut AS (
  SELECT span.*, (%(borders)s::timestamptz[])[slot] AS border,
    GREATEST(since, a, (%(borders)s::timestamptz[])[slot]) AS lo,
    LEAST(until, b, (%(borders)s::timestamptz[])[slot + 1]) AS hi
  FROM span CROSS JOIN LATERAL generate_series(
    width_bucket(GREATEST(since, a), %(borders)s::timestamptz[]),
    width_bucket(GREATEST(since, a, LEAST(until, b) - interval '1 microsecond'), %(borders)s::timestamptz[])
  ) AS slot
  WHERE since < b AND (until > a AND until > since OR since >= a AND counts)
),
grain AS (
  SELECT agent_id, border AS started_at, queue AS queue_id, kind, detail, chat_id,
    (count(*) FILTER (WHERE counts AND since = lo))::int AS begun,
    COALESCE(sum(GREATEST(extract(epoch FROM hi - lo), 0)), 0)::int AS seconds, min(since) AS first,
    max(ended_at) AS last
  FROM cut CROSS JOIN LATERAL (VALUES (0::bigint), (queue_id)) q(queue)
  WHERE queue = ANY(%(queues)s::bigint[]) OR %(queues)s::bigint[] IS NULL AND queue IS NOT NULL
  GROUP BY agent_id, border, queue, kind, detail, chat_id
),
running AS (
  SELECT *, (sum(begun) OVER shorter)::int AS begun_until, (sum(seconds) OVER shorter)::int AS seconds_until
  FROM grain WINDOW shorter AS (PARTITION BY agent_id, started_at, queue_id, kind, detail >= 0 ORDER BY detail)
),
counted AS (
  SELECT agent_id, queue_id, started_at, {", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())}
  FROM running GROUP BY agent_id, started_at, queue_id
)"""
# The starts of intervals of agents that go on in a span: parameters `ids`, `begin`, `end`, `now`.
GOING_ON = " UNION ALL ".join(
    f"SELECT agent_id, {start} FROM {table} x WHERE agent_id = ANY(%(ids)s::bigint[]) AND {is_open}"
    f" AND {start} < %(end)s AND GREATEST(%(now)s, {start}) >= %(begin)s"
    for _span, _closed, table, start, is_open in _LEDGERS
)
