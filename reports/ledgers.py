"""SQL that reads the ledgers: from intervals of agents' time to grains, of which the figures are summed.

A grain says of an agent, a period, a queue and one kind of thing how many began and how many seconds of it lie in the
period. Its `detail` is, of an offer, a sum of 1 (answered), 2 (transferred) and 4 (ended without an answer); of a pause
its reason; of an outbound call the length of its talk.
"""

# ruff: noqa: S608  (SQL is composed of constants)

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any, NamedTuple

from callcentre.core.times import zone
from reports.periods import Aggregation
from reports.sums import OWN


class Source(IntEnum):
    """The origin of the figures of a stretch of time: the rollups, whose `level` it is, or the ledgers."""

    HOUR = 1
    DAY = 2
    MONTH = 4
    # Intervals that are over.
    CLOSED = 11
    # Intervals that go on: they last until now.
    OPEN = 12
    # Things that are counted once in a period: of stretches that are whole periods.
    DISTINCT = 13


# The rollups, the longest first. Weeks are sums of days, years of months, hours of the day of hours.
SOURCE_OF = {Aggregation.MONTH: Source.MONTH, Aggregation.DAY: Source.DAY, Aggregation.HOUR: Source.HOUR}


class Part(NamedTuple):
    """A part of a stretch of time, and where its figures come from."""

    source: Source
    begin: datetime
    end: datetime
    # The key of the period in which rollups lie that are shorter than it.
    start: datetime | None = None

    @property
    def is_rollup(self) -> bool:
        return self.source in SOURCE_OF.values()


def parameters(parts: Mapping[Part, Sequence[int]], borders: Iterable[datetime], keys: Iterable[int]) -> dict[str, Any]:
    """Return the parameters of a statement over these parts, each with its agents, and the borders that cut ledgers."""
    return {
        "sources": array(part.source for part in parts),
        "begins": array(part.begin for part in parts),
        "ends": array(part.end for part in parts),
        "starts": [part.start for part in parts],
        "agents": [array(ids) for ids in parts.values()],
        "borders": array(borders),
        "keys": array(datetime.fromtimestamp(key, UTC) for key in keys),
        "zone": zone().key,
    }


def array(values: Iterable[object]) -> str:
    """Spell an array for PostgreSQL, ten times as fast as psycopg does."""
    return "{" + ",".join(f'"{value}"' for value in values) + "}"


# Stretches of time, each with the agents of whom it is asked. Rollups that lie in a longer period have its key.
STRETCHES = """
stretch AS (
  SELECT source, agent_id, a, b, key
  FROM unnest(
    %(sources)s::int[], %(begins)s::timestamptz[], %(ends)s::timestamptz[], %(starts)s::timestamptz[],
    %(agents)s::text[]
  ) AS t(source, a, b, key, ids) CROSS JOIN unnest(t.ids::bigint[]) AS agent_id
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

_UNION = "\nUNION ALL\n"
_UNTIL = "COALESCE(x.ended_at, GREATEST(%(now)s, x.{start}))"
_LENGTH = f"GREATEST(floor(extract(epoch FROM {_UNTIL} - x.{{answered}})), 0)"
# Each kind of row of the ledgers as spans: kind, agent, queue, detail, stretch, since, until, whether it counts where
# it begins, and its end if it is over. `x` is the row.
_SESSION = f"""
SELECT 'session' AS kind, stretch.agent_id, NULL::bigint AS queue_id, 0::bigint AS detail, a, b, x.started_at AS since,
  {_UNTIL.format(start="started_at")} AS until, true AS counts, COALESCE(x.ended_at, 'infinity') AS ended_at
FROM stretch {{x}}"""
_STATE = f"""
SELECT x.kind, stretch.agent_id, NULL, COALESCE(x.pause_id, 0), a, b, x.started_at,
  {_UNTIL.format(start="started_at")}, true, x.ended_at
FROM stretch {{x}} WHERE x.kind IN ('free', 'paused', 'wrap_up')"""
_OFFER = f"""
SELECT part.kind, stretch.agent_id, x.queue_id,
  (x.answered_at IS NOT NULL)::int + 2 * (x.transferred_at IS NOT NULL)::int
    + 4 * (x.answered_at IS NULL AND x.ended_at IS NOT NULL)::int,
  a, b, part.since, part.until, part.kind = 'offer', x.ended_at
