"""The report: the rows of a page, in two statements after one that says what is stale (docs/decisions/0018)."""

# ruff: noqa: S608  (SQL is composed of constants)

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from django.db import connection, transaction
from psycopg.pq import Format

from reports import ledgers, staleness
from reports.ledgers import SOURCE_OF, Part, Source, array
from reports.periods import Aggregation, Span
from reports.staleness import Unsettled, cover, union
from reports.sums import DISTINCT, OWN, SOURCES, Sums


@dataclass(frozen=True)
class Question:
    """Agents, in the order of the report; a span without its end; how to cut it, and what to count."""

    agents: Sequence[int]
    begin: datetime
    end: datetime
    aggregation: Aggregation
    # Intervals that go on end at this instant.
    now: datetime
    threshold: int = 0
    # None: everything.
    queues: Sequence[int] | None = None
    # Seconds within which an offer is answered in time; None leaves these offers out.
    within: int | None = None


class Row(NamedTuple):
    agent_id: int
    period: str
    sums: Sums


Parts = dict[Part, list[int]]
RowKey = tuple[int, int]


# To plan the sums of a page takes as long as to run them: the plan is kept.
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


def page(question: Question, limit: int, offset: int) -> list[Row]:
    """Return so many rows of the report, from there on."""
    if not question.agents:
        return []
    with snapshot():
        report = _Report(question)
        keys = report.keys(limit, offset)
        sums = report.sums(keys) if keys else {}
    label = {key: question.aggregation.label(key) for key in {key for _, key in keys}}
    return [Row(agent_id, label[key], sums[agent_id, key]) for agent_id, key in keys]


# Rollups of a stretch: those with a key lie in a longer period, others are whole periods of the report.
_MATCH = """reports_rollup r ON r.level = stretch.source AND r.agent_id = stretch.agent_id
  AND r.started_at >= stretch.a AND r.started_at < stretch.b AND r.queue_id = ANY(%(rollup_queues)s::bigint[])"""
_ROLLUPS = f"""
rollup AS (
  SELECT r.*, source = %(own)s AS is_period, COALESCE(stretch.key, {{key}}) AS key FROM stretch JOIN {_MATCH}
)"""
# A row of all queues makes a period appear in a report of some if it has time of the agent's own.
_IS_PRESENT = "(%(queues)s::bigint[] IS NULL OR r.queue_id <> 0 OR r.has_time)"
_PRESENT_IN_LEDGERS = "SELECT agent_id, key FROM grain"
_PRESENT_IN_SHORTER = f"""
SELECT agent_id, key FROM stretch
WHERE key IS NOT NULL AND EXISTS (SELECT FROM {_MATCH.replace(" ON ", " WHERE ", 1)} AND {_IS_PRESENT})"""
_PRESENT_AS_ROLLUP = f"""
SELECT stretch.agent_id, {{key}} AS key FROM stretch JOIN {_MATCH} AND {_IS_PRESENT} WHERE key IS NULL"""
_KEYS = """
SELECT agent.id, date_part('epoch', present.key)::bigint
FROM unnest(%(order)s::bigint[]) WITH ORDINALITY AS agent(id, place)
JOIN (SELECT DISTINCT agent_id, key FROM ({present}) any_row) present ON present.agent_id = agent.id
ORDER BY agent.place, present.key LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint"""
# The same if the rows of all agents are the rollups of one stretch: a loop over the agents in their order, which ends
# with the page. Sorting all rows takes as long as the rest of a page.
_KEYS_IN_ORDER = """
SELECT agent.id, date_part('epoch', r.started_at)::bigint FROM unnest(%(order)s::bigint[]) AS agent(id)
CROSS JOIN LATERAL (
  SELECT started_at FROM reports_rollup
  WHERE level = %(own)s AND queue_id = 0 AND agent_id = agent.id AND started_at >= %(begin)s AND started_at < %(end)s
  ORDER BY started_at
) r LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint"""


def _of_rollups(*, is_narrowed: bool) -> str:
    """Return the SQL that sums rows of the rollups; `is_narrowed`: rows of some queues, and the agent's own time."""
    columns = []
    for name, source in SOURCES.items():
        where = "r.is_period" if source.kind in DISTINCT else "true"
        if is_narrowed:
            where += f" AND r.queue_id {'=' if source.kind in OWN else '<>'} 0"
        figure = f"{source.together}({source.rollup}) FILTER (WHERE {where})"
        columns.append(f"{figure} AS {name}" if source.together != "sum" else f"COALESCE({figure}, 0) AS {name}")
    return f"SELECT agent_id, key, {', '.join(columns)} FROM rollup r GROUP BY agent_id, key"


