"""The report: the rows of a page, in two statements after one that says what is stale (docs/decisions/0018)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
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


# Rows of the rollups that stretches consist of. Those of a stretch without a key are whole periods of the report.
_MATCH = """reports_rollup r ON r.level = stretch.source AND r.agent_id = stretch.agent_id
  AND r.started_at >= stretch.a AND r.started_at < stretch.b AND r.queue_id = ANY(%(rollup_queues)s::bigint[])"""
_STORED = """
stored AS {fence} (
  SELECT r.*, source = %(own)s AS is_period, COALESCE(stretch.key, {key}) AS key FROM stretch JOIN {match}
)"""
# A row of all queues makes a period appear in a report of some if it has time of the agent's own.
_IS_PRESENT = "(%(queues)s::bigint[] IS NULL OR r.queue_id <> 0 OR r.has_time)"
_PRESENT = {
    "grain": "SELECT agent_id, key FROM grain",
    "shorter": f"""
    SELECT agent_id, key FROM stretch
    WHERE key IS NOT NULL AND EXISTS (SELECT FROM {_MATCH.replace(" ON ", " WHERE ", 1)} AND {_IS_PRESENT})""",
    "own": f"SELECT stretch.agent_id, {{key}} AS key FROM stretch JOIN {_MATCH} AND {_IS_PRESENT} WHERE key IS NULL",
}
_KEYS = """
SELECT agent.id, date_part('epoch', present.key)::bigint
FROM unnest(%(order)s::bigint[]) WITH ORDINALITY AS agent(id, place)
JOIN ({present}) present ON present.agent_id = agent.id
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
  SELECT agent_id, date_part('epoch', key)::bigint AS key, {_TOGETHER} FROM ({{sums}}) part GROUP BY agent_id, part.key
) sums LEFT JOIN (
  SELECT agent_id, date_part('epoch', key)::bigint AS key, array_agg(id), array_agg(begun), array_agg(seconds) FROM (
    SELECT agent_id, key, id, sum(begun)::bigint AS begun, sum(seconds)::bigint AS seconds FROM ({{pauses}}) pause
    GROUP BY agent_id, key, id
  ) pause GROUP BY agent_id, pause.key
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
        parts.update(
            {part._replace(source=Source.DISTINCT): ids for part, ids in parts.items() if part[0] is Source.CLOSED}
        )
        statement = _Statement(asked, parts, self.unsettled, SOURCE_OF.get(asked.aggregation))
        tables = ["grain"] if "grain" in statement.tables else []
        tables += ["shorter"] if any(part.start for part in parts) else []
        tables += ["own"] if any(part.start is None and part.source in SOURCE_OF.values() for part in parts) else []
        present = " UNION ALL ".join(_PRESENT[table].format(key=statement.key) for table in tables)
        if tables != ["own"] or self.by_hour or asked.queues is not None:
            # Otherwise each row is a period.
            present = f"SELECT DISTINCT agent_id, key FROM ({present}) any_row"
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
        lengths = _LENGTHS[self.question.aggregation]
        parts: dict[Part, list[int]] = defaultdict(list)
        for (begin, end), ids in stretches.items():
            settled = [agent_id for agent_id in ids if agent_id not in self.unsettled]
            groups = [([agent_id], self.unsettled[agent_id]) for agent_id in ids if agent_id in self.unsettled]
            for group, unsettled in [(settled, Unsettled()), *groups]:
                if group:
                    for part in cover(begin, end, lengths, unsettled):
                        for piece in self._pieces(part):
                            parts[piece] += group
                    if unsettled.open:
                        parts[Part(Source.OPEN, begin, end)] += group
        return parts

    def _pieces(self, part: Part) -> Iterator[Part]:
        """Cut rollups that are shorter than the periods of the report at the borders of these."""
        aggregation = self.question.aggregation
        if self.by_hour or part.source in (Source.CLOSED, SOURCE_OF.get(aggregation)):
            yield part
            return
        for start, end in pairwise(aggregation.borders(part.begin, part.end)):
            yield Part(part.source, max(start, part.begin), min(end, part.end), start)


# The rollups that a period can be put together from, the longest first.
_ALL = tuple(SOURCE_OF)
_LENGTHS = {
    Aggregation.MINUTE: (),
    Aggregation.HOUR: _ALL[2:],
    Aggregation.HOUR_OF_DAY: _ALL[2:],
    Aggregation.DAY: _ALL[1:],
    Aggregation.WEEK: _ALL[1:],
    Aggregation.MONTH: _ALL,
    Aggregation.YEAR: _ALL,
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
        self.tables += ["stored"] if sources & set(SOURCE_OF.values()) else []
        self._by_hour = question.aggregation is Aggregation.HOUR_OF_DAY
        self.key = "to_timestamp(r.hour)" if self._by_hour else "r.started_at"
        self._question, self._has_spans = question, bool(sources & {Source.CLOSED, Source.OPEN})
        borders = sorted(
            {border for span in self._cut(parts, unsettled) for border in question.aggregation.borders(*span)}
        )
        self._parameters: dict[str, Any] = {
            "sources": array(part.source for part in parts),
            "begins": array(part.begin for part in parts),
            "ends": array(part.end for part in parts),
            "starts": [part.start for part in parts],
            "agents": [array(ids) for ids in parts.values()],
            "borders": array(borders),
            "keys": array(datetime.fromtimestamp(question.aggregation.key(border), UTC) for border in borders),
            "own": int(own or 0),
            "now": question.now,
            "zone": zone().key,
            "threshold": question.threshold,
            "within": question.within,
            "queues": None if question.queues is None else list(question.queues),
            "rollup_queues": [0, *(question.queues or ())],
        }

    def _cut(self, parts: Mapping[Part, Sequence[int]], unsettled: Mapping[int, Unsettled]) -> list[Span]:
        """Return the spans that are cut at the borders of periods; of hours of the day, those of intervals only."""
        found = [
            (part.begin, part.end)
            for part in parts
            if part.source is Source.CLOSED or (part.source is Source.DISTINCT and not self._by_hour)
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
            tables.append(_STORED.format(key=self.key, match=_MATCH, fence=""))
        with connection.cursor() as cursor:
            # A page has thousands of numbers: as text they take a tenth more of a statement's time.
            cursor.cursor.format = Format.BINARY
            cursor.execute(f"WITH {', '.join(tables)} {select}", {**self._parameters, **parameters})
            rows: list[Any] = cursor.fetchall()
        return rows