FROM stretch {{x}} JOIN telephony_connection c ON c.id = x.connection_id AND c.direction = 'INBOUND'
CROSS JOIN LATERAL (
  VALUES ('offer', x.offered_at, COALESCE(x.answered_at, {_UNTIL.format(start="offered_at")})),
    ('talk', x.answered_at, {_UNTIL.format(start="offered_at")})
) part(kind, since, until)
WHERE x.outcome <> 'failed'"""
_CALL = f"""
SELECT 'call', stretch.agent_id, x.queue_id, COALESCE({_LENGTH}, 0)::bigint, a, b, part.since, part.until, part.counts,
  x.ended_at
FROM stretch {{x}}
CROSS JOIN LATERAL (
  VALUES (x.{{start}}, x.{{start}}, true), (x.{{answered}}, {_UNTIL}, false)
) part(since, until, counts)
"""
_CONNECTION = _CALL.format(x="{x}", start="created_at", answered="answered_at")
_CONNECTION += "WHERE x.direction = 'OUTBOUND' AND NOT x.has_talks"
_TALK = _CALL.format(x="{x}", start="counted_at", answered="started_at")
_LEDGERS = [
    (_SESSION, _CLOSED_INTERVALS, "telephony_agentsession", "started_at", "x.ended_at IS NULL"),
    (_STATE, _CLOSED_INTERVALS, "telephony_agentstate", "started_at", "x.ended_at IS NULL"),
    (_OFFER, _CLOSED_CALLS, "telephony_offer", "offered_at", "x.ended_at IS NULL"),
    (_CONNECTION, _CLOSED_CALLS, "telephony_connection", "created_at", "x.state <> 'ended'"),
    (_TALK, _CLOSED_CALLS, "telephony_talk", "counted_at", "x.ended_at IS NULL"),
]
_OPEN_ROWS = [
    span.format(x=_OPEN.format(table=table, start=start, is_open=is_open))
    for span, _closed, table, start, is_open in _LEDGERS
]
_CLOSED_ROWS = [
    span.format(x=closed.format(table=table, start=start)) for span, closed, table, start, _is_open in _LEDGERS
]
# Things without a length. By the key of the chat or ticket, however many messages are expected: usually they are few.
_ITS_QUEUE = "CROSS JOIN LATERAL (SELECT queue_id FROM {table} WHERE id = x.{key} OFFSET 0) its"
_EVENTS = [
    f"""
SELECT 'chat_closed', stretch.agent_id, x.queue_id, 0, a, b, x.closed_at, x.closed_at, true, x.closed_at
FROM stretch JOIN tickets_chat x
  ON stretch.source = {Source.CLOSED} AND x.agent_id = stretch.agent_id AND x.closed_at >= a AND x.closed_at < b""",
    f"""
SELECT 'ticket_closed', stretch.agent_id, x.queue_id, 0, a, b, x.closed_at, x.closed_at, true, x.closed_at
FROM stretch JOIN tickets_ticket x
  ON stretch.source = {Source.CLOSED} AND x.closed_by_id = stretch.agent_id AND x.closed_at >= a AND x.closed_at < b""",
    f"""
SELECT 'reply', stretch.agent_id, {{queue}}, 0, a, b, x.created_at, x.created_at, true, x.created_at
FROM stretch JOIN tickets_message x
  ON stretch.source = {Source.CLOSED} AND x.agent_id = stretch.agent_id AND x.type = 'REPLY'
    AND x.created_at >= a AND x.created_at < b {{its_ticket}}""",
]
# Subjects that count once in a period, however often the agent wrote; and offers that were answered in time.
_DISTINCT = f"""
SELECT 'chat_answered' AS kind, stretch.agent_id, {{queue}} AS queue_id, x.chat_id::text AS subject, x.created_at AS at
FROM stretch JOIN tickets_chatmessage x
  ON stretch.source = {Source.DISTINCT} AND x.agent_id = stretch.agent_id AND x.created_at >= a AND x.created_at < b
{{its_chat}}
UNION ALL
SELECT 'ticket_answered', stretch.agent_id, {{queue}}, x.ticket_id::text, x.created_at
FROM stretch JOIN tickets_message x
  ON stretch.source = {Source.DISTINCT} AND x.agent_id = stretch.agent_id AND x.type = 'REPLY'
    AND x.created_at >= a AND x.created_at < b {{its_ticket}}"""
_IN_TIME = f"""
UNION ALL
SELECT 'in_time', stretch.agent_id, x.queue_id, x.id::text, x.offered_at
FROM stretch JOIN telephony_offer x
  ON stretch.source = {Source.DISTINCT} AND x.agent_id = stretch.agent_id AND x.offered_at >= a AND x.offered_at < b
    AND x.answered_at <= x.offered_at + make_interval(secs => %(within)s)