_OF_ROLLUPS = {is_narrowed: _of_rollups(is_narrowed=is_narrowed) for is_narrowed in (False, True)}
_GRAIN_COLUMNS = ", ".join(f"{source.grains} AS {name}" for name, source in SOURCES.items())
_OF_GRAINS = f"SELECT agent_id, key, {_GRAIN_COLUMNS} FROM grain GROUP BY agent_id, key"
_PAUSES_OF_GRAINS = "SELECT agent_id, key, detail AS id, begun, seconds FROM grain WHERE kind = 'paused'"
_PAUSES_OF_ROLLUPS = """
SELECT agent_id, key, pause.* FROM rollup
CROSS JOIN LATERAL unnest(pause_ids, pause_counts, pause_seconds) AS pause(id, begun, seconds) WHERE queue_id = 0"""
_TOGETHER = ", ".join(
    f"sum({name})::bigint" if source.together == "sum" else f"date_part('epoch', {source.together}({name}))"
    for name, source in SOURCES.items()
)
_SUMS = f"""
SELECT * FROM (
  SELECT agent_id, date_part('epoch', key)::bigint AS key, {_TOGETHER} FROM ({{sums}}) part GROUP BY agent_id, part.key
) sums LEFT JOIN (
  SELECT agent_id, date_part('epoch', key)::bigint AS key, array_agg(id), array_agg(begun), array_agg(seconds) FROM (
    SELECT agent_id, key, id, sum(begun)::bigint AS begun, sum(seconds)::bigint AS seconds FROM ({{pauses}}) pause
    GROUP BY agent_id, key, id
  ) pause GROUP BY agent_id, pause.key
) pauses USING (agent_id, key)"""

# The rollups that a period can be put together from, the longest first.
_MONTHS, _DAYS, _HOURS = ((*SOURCE_OF,)[place:] for place in range(3))
_LENGTHS: dict[Aggregation, tuple[Aggregation, ...]] = {
    Aggregation.MINUTE: (),
    Aggregation.HOUR: _HOURS,
    Aggregation.HOUR_OF_DAY: _HOURS,
    Aggregation.DAY: _DAYS,
    Aggregation.WEEK: _DAYS,
    Aggregation.MONTH: _MONTHS,
    Aggregation.YEAR: _MONTHS,
}


