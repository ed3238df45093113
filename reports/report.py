"""The report: the rows of a page, in two statements after one that says what is stale (docs/decisions/0018)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction
from psycopg.pq import Format

from callcentre.core.times import zone
from reports import ledgers, staleness
from reports.ledgers import SOURCE_OF, Source
from reports.periods import Aggregation, Span
from reports.staleness import Part, Unsettled, array, cover, union
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
    # Seconds within which an offer is answered in time; None where nobody wants to know.
    within: int | None = None


class Row(NamedTuple):
    agent_id: int
    period: str
    sums: Sums


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything of one instant. A transaction that has begun already decides for itself what it reads."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def page(question: Question, limit: int, offset: int) -> list[Row]:
    """Return so many rows of the report, from there on."""
    if not question.agents:
        return []
    with snapshot():
        report = _Report(question)
        keys = report.keys(limit, offset)
        found = report.sums(keys)
    label = {key: question.aggregation.label(key) for key in {key for _, key in keys}}
    return [Row(agent_id, label[key], found[agent_id, key]) for agent_id, key in keys]


# Rollups that stretches consist of. An hour of the day is a column; the key of a row that is a whole period is its
# start; other rows lie in a period.
_STORED = f"""
stored AS (
  SELECT r.*, source = %(own)s AS is_period, {{key}} AS key
  FROM stretch JOIN reports_rollup r ON r.level = source AND r.agent_id = stretch.agent_id AND r.started_at >= a
    AND r.started_at < b AND r.queue_id = ANY(%(rollup_queues)s::bigint[])
  WHERE source IN ({Source.HOUR}, {Source.DAY})
)"""  # noqa: S608
_KEY = """CASE WHEN source = %(own)s THEN date_part('epoch', r.started_at)::bigint
    ELSE (%(keys)s::bigint[])[width_bucket(r.started_at, %(borders)s::timestamptz[])] END"""
_PRESENT = {
    "grain": "SELECT agent_id, key FROM grain",
    # A row of all queues makes a period appear in a report of some if it has time of the agent's own.
    "stored": "SELECT agent_id, key FROM stored WHERE %(queues)s::bigint[] IS NULL OR queue_id <> 0 OR has_time",
}
_KEYS = """
SELECT agent.id, present.key
FROM unnest(%(order)s::bigint[]) WITH ORDINALITY AS agent(id, place)
JOIN (SELECT DISTINCT agent_id, key FROM ({present}) any_row) present ON present.agent_id = agent.id
ORDER BY agent.place, present.key LIMIT %(limit)s::bigint OFFSET %(offset)s::bigint
"""


def _of_stored(name: str, *, is_narrowed: bool) -> str:
    source = SOURCES[name]
    where = "r.is_period" if source.kind in DISTINCT else "true"
    if is_narrowed:
        where += f" AND r.queue_id {'=' if source.kind in OWN else '<>'} 0"
    together = f"{source.together}({source.rollup}) FILTER (WHERE {where})"
    return f"COALESCE({together}, 0)::bigint" if source.together == "sum" else together


_SUMS = {
    "grain": "SELECT agent_id, key, {columns} FROM grain GROUP BY agent_id, key",
    "stored": "SELECT agent_id, key, {columns} FROM stored r GROUP BY agent_id, key",
}
_PAUSES = {
    "grain": "SELECT agent_id, key, detail AS id, begun, seconds FROM grain WHERE kind = 'paused'",
    "stored": """
    SELECT agent_id, key, pause.*
    FROM stored CROSS JOIN LATERAL unnest(pause_ids, pause_counts, pause_seconds) AS pause(id, begun, seconds)
    WHERE queue_id = 0""",
}
_TOGETHER = ", ".join(
    f"date_part('epoch', {one.together}({name}))" if one.together != "sum" else f"sum({name})::bigint"
    for name, one in SOURCES.items()
)
_ROWS = f"""
SELECT * FROM (
  SELECT agent_id, key, {_TOGETHER} FROM ({{sums}}) part GROUP BY agent_id, key
) sums LEFT JOIN (
  SELECT agent_id, key, array_agg(id), array_agg(begun), array_agg(seconds) FROM (
    SELECT agent_id, key, id, sum(begun)::bigint AS begun, sum(seconds)::bigint AS seconds FROM ({{pauses}}) pause
    GROUP BY agent_id, key, id
  ) pause GROUP BY agent_id, key
) pauses USING (agent_id, key)
"""  # noqa: S608


class _Report:
    def __init__(self, question: Question) -> None:
        self.question = question
        self.unsettled = staleness.read(question.agents, question.begin, question.end, question.now)
        self.by_hour = question.aggregation is Aggregation.HOUR_OF_DAY

    def keys(self, limit: int, offset: int) -> list[tuple[int, int]]:
        """Return agents and keys of the rows of a page."""
        asked = self.question
        parts = self._parts({(asked.begin, asked.end): asked.agents})
        # Whoever only wrote in a chat is present as well.
        parts.update({Part(Source.DISTINCT, *part[1:]): ids for part, ids in parts.items() if part[0] is Source.CLOSED})
        statement = _Statement(asked, parts, self.unsettled, SOURCE_OF.get(asked.aggregation))
        present = " UNION ALL ".join(_PRESENT[table] for table in statement.tables)
        more = {"order": array(asked.agents), "limit": limit, "offset": offset}
        return statement.run(_KEYS.format(present=present), more) if statement.tables else []

    def sums(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Sums]:
        """Return the sums of these periods."""
        asked = self.question
        # Offers in time are in no rollup, so that no row of one is all of a period.
        own = SOURCE_OF.get(asked.aggregation) if asked.within is None else None
        parts = self._parts(self._stretches(keys))
        distinct: dict[int, list[Span]] = defaultdict(list)
        for part, ids in parts.items():
            if part.source not in (own, Source.OPEN):
                borders = asked.aggregation.borders(part.begin, part.end)
                for agent_id in ids:
                    distinct[agent_id].append((max(borders[0], asked.begin), min(borders[-1], asked.end)))
        for agent_id, spans in distinct.items():
            for a, b in union(spans):
                parts[Part(Source.DISTINCT, a, b)].append(agent_id)
        statement = _Statement(asked, parts, self.unsettled, own)
        columns = {
            "grain": ", ".join(f"{one.grains} AS {name}" for name, one in SOURCES.items()),
            "stored": ", ".join(
                f"{_of_stored(name, is_narrowed=asked.queues is not None)} AS {name}" for name in SOURCES
            ),
        }
        sums = " UNION ALL ".join(_SUMS[table].format(columns=columns[table]) for table in statement.tables)
        pauses = " UNION ALL ".join(_PAUSES[table] for table in statement.tables)
        found = {}
        rows = statement.run(_ROWS.format(sums=sums, pauses=pauses), {}) if keys else []
        for agent_id, key, *row, ids, begun, seconds in rows:
            row.append(dict(sorted(zip(ids, zip(begun, seconds, strict=True), strict=True))) if ids else {})
            found[agent_id, key] = Sums(*row)
        return found

    def _stretches(self, keys: Iterable[tuple[int, int]]) -> Mapping[Span, Sequence[int]]:
        """Return the time of these rows; an hour of the day is in every day."""
        asked, by_agent = self.question, defaultdict(list)
        for agent_id, key in keys:
            by_agent[agent_id].append(key)
        if self.by_hour:
            return {(asked.begin, asked.end): list(by_agent)}
        found: dict[Span, list[int]] = defaultdict(list)
        for agent_id, of_agent in by_agent.items():
            begin, end = asked.aggregation.stretch(of_agent[0])[0], asked.aggregation.stretch(of_agent[-1])[1]
            found[max(begin, asked.begin), min(end, asked.end)].append(agent_id)
        return found

    def _parts(self, stretches: Mapping[Span, Sequence[int]]) -> dict[Part, list[int]]:
        """Return what these stretches of agents' time consist of; agents with the same parts are listed together."""
        lengths = _LENGTHS.get(self.question.aggregation, (Aggregation.DAY, Aggregation.HOUR))
        parts: dict[Part, list[int]] = defaultdict(list)
        for (begin, end), ids in stretches.items():
            settled = [agent_id for agent_id in ids if agent_id not in self.unsettled]
            groups = [([agent_id], self.unsettled[agent_id]) for agent_id in ids if agent_id in self.unsettled]
            for group, unsettled in [(settled, Unsettled()), *groups]:
                if group:
                    for part in cover(begin, end, lengths, unsettled):
                        parts[part] += group
                    if unsettled.open:
                        parts[Part(Source.OPEN, begin, end)] += group
        return parts


