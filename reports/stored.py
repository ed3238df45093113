"""What the rollups say: rows of whole periods, counted, listed, read and summed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from reports.ledgers import Slots, Stretch
from reports.measures import SUMS, WRITTEN, Measures
from reports.periods import Level

Key = tuple[int, datetime]

# Of a row and a threshold: calls up to it, and their seconds. 0 has columns of its own.
_BELOW_ZERO = ("r.silent_count", "0")
_BELOW = tuple(
    f"COALESCE(r.{column}[width_bucket(%(threshold)s::int, r.call_lengths)], 0)"
    for column in ("call_counts", "call_seconds")
)
_SUMS = [("r.offered - r.answered" if name == "not_answered" else f"r.{name}") for name in (*SUMS, *WRITTEN)]
_EVERYTHING = 0


def _calls(threshold: int) -> list[str]:
    """Columns: how many calls are below and above the threshold, and their seconds."""
    count, seconds = _BELOW if threshold else _BELOW_ZERO
    return [count, f"r.talked_count + r.silent_count - {count}", seconds, f"r.talked_seconds - {seconds}"]


# Rows of the span but for those of some agents' stretches, which are looked at by themselves.
_ROWS = """
FROM reports_rollup r
WHERE r.level = %(level)s AND r.agent_id = ANY(%(agents)s) AND r.started_at >= %(begin)s AND r.started_at < %(end)s
  AND {of_queues} AND NOT EXISTS (
    SELECT 1 FROM unnest(%(but_agents)s::bigint[], %(but_begins)s::timestamptz[], %(but_ends)s::timestamptz[])
      AS but(agent_id, a, b)
    WHERE but.agent_id = r.agent_id AND r.started_at < but.b AND r.started_at >= but.a
  )
