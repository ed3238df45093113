"""The parts of which the figures of a stretch of time are put together: rollups, and ledgers where no rollup is valid.

A rollup is valid unless the log of changes (telephony.LedgerChange) names some of its time. Rollups of days and months
are valid only until an instant that the worker moves forward (RollupProgress).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from django.db import connection

from reports.ledgers import GOING_ON, Part, Source, array
from reports.periods import FIRST, LAST, RESOLUTION, Aggregation, Span, end_of, start_of, whole

# The lengths of the rollups, the longest first.
LEVELS = {Aggregation.MONTH: Source.MONTH, Aggregation.DAY: Source.DAY, Aggregation.HOUR: Source.HOUR}
_MONTHS, _DAYS, _HOURS = ((*LEVELS,)[place:] for place in range(3))
# The rollups that the periods of a report can be put together from.
_LENGTHS: dict[Aggregation, Sequence[Aggregation]] = {
    Aggregation.MINUTE: (),
    Aggregation.HOUR: _HOURS,
    Aggregation.HOUR_OF_DAY: _HOURS,
    Aggregation.DAY: _DAYS,
    Aggregation.WEEK: _DAYS,
    Aggregation.MONTH: _MONTHS,
    Aggregation.YEAR: _MONTHS,
}
_UNSETTLED = f"""
SELECT agent_id, {Source.OPEN} AS source, min(since) AS since, GREATEST(max(since), %(now)s) AS until
FROM ({GOING_ON}) going_on(agent_id, since) GROUP BY agent_id
UNION ALL
SELECT agent_id, {Source.CLOSED}, GREATEST(since, %(first)s), LEAST(until, %(last)s) FROM telephony_ledgerchange
WHERE agent_id = ANY(%(ids)s::bigint[]) AND since < %(end)s AND until >= %(begin)s
UNION ALL
SELECT NULL, level, NULL, until FROM reports_rollupprogress
"""  # noqa: S608


def find(
    agents: Sequence[int], begin: datetime, end: datetime, aggregation: Aggregation, now: datetime
) -> tuple[dict[Part, list[int]], list[datetime]]:
    """Return the parts of this span, each with its agents, and the borders of the periods that ledgers are cut into."""
    changed: dict[int, list[Span]] = defaultdict(list)
    progress = {int(Source.HOUR): LAST}
    parts: dict[Part, list[int]] = defaultdict(list)
    read: list[Span] = []
    asked = {"ids": array(agents), "begin": begin, "end": end, "now": now, "first": FIRST, "last": LAST}
    with connection.cursor() as cursor:
        cursor.execute(_UNSETTLED, asked)
        for agent_id, source, since, until in cursor.fetchall():
            if source == Source.OPEN:
                parts[Part(Source.OPEN, begin, end)].append(agent_id)
                read.append((max(since, begin), min(until + RESOLUTION, end)))
            elif source == Source.CLOSED:
                changed[agent_id].append((start_of(Aggregation.HOUR, since), end_of(Aggregation.HOUR, until)))
            else:
                progress[source] = until
    # Agents with the same parts are listed together.
    alike: dict[tuple[Span, ...], list[int]] = defaultdict(list)
    for agent_id in agents:
        alike[tuple(union(changed.get(agent_id, ())))].append(agent_id)
    for spans, agent_ids in alike.items():
        for part in _cover(begin, end, _LENGTHS[aggregation], spans, progress):
            parts[part] += agent_ids
    read += [(part.begin, part.end) for part in parts if part.source is Source.CLOSED]
    return parts, sorted({border for span in union(read) for border in aggregation.borders(*span)})


def _cover(
    begin: datetime,
    end: datetime,
    lengths: Sequence[Aggregation],
    changed: Sequence[Span],
    progress: Mapping[int, datetime],
) -> Iterator[Part]:
    """Put a stretch together from valid rollups, the longest first, and from the ledgers."""
    if begin >= end:
        return
    if not lengths:
        yield Part(Source.CLOSED, begin, end)
        return
    length, *finer = lengths
    level = LEVELS[length]
    for a, b in _valid(length, *whole(length, begin, min(end, progress.get(level, FIRST))), changed):
        yield from _cover(begin, a, finer, changed, progress)
        yield Part(level, a, b)
        begin = b
    yield from _cover(begin, end, finer, changed, progress)


def _valid(length: Aggregation, first: datetime, last: datetime, changed: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans between two borders in which no period of this length has changed."""
    for since, until in changed:
        if first < (before := min(start_of(length, since), last)):
            yield first, before
        # The end of a span is the border after it.
        first = max(first, end_of(length, until - RESOLUTION))
    if first < last:
        yield first, last


def union(spans: Iterable[Span]) -> list[Span]:
    """Merge spans that touch; leave out empty ones."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif begin < end:
            merged.append((begin, end))
    return merged
