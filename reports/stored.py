"""What the rollups say: rows of whole periods, counted, listed, read and summed."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from psycopg.pq import Format

from reports.covering import Span
from reports.ledgers import Slots, Stretch
from reports.measures import COUNTS, Measures
from reports.periods import Level

Key = tuple[int, datetime]

_EVERYTHING = 0
# Of a rollup `r`, in the order of COUNTS.
COLUMNS = ["r.offered - r.answered" if name == "not_answered" else f"r.{name}" for name in COUNTS]
# Of a row and a threshold: outbound calls up to it, their seconds; all of them, and theirs. 0 has columns of its own.
_CALLS_TO_ZERO = ("r.silent_count", "0", "r.talked_count + r.silent_count", "r.talked_seconds")
_CALLS = (
    *(
        f"COALESCE(r.{column}[width_bucket(%(threshold)s::int, r.call_lengths)], 0)"
        for column in ("call_counts", "call_seconds")
    ),
    *_CALLS_TO_ZERO[2:],
)


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


def _period(slots: Slots) -> str:
    return (
        "r.hour::int"
        if slots.by_hour
        else "(%(periods)s::int[])[width_bucket(r.started_at, %(borders)s::timestamptz[])]"
    )


def _of_queues(queues: Sequence[int] | None) -> str:
    """Rows that make a period appear in the report."""
    if queues is None:
        return "r.queue_id = 0"
    return "(r.queue_id = 0 AND r.has_time OR r.queue_id = ANY(%(queues)s::bigint[]))"


def _fetch(statement: str, parameters: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        # A page has thousands of numbers, which cost a tenth less of a statement's time than as text.
        cursor.cursor.format = Format.BINARY
        cursor.execute(statement, parameters)
        rows: list[Any] = cursor.fetchall()
    return rows


def _of_rows(
    level: Level, span: Span, agents: Sequence[int], but: Sequence[Stretch], queues: Sequence[int] | None
) -> dict[str, Any]:
    begin, end = span
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
    level: Level, span: Span, agents: Sequence[int], but: Sequence[Stretch], queues: Sequence[int] | None
) -> dict[int, int]:
    """How many periods each agent has in the span, but for these stretches."""
    what = "count(*)" if queues is None else "count(DISTINCT r.started_at)"
    rows = _ROWS.format(of_queues=_of_queues(queues))
    statement = f"SELECT r.agent_id, {what} {rows} GROUP BY r.agent_id"
    return dict(_fetch(statement, _of_rows(level, span, agents, but, queues)))


def keys(
    level: Level, span: Span, agents: Sequence[int], but: Sequence[Stretch], queues: Sequence[int] | None
) -> list[Key]:
    """Which ones they are."""
    rows = _ROWS.format(of_queues=_of_queues(queues))
    statement = f"SELECT DISTINCT r.agent_id, r.started_at {rows}"
    return _fetch(statement, _of_rows(level, span, agents, but, queues))


def _columns(threshold: int) -> list[str]:
    """Numbers that can be added up."""
    return [*COLUMNS, *(_CALLS if threshold else _CALLS_TO_ZERO)]


# Numbers, because they are read faster than instants.
_MOMENTS = "date_part('epoch', {first}(r.first_login_at)), date_part('epoch', {last}(r.last_logout_at))"
_TIMES = f"{_MOMENTS.format(first='', last='')}, r.has_time, r.pause_ids, r.pause_counts, r.pause_seconds"


def _whole(threshold: int) -> str:
    """All columns of a row, as `_measures` takes them."""
    return f"{', '.join(_columns(threshold))}, {_TIMES}"


def instant(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def array(numbers: Iterable[int]) -> str:
    """As PostgreSQL spells it, ten times as fast as psycopg would."""
    return f"{{{','.join(map(str, numbers))}}}"


_READY = """
reports_ready(
  %(level)s::int, {agents}, %(begin)s, %(end)s, %(limit)s::bigint, %(offset)s::bigint
)
"""


def _of_page(level: Level, span: Span, threshold: int, limit: int, offset: int) -> dict[str, Any]:
    begin, end = span
    return {
        "level": level.value,
        "begin": begin,
        "end": end,
        "limit": limit,
        "offset": offset,
        "threshold": threshold,
    }


def ready(
    level: Level, span: Span, agents: Sequence[int], threshold: int, *, limit: int, offset: int
) -> list[tuple[int, datetime, Measures]] | None:
    """(agent, start, measures) of a page, agents in this order; None where not every row of the span is kept ready.

    One statement, so it is of one instant: the function comes with the migration `ready_rows_unsorted`.
    """
    statement = f"""
    SELECT r.agent_id, date_part('epoch', r.started_at), {_whole(threshold)}
    FROM {_READY.format(agents="%(agents)s::bigint[]")} r
    """  # noqa: S608
    found = _fetch(statement, {"agents": array(agents), **_of_page(level, span, threshold, limit, offset)})
    if found and found[0][0] is None:
        return None
    return [(row[0], datetime.fromtimestamp(row[1], UTC), _measures(row[2:], threshold)) for row in found]


# Agents by name and of groups; how many of the names and of the groups there are. Names are sent as JSON, which is
# written faster than an array: there may be hundreds, none of them twice.
_NAMED = """
WITH name AS (SELECT jsonb_array_elements_text(%(logins)s::jsonb) AS login),
asked AS (
  SELECT array_agg(id ORDER BY login) AS ids, count(*) FILTER (WHERE is_named)
    + (SELECT count(*) FROM telephony_agentgroup WHERE id IN (SELECT unnest(%(groups)s::bigint[]))) AS known
  FROM (
    SELECT a.id, a.login, true AS is_named FROM name JOIN telephony_agent a ON a.login = name.login
    UNION ALL
    SELECT a.id, a.login, false FROM telephony_agent a
    WHERE a.group_id IN (SELECT unnest(%(groups)s::bigint[])) AND a.login NOT IN (SELECT login FROM name)
  ) found
)
SELECT asked.known, r.ordinality, date_part('epoch', r.started_at), a.login, a.name, a.surname, {columns}
FROM asked
LEFT JOIN LATERAL {ready} WITH ORDINALITY r ON true
LEFT JOIN telephony_agent a ON a.id = r.agent_id
ORDER BY r.ordinality
"""


def ready_by_name(
    level: Level,
    span: Span,
    logins: Sequence[str],
    groups: Sequence[int],
    threshold: int,
    *,
    limit: int,
    offset: int,
) -> list[tuple[Any, ...]] | None:
    """The page as `ready` has it, of agents by name: None too where one of them, or of the groups, is unknown.

    Of each row, by one statement, agents included: two columns that are of no use to others; its start; login, name and
    surname; the columns of COUNTS; outbound calls up to the threshold, their seconds, all of them, theirs; first login,
    last logout, whether there is own time; ids of pauses, how many began, their seconds. Instants are seconds of the
    epoch.
    """
    statement = _NAMED.format(columns=_whole(threshold), ready=_READY.format(agents="asked.ids"))
    names = {"logins": json.dumps(logins), "groups": list(groups)}
    found = _fetch(statement, {**names, **_of_page(level, span, threshold, limit, offset)})
    known, place, start = found[0][:3]
    if known != len(logins) + len(groups) or (place and start is None):
        return None
    return found if place else []


def rows(level: Level, wanted: Sequence[Key], threshold: int, queues: Sequence[int] | None) -> dict[Key, Measures]:
    """Those of these periods that there are."""
    statement = f"""
    SELECT r.agent_id, r.started_at, r.queue_id = 0, {_whole(threshold)}
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
        measures = _measures(row[3:], threshold)
        if row[2] and queues is not None:
            measures = measures.own_time()
        if (key := (row[0], row[1])) in found:
            found[key].merge(measures, with_writing=True)
        else:
            found[key] = measures
    return found


