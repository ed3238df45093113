"""The report: of a question, the rows of a page. Reads rollups where they are not stale, the ledgers where they are."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from django.db import connection, transaction

from reports import ledgers, stored
from reports.covering import UNSUMMED, Parts, Span, Staleness, inside, union
from reports.ledgers import Slots, Stretch
from reports.measures import Measures
from reports.ongoing import OPEN, Interval, spans_of
from reports.periods import FIRST, LAST, Aggregation, Key, Level, end_of


@dataclass(frozen=True)
class Question:
    """Agents, in the order of the report; a span, its end not included; how to cut it, and what to count."""

    agents: Sequence[int]
    begin: datetime
    end: datetime
    aggregation: Aggregation
    # Until when that lasts which goes on.
    now: datetime
    threshold: int = 0
    # None: everything.
    queues: Sequence[int] | None = None


class Row(NamedTuple):
    agent_id: int
    period: str
    measures: Measures


# A plan for any arrays would be made for few agents and short stretches, and be kept for many and long ones.
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL plan_cache_mode = force_custom_plan"


@contextmanager
def snapshot() -> Iterator[None]:
    """All that is read in it is of one instant. Whoever has begun a transaction has decided what he sees."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_SNAPSHOT)
        yield


def page(question: Question, limit: int, offset: int) -> list[Row]:
    """So many rows of the report, from there on."""
    if (rows := _ready(question, limit, offset)) is not None:
        return rows
    return composed(question, limit, offset)


def composed(question: Question, limit: int, offset: int) -> list[Row]:
    """The same where it is known that not all rows are kept ready."""
    if not question.agents:
        return []
    with snapshot():
        return _Report(question).page(limit, offset)


def ready_level(question: Question) -> Level | None:
    """The rollups that have the report's rows as they are, if the span cuts no period off."""
    level, span = question.aggregation.level, (question.begin, question.end)
    return level if level and question.queues is None and inside(level, *span) == span else None


def _ready(question: Question, limit: int, offset: int) -> list[Row] | None:
    """The page, if the rollups have all rows of the span as they are."""
    if not question.agents or (level := ready_level(question)) is None:
        return None
    span = question.begin, question.end
    found = stored.ready(level, span, question.agents, question.threshold, limit=limit, offset=offset)
    if found is None:
        return None
    labels = {start: question.aggregation.label(start) for start in {start for _, start, _ in found}}
    return [Row(agent_id, labels[start], measures) for agent_id, start, measures in found]