# The rollups that a period can be put together from, the longest first.
_LENGTHS: dict[Aggregation, tuple[Aggregation, ...]] = {
    Aggregation.MINUTE: (),
    Aggregation.HOUR: (Aggregation.HOUR,),
    Aggregation.HOUR_OF_DAY: (Aggregation.HOUR,),
}


class _Statement:
    """A statement over the parts of some stretches, and its parameters.

    `own`: the source whose rows are whole periods of the report.
    """

    def __init__(
        self,
        question: Question,
        parts: Mapping[Part, Sequence[int]],
        unsettled: Mapping[int, Unsettled],
        own: Source | None,
    ) -> None:
        sources = {part.source for part in parts}
        # The tables of the statement that have rows: the SQL of the others is left out, and not planned.
        self.tables = ["grain"] if sources & {Source.CLOSED, Source.OPEN, Source.DISTINCT} else []
        self.tables += ["stored"] if sources & {Source.HOUR, Source.DAY} else []
        self._by_hour = question.aggregation is Aggregation.HOUR_OF_DAY
        self._question, self._has_spans = question, bool(sources & {Source.CLOSED, Source.OPEN})
        borders = sorted(
            {border for span in self._cut(parts, unsettled, own) for border in question.aggregation.borders(*span)}
        )
        self._parameters: dict[str, Any] = {
            "sources": array(part.source for part in parts),
            "begins": array(part.begin for part in parts),
            "ends": array(part.end for part in parts),
            "agents": [array(ids) for ids in parts.values()],
            "borders": array(borders),
            "keys": array(map(question.aggregation.key, borders)),
            "own": int(own or 0),
            "now": question.now,
            "zone": zone().key,
            "threshold": question.threshold,
            "within": question.within,
            "queues": None if question.queues is None else list(question.queues),
            "rollup_queues": [0, *(question.queues or ())],
        }

    def _cut(
        self, parts: Mapping[Part, Sequence[int]], unsettled: Mapping[int, Unsettled], own: Source | None
    ) -> list[Span]:
        """Return the spans that are cut at the borders of periods; of hours of the day, those of intervals only."""
        found = [
            (part.begin, part.end)
            for part in parts
            if part.source is Source.CLOSED or (not self._by_hour and part.source not in (own, Source.OPEN))
        ]
        for part, ids in parts.items():
            if part.source is Source.OPEN:
                spans = (span for agent_id in ids for span in unsettled[agent_id].open)
                found += ((max(a, part.begin), min(b, part.end)) for a, b in spans)
        return union(found)

    def run(self, select: str, parameters: dict[str, Any]) -> list[Any]:
        asked = self._question
        tables = [ledgers.STRETCHES]
        if "grain" in self.tables:
            in_time, with_queues = asked.within is not None, asked.queues is not None
            tables = [ledgers.grains(with_queues=with_queues, by_hour=self._by_hour, in_time=in_time)]
        if "stored" in self.tables:
            tables.append(_STORED.format(key="r.hour::bigint" if self._by_hour else _KEY))
        with connection.cursor() as cursor:
            # A page has thousands of numbers: as text they take a tenth more of a statement's time.
            cursor.cursor.format = Format.BINARY
            cursor.execute(f"WITH {', '.join(tables)} {select}", {**self._parameters, **parameters})
            rows: list[Any] = cursor.fetchall()
        return rows