def _measures(values: Sequence[Any], threshold: int) -> Measures:
    """Of the columns and times of a row."""
    below, below_seconds, calls, seconds, first, last, has_time, ids, begun, lasted = values[len(COUNTS) :]
    fields: list[Any] = [
        *values[: len(COUNTS)],
        instant(first),
        instant(last),
        False,
        dict(zip(ids, zip(begun, lasted, strict=True), strict=True)),
        {0: (below, below_seconds), threshold + 1: (calls - below, seconds - below_seconds)},
        has_time,
    ]
    return Measures(*fields)


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
    columns = ", ".join(f"sum({column})::bigint" for column in _columns(threshold))
    statement = f"""
    SELECT r.agent_id, {_period(slots)}, r.queue_id = 0 AS is_all, {columns},
      {_MOMENTS.format(first="min", last="max")}, bool_or(r.has_time), '{{}}'::int[], '{{}}'::int[], '{{}}'::int[]
    {_PARTS} {of_queues} GROUP BY 1, 2, 3
    """
    found = []
    for agent_id, period, is_all, *values in _fetch(statement, parameters):
        measures = _measures(values, threshold)
        found.append((agent_id, period, measures.own_time() if is_all and queues is not None else measures))
    pauses = f"""
    SELECT r.agent_id, {_period(slots)}, pause.id, sum(pause.begun)::bigint, sum(pause.seconds)::bigint
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
    statement = f"SELECT DISTINCT r.agent_id, {_period(slots)} {_PARTS} WHERE {_of_queues(queues)}"
    parameters = _of_parts(parts, slots, 0, queues)
    if queues is not None:
        parameters["queues"] = list(queues)
    return _fetch(statement, parameters)