class _Report:
    def __init__(self, question: Question) -> None:
        self.question, self.aggregation = question, question.aggregation
        self.unsettled = staleness.read(question.agents, question.begin, question.end, question.now)
        self.by_hour = question.aggregation is Aggregation.HOUR_OF_DAY
        # The rollups whose rows are whole periods of the report.
        self.own = SOURCE_OF.get(question.aggregation)
        self.key = "to_timestamp(r.hour)" if self.by_hour else "r.started_at"

    def keys(self, limit: int, offset: int) -> list[RowKey]:
        """Return agents and keys of the rows of a page."""
        asked = self.question
        parts = self._parts({(asked.begin, asked.end): asked.agents})
        parameters = {"order": array(asked.agents), "limit": limit, "offset": offset}
        if [(part.source, part.start) for part in parts] == [(self.own, None)] and asked.queues is None:
            return self._run(_KEYS_IN_ORDER, parts, {**parameters, "begin": asked.begin, "end": asked.end})
        # An agent who only wrote in a chat is present as well.
        parts |= {part._replace(source=Source.DISTINCT): parts[part] for part in parts if part.source is Source.CLOSED}
        present = [_PRESENT_IN_LEDGERS] if _has_ledgers(parts) else []
        present += [_PRESENT_IN_SHORTER] if any(part.start for part in parts) else []
        if any(part.is_rollup and not part.start for part in parts):
            present.append(_PRESENT_AS_ROLLUP.format(key=self.key))
        return self._run(_KEYS.format(present=" UNION ALL ".join(present)), parts, parameters) if present else []

    def sums(self, keys: Sequence[RowKey]) -> dict[RowKey, Sums]:
        """Return the sums of these rows."""
        asked = self.question
        parts = self._parts(self._stretches(keys))
        # No rollup has the offers answered in time.
        own = self.own if asked.within is None else None
        parts |= self._distinct(parts, own)
        tables = [(_OF_ROLLUPS[asked.queues is not None], _PAUSES_OF_ROLLUPS)] if _has_rollups(parts) else []
        tables += [(_OF_GRAINS, _PAUSES_OF_GRAINS)] if _has_ledgers(parts) else []
        sums, pauses = (" UNION ALL ".join(selects) for selects in zip(*tables, strict=True))
        statement = _SUMS.format(sums=sums, pauses=pauses)
        found = {}
        for agent_id, key, *row, ids, begun, seconds in self._run(statement, parts, {"own": int(own or 0)}):
            row.append(dict(sorted(zip(ids, zip(begun, seconds, strict=True), strict=True))) if ids else {})
            found[agent_id, key] = Sums(*row)
        return found

    def _stretches(self, keys: Sequence[RowKey]) -> Mapping[Span, Sequence[int]]:
        """Return the time of these rows; an hour of the day is in every day."""
        asked = self.question
        of_agent: dict[int, list[int]] = defaultdict(list)
        for agent_id, key in keys:
            of_agent[agent_id].append(key)
        if self.by_hour:
            return {(asked.begin, asked.end): [*of_agent]}
        found: dict[Span, list[int]] = defaultdict(list)
        for agent_id, ascending in of_agent.items():
            begin, end = self.aggregation.stretch(ascending[0])[0], self.aggregation.stretch(ascending[-1])[1]
            found[max(begin, asked.begin), min(end, asked.end)].append(agent_id)
        return found

    def _parts(self, stretches: Mapping[Span, Sequence[int]]) -> Parts:
        """Return what these stretches of agents' time consist of; agents with the same parts are listed together."""
        parts: Parts = defaultdict(list)
        for (begin, end), ids in stretches.items():
            settled = [agent_id for agent_id in ids if agent_id not in self.unsettled]
            groups = [([agent_id], self.unsettled[agent_id]) for agent_id in ids if agent_id in self.unsettled]
            for group, unsettled in [(settled, Unsettled()), *groups] if settled else groups:
                for part in cover(begin, end, _LENGTHS[self.aggregation], unsettled):
                    for piece in self._pieces(part):
                        parts[piece] += group
                if unsettled.open:
                    parts[Part(Source.OPEN, begin, end)] += group
        return parts

    def _pieces(self, part: Part) -> Iterator[Part]:
        """Cut rollups that are shorter than the periods of the report at the borders of these."""
        if self.by_hour or part.source in (Source.CLOSED, self.own):
            yield part
            return
        for start, end in pairwise(self.aggregation.borders(part.begin, part.end)):
            yield Part(part.source, max(start, part.begin), min(end, part.end), start)

    def _distinct(self, parts: Parts, own: Source | None) -> Parts:
        """Return the whole periods of which no rollup is all."""
        asked, spans = self.question, defaultdict(list)
        for part, ids in parts.items():
            if part.source not in (own, Source.OPEN):
                first, last = self.aggregation.around(part.begin, part.end)
                for agent_id in ids:
                    spans[agent_id].append((max(first, asked.begin), min(last, asked.end)))
        found: Parts = defaultdict(list)
        for agent_id, of_agent in spans.items():
            for begin, end in union(of_agent):
                found[Part(Source.DISTINCT, begin, end)].append(agent_id)
        return found

    def _cut(self, parts: Parts) -> Iterator[Span]:
        """Return the spans of the ledgers that are cut at borders; events of hours of the day are not."""
        for part, ids in parts.items():
            if part.source is Source.CLOSED or (part.source is Source.DISTINCT and not self.by_hour):
                yield part.begin, part.end
            elif part.source is Source.OPEN:
                for begin, end in (span for agent_id in ids for span in self.unsettled[agent_id].open):
                    yield max(begin, part.begin), min(end, part.end)

    def _run(self, select: str, parts: Parts, parameters: dict[str, Any]) -> list[Any]:
        """Run a statement over these parts. SQL of tables that have no part is left out, so it is not planned."""
        asked = self.question
        borders = sorted({border for span in union(self._cut(parts)) for border in self.aggregation.borders(*span)})
        tables = [ledgers.STRETCHES]
        if _has_ledgers(parts):
            in_time, with_queues = asked.within is not None, asked.queues is not None
            tables = [ledgers.grains(with_queues=with_queues, by_hour=self.by_hour, in_time=in_time)]
        if _has_rollups(parts):
            tables.append(_ROLLUPS.format(key=self.key))
        with connection.cursor() as cursor:
            # A page has thousands of numbers: as text they take a tenth more of a statement's time.
            cursor.cursor.format = Format.BINARY
            cursor.execute(
                f"WITH {', '.join(tables)} {select}",
                {
                    **ledgers.parameters(parts, borders, [self.aggregation.key(border) for border in borders]),
                    "own": int(self.own or 0),
                    "now": asked.now,
                    "threshold": asked.threshold,
                    "within": asked.within,
                    "queues": None if asked.queues is None else list(asked.queues),
                    "rollup_queues": [0, *(asked.queues or ())],
                    **parameters,
                },
            )
            rows: list[Any] = cursor.fetchall()
        return rows


def _has_rollups(parts: Parts) -> bool:
    return any(part.is_rollup for part in parts)


def _has_ledgers(parts: Parts) -> bool:
    return not all(part.is_rollup for part in parts)