JOIN telephony_connection c ON c.id = x.connection_id AND c.direction = 'INBOUND'
WHERE x.outcome <> 'failed'"""

_WANTED_QUEUE = "%(queues)s::bigint[] IS NULL OR queue_id = ANY(%(queues)s::bigint[])"
# What begins in the stretch, and what reaches into it. A span of length 0 lies where it begins, if it counts.
_GRAINS = f"""
{{stretches}},
span AS ({{spans}}),
cut AS (
  SELECT span.*, (%(keys)s::timestamptz[])[slot] AS key, GREATEST(since, a, (%(borders)s::timestamptz[])[slot]) AS lo,
    LEAST(until, b, (%(borders)s::timestamptz[])[slot + 1]) AS hi
  FROM span CROSS JOIN LATERAL generate_series(
    width_bucket(GREATEST(since, a), %(borders)s::timestamptz[]),
    width_bucket(GREATEST(since, a, LEAST(until, b) - interval '1 microsecond'), %(borders)s::timestamptz[])
  ) AS slot
  WHERE {{is_within}} AND ({_WANTED_QUEUE} OR kind IN {OWN})
),
subject AS (
  SELECT DISTINCT kind, agent_id, queue_id, subject, {{key}} AS key FROM ({{distinct}}) x WHERE {_WANTED_QUEUE}
),
grain AS (
  SELECT agent_id, key, queue, kind, detail, count(*) FILTER (WHERE counts AND since = lo) AS begun,
    COALESCE(sum(GREATEST(extract(epoch FROM hi - lo), 0)), 0)::bigint AS seconds, min(since) AS first,
    max(ended_at) AS last
  FROM cut CROSS JOIN LATERAL (VALUES {{queues}}) q(queue) WHERE queue IS NOT NULL
  GROUP BY agent_id, key, queue, kind, detail
  UNION ALL
  SELECT agent_id, key, queue, kind, 0, count(*), 0, NULL, NULL
  FROM subject CROSS JOIN LATERAL (VALUES {{queues}}) q(queue) WHERE queue IS NOT NULL
  GROUP BY agent_id, key, queue, kind
)"""
_IS_WITHIN = "since < b AND (until > a AND until > since OR since >= a AND counts)"
HOUR_OF = "extract(hour FROM {instant} AT TIME ZONE %(zone)s)::int"
_SLOT_OF = "(%(keys)s::timestamptz[])[width_bucket(at, %(borders)s::timestamptz[])]"


def grains(*, with_queues: bool, each_queue: bool = False, by_hour: bool = False, in_time: bool = False) -> str:
    """Compose the common table expressions up to `grain`.

    `with_queues`: the queues of messages are looked up. `each_queue`: there are grains of each queue, besides those of
    all, whose queue is 0. `by_hour`: the periods are hours of the day, and borders are only of spans that are cut.
    """
    its = {
        "queue": "its.queue_id" if with_queues else "NULL::bigint",
        "its_chat": _ITS_QUEUE.format(table="tickets_chat", key="chat_id") if with_queues else "",
        "its_ticket": _ITS_QUEUE.format(table="tickets_ticket", key="ticket_id") if with_queues else "",
    }
    spans = [*_CLOSED_ROWS, *_OPEN_ROWS, *(event.format(**its) for event in _EVENTS)]
    return _GRAINS.format(
        stretches=STRETCHES,
        spans=_UNION.join(spans),
        is_within=_IS_WITHIN,
        distinct=_DISTINCT.format(**its) + (_IN_TIME if in_time else ""),
        key=f"to_timestamp({HOUR_OF.format(instant='at')})" if by_hour else _SLOT_OF,
        queues="(0::bigint), (queue_id)" if each_queue else "(0::bigint)",
    )


# Agents of whom anything goes on in a span, since when, and until when: parameters `ids`, `begin`, `end`, `now`.
GOING_ON = f"""
WITH stretch AS (
  SELECT {Source.OPEN} AS source, agent_id, %(begin)s::timestamptz AS a, %(end)s::timestamptz AS b
  FROM unnest(%(ids)s::bigint[]) AS agent_id
), span AS ({_UNION.join(_OPEN_ROWS)})
SELECT agent_id, 'open', GREATEST(since, a), LEAST(until, b) FROM span WHERE {_IS_WITHIN}
"""
