"""Which rollups may be read, and of what a stretch of time consists: rows that are not stale, else the ledgers."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from reports.ledgers import Stretch
from reports.periods import RESOLUTION, Level, end_of, start_of

Span = tuple[datetime, datetime]

# (agent, kind, detail, since, until): of a change, and of a mark, whose detail is the level.
UNSUMMED = """
SELECT agent_id, 'change', 0, GREATEST(since, %(first)s), LEAST(until, %(last)s) FROM telephony_ledgerchange
WHERE agent_id = ANY(%(agents)s) AND since < %(end)s AND until >= %(begin)s
UNION ALL
SELECT agent_id, 'mark', level, started_at, started_at FROM reports_stalerollup
WHERE agent_id = ANY(%(agents)s) AND level = ANY(%(levels)s) AND started_at >= %(begin)s AND started_at < %(end)s
"""


@dataclass
class Staleness:
    """Of one agent: spans of changes that no rollup has yet, in whole hours; and beginnings of longer stale periods."""

    changes: list[Span] = field(default_factory=list)
    marks: dict[int, list[datetime]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, rows: Iterable[tuple[str, int, datetime, datetime]]) -> "Staleness":
        """Of what is unsummed."""
        stale, hours = cls(), []
        for kind, level, since, until in rows:
            if kind == "mark":
                stale.marks[level].append(since)
            else:
                hours.append((start_of(Level.HOUR, since), end_of(Level.HOUR, until)))
        # The end of a change is an instant of it: the one before the border.
        stale.changes = [(a, b - RESOLUTION) for a, b in union(hours)]
        return stale

    def spans(self, level: Level, begin: datetime, end: datetime) -> list[Span]:
        """Between borders of this level: what of it is stale, in whole periods, in order, apart from one another."""
        found = [(start_of(level, a), end_of(level, b)) for a, b in self.changes if a < end and b >= begin]
        found += [(start, end_of(level, start)) for start in self.marks[level] if begin <= start < end]
        return union((max(a, begin), min(b, end)) for a, b in found)


def union(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif begin < end:
            merged.append((begin, end))
    return merged


@dataclass
class Parts:
    """Of what some stretches are put together: whole periods of a level, by agent, and what is left to the ledgers."""

    rows: list[tuple[Level, Stretch]] = field(default_factory=list)
    ledgers: list[Stretch] = field(default_factory=list)

    def cover(self, agent_id: int, begin: datetime, end: datetime, levels: Sequence[Level], stale: Staleness) -> None:
        """Add what this stretch of the agent consists of: the longest periods first, in which nothing is stale."""
        if begin >= end:
            return
        if not levels:
            self.ledgers.append((agent_id, begin, end))
            return
        level, finer = levels[0], levels[1:]
        first, last = inside(level, begin, end)
        if first >= last:
            self.cover(agent_id, begin, end, finer, stale)
            return
        self.cover(agent_id, begin, first, finer, stale)
        for a, b, is_stale in _alternate(first, last, stale.spans(level, first, last)):
            if is_stale:
                self.cover(agent_id, a, b, finer, stale)
            else:
                self.rows.append((level, (agent_id, a, b)))
        self.cover(agent_id, last, end, finer, stale)


def inside(level: Level, begin: datetime, end: datetime) -> Span:
    """From the first border of the level in this span to the last; nothing where the first comes after the last."""
    first = start_of(level, begin)
    return (first if first == begin else end_of(level, begin)), start_of(level, end)


def _alternate(begin: datetime, end: datetime, spans: Sequence[Span]) -> Iterator[tuple[datetime, datetime, bool]]:
    for a, b in spans:
        if begin < a:
            yield begin, a, False
        yield a, b, True
        begin = b
    if begin < end:
        yield begin, end, False