@dataclass
class _Report:
    question: Question
    stale: dict[int, Staleness] = field(init=False)
    ongoing: dict[int, list[Interval]] = field(init=False)
    # Whole periods of the rollups lie between these.
    first: datetime = field(init=False)
    last: datetime = field(init=False)
    # By agent, what no single row of the rollups says: what is stale, and periods that the span cuts off.
    composed: dict[int, list[Span]] = field(init=False)

    def __post_init__(self) -> None:
        asked = self.question
        self._read_unsettled()
        self.first, self.last = inside(self.level, asked.begin, asked.end) if self.level else (asked.end, asked.begin)
        self.composed = {}
        if self.first >= self.last:
            self.first = self.last = asked.begin
            self.composed = {agent_id: [(asked.begin, asked.end)] for agent_id in asked.agents}
            return
        edges = union([(asked.begin, self.first), (self.last, asked.end)])
        for agent_id in asked.agents:
            spans = [*edges]
            if (stale := self.stale.get(agent_id)) and self.level:
                spans += stale.spans(self.level, self.first, self.last)
            if spans:
                self.composed[agent_id] = union(spans)

    def _read_unsettled(self) -> None:
        """What is stale, and what goes on."""
        asked = self.question
        levels = {asked.aggregation.level or Level.HOUR, *asked.aggregation.parts}
        parameters: dict[str, Any] = {
            "agents": list(asked.agents),
            "levels": [level.value for level in levels],
            "begin": asked.begin,
            "end": asked.end,
            "first": FIRST,
            "last": LAST,
            "queues": None if asked.queues is None else list(asked.queues),
        }
        stale: dict[int, list[tuple[str, int, datetime, datetime]]] = defaultdict(list)
        self.ongoing = defaultdict(list)
        with connection.cursor() as cursor:
            cursor.execute(f"{UNSUMMED} UNION ALL {OPEN}", parameters)
            for agent_id, kind, detail, since, until in cursor.fetchall():
                if kind in ("change", "mark"):
                    stale[agent_id].append((kind, detail, since, until))
                elif (interval := Interval(kind, detail, since, until, asked.now)).touches(asked.begin, asked.end):
                    self.ongoing[agent_id].append(interval)
        self.stale = {agent_id: Staleness.of(rows) for agent_id, rows in stale.items()}

    @property
    def level(self) -> Level | None:
        return self.question.aggregation.level

    @property
    def by_hour(self) -> bool:
        return self.question.aggregation is Aggregation.HOUR_OF_DAY

    @cached_property
    def parts(self) -> Parts:
        """Of what all that is composed consists."""
        return self._parts([(agent_id, a, b) for agent_id, spans in self.composed.items() for a, b in spans])

    @cached_property
    def slots(self) -> Slots:
        """Of all that is composed; the number of a period is its place among `keys`.

        Of hours of the day only what the ledgers are asked has borders: an hour each, the span would have too many.
        """
        aggregation = self.question.aggregation
        cut = self.parts.ledgers if self.by_hour else [(0, a, b) for spans in self.composed.values() for a, b in spans]
        borders = sorted({border for a, b in union((a, b) for _, a, b in cut) for border in aggregation.slots(a, b)})
        places: dict[Key, int] = {hour: hour for hour in range(24)} if self.by_hour else {}
        periods = [places.setdefault(aggregation.key(border), len(places)) for border in borders]
        return Slots(borders, periods, self.by_hour)

    @cached_property
    def keys(self) -> list[Key]:
        if self.by_hour:
            return list(range(24))
        return list(dict.fromkeys(self.question.aggregation.key(border) for border in self.slots.borders))

    def page(self, limit: int, offset: int) -> list[Row]:
        asked = self.question
        wanted = self._page_of_keys(limit, offset)
        measures = self._measures(wanted)
        return [Row(agent_id, asked.aggregation.label(key), measures[agent_id, key]) for agent_id, key in wanted]

    @property
    def span(self) -> Span:
        return self.first, self.last

    # Which rows there are

    @cached_property
    def present(self) -> dict[int, set[Key]]:
        """By agent, composed periods in which he did something that is over."""
        found: dict[int, set[Key]] = defaultdict(set)
        for agent_id, place in (
            *stored.present(self.parts.rows, self.slots, self.question.queues),
            *ledgers.present(self.parts.ledgers, self.slots, self.question.queues),
        ):
            found[agent_id].add(self.keys[place])
        return found

    @cached_property
    def going_on(self) -> dict[int, set[Key]]:
        """By agent, periods in which there is something that goes on."""
        return {agent_id: {key for key, _, _ in self._cut(agent_id)} for agent_id in self.ongoing}

    def _cut(self, agent_id: int) -> Iterator[tuple[Key, datetime, datetime]]:
        """What goes on, by periods: the key of each, and its stretch within the span."""
        asked = self.question
        spans = spans_of(self.ongoing[agent_id], asked.begin, asked.end)
        slots = {slot for a, b in spans for slot in pairwise(asked.aggregation.slots(a, b))}
        for start, end in sorted(slots):
            yield asked.aggregation.key(start), max(start, asked.begin), min(end, asked.end)

    def _page_of_keys(self, limit: int, offset: int) -> list[tuple[int, Key]]:
        asked = self.question
        special = {
            agent_id: self.present.get(agent_id, set()) | self.going_on.get(agent_id, set())
            for agent_id in asked.agents
        }
        but = [(agent_id, a, b) for agent_id, spans in self.composed.items() for a, b in spans]
        if self.level:
            but += [
                (agent_id, key, end_of(self.level, key))
                for agent_id, keys in self.going_on.items()
                for key in keys
                if isinstance(key, datetime)
            ]
        counts = (
            stored.count(self.level, self.span, asked.agents, but, asked.queues)
            if self.level and self.first < self.last
            else {}
        )
        shown: list[int] = []
        skipped = passed = 0
        for agent_id in asked.agents:
            here = counts.get(agent_id, 0) + len(special[agent_id])
            if passed + here > offset and passed < offset + limit and here:
                skipped = skipped if shown else offset - passed
                shown.append(agent_id)
            passed += here
        rows: dict[int, set[Key]] = {agent_id: set(special[agent_id]) for agent_id in shown}
        if counts and shown and self.level:
            for agent_id, start in stored.keys(self.level, self.span, shown, but, asked.queues):
                rows[agent_id].add(start)
        # Keys of one report are all of one type.
        listed = [(agent_id, key) for agent_id, keys in rows.items() for key in sorted(keys)]
        return listed[skipped : skipped + limit]

    # What is in them

    def _measures(self, wanted: Sequence[tuple[int, Key]]) -> dict[tuple[int, Key], Measures]:
        asked = self.question
        found: dict[tuple[int, Key], Measures] = {}
        if self.level:
            whole = [
                (agent_id, key)
                for agent_id, key in wanted
                if isinstance(key, datetime) and not self._is_composed(self.level, agent_id, key)
            ]
            found.update(stored.rows(self.level, whole, asked.threshold, asked.queues).items())
        for row in wanted:
            found.setdefault(row, Measures())
        self._compose(found, [row for row in wanted if row[1] in self.present.get(row[0], ())] if self.composed else [])
        for agent_id in dict.fromkeys(agent_id for agent_id, _ in wanted):
            for key, a, b in self._cut(agent_id) if agent_id in self.ongoing else ():
                if measures := found.get((agent_id, key)):
                    for interval in self.ongoing[agent_id]:
                        interval.add_to(measures, a, b)
        return found

    def _is_composed(self, level: Level, agent_id: int, start: datetime) -> bool:
        end = end_of(level, start)
        return any(a < end and b > start for a, b in self.composed.get(agent_id, ()))

    def _compose(self, found: dict[tuple[int, Key], Measures], wanted: Sequence[tuple[int, Key]]) -> None:
        asked = self.question
        stretches = self._stretches(wanted)
        parts = self._parts(stretches)
        for agent_id, place, sums in stored.sums(parts.rows, self.slots, asked.threshold, asked.queues):
            if measures := found.get((agent_id, self.keys[place])):
                measures.merge(sums)
        for grain in (
            *ledgers.grains(parts.ledgers, self.slots, asked.queues),
            *ledgers.written(stretches, self.slots, asked.queues),
        ):
            if measures := found.get((grain.agent_id, self.keys[grain.period])):
                measures.add(grain)

    def _stretches(self, wanted: Sequence[tuple[int, Key]]) -> list[Stretch]:
        """The time of these periods, by agent; an hour of the day is in every day, so it comes with the others."""
        asked = self.question
        if self.by_hour:
            return [(agent_id, asked.begin, asked.end) for agent_id in dict.fromkeys(one for one, _ in wanted)]
        pieces: dict[Key, list[Span]] = defaultdict(list)
        for (start, end), place in zip(pairwise(self.slots.borders), self.slots.periods, strict=False):
            pieces[self.keys[place]].append((max(start, asked.begin), min(end, asked.end)))
        by_agent: dict[int, list[Span]] = defaultdict(list)
        for agent_id, key in wanted:
            by_agent[agent_id] += pieces[key]
        return [(agent_id, a, b) for agent_id, spans in by_agent.items() for a, b in union(spans)]

    def _parts(self, stretches: Sequence[Stretch]) -> Parts:
        parts = Parts()
        for agent_id, begin, end in stretches:
            parts.cover(agent_id, begin, end, self.question.aggregation.parts, self.stale.get(agent_id) or Staleness())
        return parts
