"""The parts of which the figures of a stretch of time are put together: rollups, and ledgers where no rollup is valid.

A rollup is valid unless the log of changes (telephony.LedgerChange) names some of its time. Rollups of days and months
are valid only until an instant that the worker moves forward (RollupProgress).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from callcentre.core.statements import Statement, rows_of
from reports.ledgers import GOING_ON, Part, Source, array
from reports.models import RollupProgress
from reports.periods import FIRST, LAST, LENGTHS, RESOLUTION, Aggregation, Span, end_of, start_of, union

# The lengths of the rollups, the longest first.
LEVELS = {Aggregation.MONTH: Source.MONTH, Aggregation.DAY: Source.DAY, Aggregation.HOUR: Source.HOUR}
_UNSETTLED = Statement("""
SELECT agent_id, {open} AS source, min(since) AS since, GREATEST(max(since), %(now)s) AS until
FROM ({going_on}) going_on(agent_id, since) GROUP BY agent_id
UNION ALL
SELECT agent_id, {closed}, GREATEST(since, %(first)s), LEAST(until, %(last)s) FROM telephony_ledgerchange
WHERE agent_id = ANY(%(ids)s::bigint[]) AND since < %(end)s AND until >= %(begin)s
UNION ALL
SELECT NULL, level, NULL, until FROM reports_rollupprogress
""").of(open=Source.OPEN, going_on=GOING_ON, closed=Source.CLOSED)


def find(
    agents: Sequence[int], begin: datetime, end: datetime, aggregation: Aggregation, now: datetime
) -> tuple[dict[Part, list[int]], list[Span]]:
    """Return the parts of this span, each with its agents, and the spans that are read from the ledgers."""
    changed: dict[int, list[Span]] = defaultdict(list)
    progress: dict[int, datetime] = dict.fromkeys((Source.DAY, Source.MONTH, RollupProgress.FINAL), FIRST)
    progress[Source.HOUR] = LAST
    parts: dict[Part, list[int]] = defaultdict(list)
    read: list[Span] = []
    span = {"begin": begin, "end": end, "now": now, "first": FIRST, "last": LAST, "ids": array(agents)}
    for agent_id, source, since, until in rows_of(_UNSETTLED, span):
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
        # Only rollups know of time whose ledgers are gone.
        spans = ((max(since, progress[RollupProgress.FINAL]), until) for since, until in changed.get(agent_id, ()))
        alike[tuple(union(spans))].append(agent_id)
    lengths = [length for length in LEVELS if LENGTHS[length].longest <= LENGTHS[aggregation].longest]
    for stale, agent_ids in alike.items():
        for part in _cover((begin, end), lengths, stale, progress):
            parts[part] += agent_ids
    read += [(part.begin, part.end) for part in parts if part.source is Source.CLOSED]
    return parts, read


def _cover(
    span: Span, lengths: Sequence[Aggregation], changed: Sequence[Span], progress: Mapping[int, datetime]
) -> Iterator[Part]:
    """Put a stretch together from valid rollups, the longest first, and from the ledgers."""
    begin, end = span
    if begin >= end:
        return
    if not lengths:
        yield Part(Source.CLOSED, begin, end)
        return
    length, *finer = lengths
    level = LEVELS[length]
    first = start_of(length, begin)
    first, last = (first if first == begin else end_of(length, begin)), start_of(length, min(end, progress[level]))
    for a, b in _valid(length, first, last, changed):
        yield from _cover((begin, a), finer, changed, progress)
        yield Part(level, a, b)
        begin = b
    yield from _cover((begin, end), finer, changed, progress)


def _valid(length: Aggregation, first: datetime, last: datetime, changed: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans between two borders in which no period of this length has changed."""
    for since, until in changed:
        if first < (before := min(start_of(length, since), last)):
            yield first, before
        # The end of a span is the border after it.
        first = max(first, end_of(length, until - RESOLUTION))
    if first < last:
        yield first, last