"""
_PARTS = """
FROM unnest(%(levels)s::int[], %(agents)s::bigint[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
  AS part(level, agent_id, a, b)
JOIN reports_rollup r
  ON r.level = part.level AND r.agent_id = part.agent_id AND r.started_at >= part.a AND r.started_at < part.b
"""
_PERIOD = "(%(periods)s::int[])[width_bucket(r.started_at, %(borders)s::timestamptz[])]"


def _of_queues(queues: Sequence[int] | None) -> str:
    """Rows that make a period appear in the report."""
    if queues is None:
        return "r.queue_id = 0"
    return "(r.queue_id = 0 AND r.has_time OR r.queue_id = ANY(%(queues)s::bigint[]))"


def _fetch(statement: str, parameters: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[Any] = cursor.fetchall()
    return rows


def _of_rows(
    level: Level, span: Stretch, agents: Sequence[int], but: Sequence[Stretch], queues: Sequence[int] | None
) -> dict[str, Any]:
    _, begin, end = span
    return {
        "level": level.value,
        "agents": list(agents),
        "begin": begin,
        "end": end,
        "but_agents": [agent_id for agent_id, _, _ in but],
        "but_begins": [a for _, a, _ in but],
        "but_ends": [b for _, _, b in but],
        **({} if queues is None else {"queues": list(queues)}),
    }


def count(
    level: Level, span: Stretch, agents: Sequence[int], but: Sequence[Stretch], queues: Sequence[int] | None
) -> dict[int, int]:
    """How many periods each agent has in the span, but for these stretches."""
    what = "count(*)" if queues is None else "count(DISTINCT r.started_at)"
    rows = _ROWS.format(of_queues=_of_queues(queues))
    statement = f"SELECT r.agent_id, {what} {rows} GROUP BY r.agent_id"
    return dict(_fetch(statement, _of_rows(level, span, agents, but, queues)))


def keys(
    level: Level, span: Stretch, agents: Sequence[int], but: Sequence[Stretch], queues: Sequence[int] | None
) -> list[Key]:
    """Which ones they are."""
    rows = _ROWS.format(of_queues=_of_queues(queues))
    statement = f"SELECT DISTINCT r.agent_id, r.started_at {rows}"
    return _fetch(statement, _of_rows(level, span, agents, but, queues))


def _columns(threshold: int, wrap: str = "{}") -> str:
    return ", ".join(wrap.format(column) for column in (*_SUMS, *_calls(threshold)))


_TIMES = "r.first_login_at, r.last_logout_at, r.has_time, r.pause_ids, r.pause_counts, r.pause_seconds"


def page(level: Level, span: Stretch, agents: Sequence[int], threshold: int, *, limit: int, offset: int) -> list[Any]:
    """(agent, start, measures) of a page, agents in this order, where no row is stale and none is missing."""
    _, begin, end = span
    statement = f"""
    SELECT r.agent_id, r.started_at, true, {_columns(threshold)}, {_TIMES}
    FROM (
      SELECT agent.place, agent.id, row.started_at
      FROM unnest(%(agents)s::bigint[]) WITH ORDINALITY agent(id, place)
      JOIN reports_rollup row ON row.level = %(level)s AND row.queue_id = 0 AND row.agent_id = agent.id
      WHERE row.started_at >= %(begin)s AND row.started_at < %(end)s
      ORDER BY agent.place, row.started_at LIMIT %(limit)s OFFSET %(offset)s
    ) key
    JOIN reports_rollup r
      ON r.level = %(level)s AND r.queue_id = 0 AND r.agent_id = key.id AND r.started_at = key.started_at
    ORDER BY key.place, key.started_at
    """  # noqa: S608
    parameters = {
        "level": level.value,
        "agents": list(agents),
        "begin": begin,
        "end": end,
        "threshold": threshold,
        "limit": limit,
        "offset": offset,
    }
    return [(row[0], row[1], _measures(row, threshold)) for row in _fetch(statement, parameters)]


def rows(level: Level, wanted: Sequence[Key], threshold: int, queues: Sequence[int] | None) -> dict[Key, Measures]:
    """Those of these periods that there are."""
    statement = f"""
    SELECT r.agent_id, r.started_at, r.queue_id = 0, {_columns(threshold)}, {_TIMES}
    FROM unnest(%(agents)s::bigint[], %(starts)s::timestamptz[]) AS key(agent_id, started_at)
    JOIN reports_rollup r ON r.level = %(level)s AND r.queue_id = ANY(%(queues)s::bigint[])
      AND r.agent_id = key.agent_id AND r.started_at = key.started_at
    """  # noqa: S608
    parameters = {
        "level": level.value,
        "agents": [agent_id for agent_id, _ in wanted],
        "starts": [start for _, start in wanted],
        "queues": [_EVERYTHING, *(queues or ())],
        "threshold": threshold,
    }
    found: dict[Key, Measures] = {}
    for row in _fetch(statement, parameters) if wanted else ():
        measures = _measures(row, threshold, is_narrowed=queues is not None)
        if (key := (row[0], row[1])) in found:
            found[key].merge(measures, with_writing=True)
        else:
            found[key] = measures
    return found


def _measures(row: Sequence[Any], threshold: int, *, is_narrowed: bool = False) -> Measures:
    """Of a row of agent, key, whether it is of all queues, and the columns."""
    is_all, values, calls, times = row[2], row[3 : 3 + len(_SUMS)], row[3 + len(_SUMS) : 7 + len(_SUMS)], row[-6:]
    measures = Measures()
    if is_all and is_narrowed:
        # The agent's own time; calls, chats and tickets are in the rows of their queues.
        for name, value in zip((*SUMS, *WRITTEN), values, strict=True):
            if name in _OWN:
                setattr(measures, name, value)
    else:
        for name, value in zip((*SUMS, *WRITTEN), values, strict=True):
            setattr(measures, name, value)
        below, above, below_seconds, above_seconds = calls
        measures.calls = {0: (below, below_seconds), threshold + 1: (above, above_seconds)}
    if is_all:
        measures.first_login_at, measures.last_logout_at, measures.has_time, *pauses = times
        measures.pauses = {pause: (count, seconds) for pause, count, seconds in zip(*pauses, strict=True)}
    return measures


_OWN = {"login_seconds", "free_count", "free_seconds", "wrap_up_seconds"}


def _of_parts(
    parts: Sequence[tuple[Level, Stretch]], slots: Slots, threshold: int, queues: Sequence[int] | None
) -> dict[str, Any]:
    return {
        "levels": [level.value for level, _ in parts],
        "agents": [agent_id for _, (agent_id, _, _) in parts],
        "begins": [a for _, (_, a, _) in parts],
        "ends": [b for _, (_, _, b) in parts],
        "queues": [_EVERYTHING, *(queues or ())],
        "threshold": threshold,
        **slots.parameters,
    }


def sums(
    parts: Sequence[tuple[Level, Stretch]], slots: Slots, threshold: int, queues: Sequence[int] | None
) -> list[tuple[int, int, Measures]]:
    """(agent, period, measures) of whole rows that lie in periods; in what they wrote is not for this to say."""
    if not parts:
        return []
    parameters = _of_parts(parts, slots, threshold, queues)
    of_queues = "WHERE r.queue_id = ANY(%(queues)s::bigint[])"
    statement = f"""
    SELECT r.agent_id, {_PERIOD}, r.queue_id = 0 AS is_all, {_columns(threshold, "sum({})::bigint")},
      min(r.first_login_at), max(r.last_logout_at), bool_or(r.has_time), '{{}}'::int[], '{{}}'::int[], '{{}}'::int[]
    {_PARTS} {of_queues} GROUP BY 1, 2, 3
    """
    found = [
        (row[0], row[1], _measures(row, threshold, is_narrowed=queues is not None))
        for row in _fetch(statement, parameters)
    ]
    pauses = f"""
    SELECT r.agent_id, {_PERIOD}, pause.id, sum(pause.begun)::bigint, sum(pause.seconds)::bigint
    {_PARTS} CROSS JOIN LATERAL unnest(r.pause_ids, r.pause_counts, r.pause_seconds) AS pause(id, begun, seconds)
    WHERE r.queue_id = 0 GROUP BY 1, 2, 3
    """
    for agent_id, period, pause_id, begun, seconds in _fetch(pauses, parameters):
        found.append((agent_id, period, Measures(pauses={pause_id: (begun, seconds)}, has_time=True)))
    return found


def present(
    parts: Sequence[tuple[Level, Stretch]], slots: Slots, queues: Sequence[int] | None
) -> list[tuple[int, int]]:
    """(agent, period) of which there is any row."""
    if not parts:
        return []
    statement = f"SELECT DISTINCT r.agent_id, {_PERIOD} {_PARTS} WHERE {_of_queues(queues)}"
    parameters = _of_parts(parts, slots, 0, queues)
    if queues is not None:
        parameters["queues"] = list(queues)
    return _fetch(statement, parameters)
