"""The time of agents of which the rollups cannot be read, and the parts that a stretch of time is put together from."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from reports.ledgers import GOING_ON, SOURCE_OF, Part, Source, array
from reports.periods import FIRST, LAST, RESOLUTION, Aggregation, Span, end_of, start_of, whole

_UNSETTLED = f"""
{GOING_ON}
UNION ALL
SELECT agent_id, 'hour', GREATEST(since, %(first)s), LEAST(until, %(last)s) FROM telephony_ledgerchange
WHERE agent_id = ANY(%(ids)s::bigint[]) AND since < %(end)s AND until >= %(begin)s
UNION ALL
SELECT agent_id, CASE level WHEN {Source.DAY} THEN 'day' ELSE 'month' END, started_at, started_at
FROM reports_stalerollup WHERE agent_id = ANY(%(ids)s::bigint[]) AND level IN ({Source.DAY}, {Source.MONTH})
  AND started_at >= %(begin)s AND started_at < %(end)s
"""  # noqa: S608


@dataclass
class Unsettled:
    """The time of one agent that is not in the rollups, or not as the ledgers have it now."""

    # By the length of the rollups, whole periods in which they are stale, apart from one another and in order.
    stale: dict[Aggregation, list[Span]] = field(default_factory=lambda: defaultdict(list))
    # Spans of intervals that go on.
    open: list[Span] = field(default_factory=list)

    def stale_between(self, length: Aggregation, begin: datetime, end: datetime) -> Iterator[Span]:
        """Return the stale periods between two borders of this length."""
        for a, b in self.stale[length]:
            if a < end and b > begin:
                yield max(a, begin), min(b, end)


def read(agents: Sequence[int], begin: datetime, end: datetime, now: datetime) -> dict[int, Unsettled]:
    """Return what is unsettled in this span, for each agent of whom anything is."""
    found: dict[int, Unsettled] = {}
    parameters: dict[str, Any] = {
        "ids": array(agents),
        "begin": begin,
        "end": end,
        "now": now,
        "first": FIRST,
        "last": LAST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_UNSETTLED, {**parameters, "first": FIRST, "last": LAST})
        for agent_id, kind, since, until in cursor.fetchall():
            of_agent = found.setdefault(agent_id, Unsettled())
            if kind == "open":
                of_agent.open.append((since, max(until, since + RESOLUTION)))
            else:
                length = Aggregation(kind)
                of_agent.stale[length].append((start_of(length, since), end_of(length, until)))
    for one in found.values():
        hours = one.stale[Aggregation.HOUR] = union(one.stale[Aggregation.HOUR])
        for length in (Aggregation.DAY, Aggregation.MONTH):
            # The end of a span of hours is the border after it.
            around = ((start_of(length, a), end_of(length, b - RESOLUTION)) for a, b in hours)
            one.stale[length] = union([*one.stale[length], *around])
    return found


def union(spans: Iterable[Span]) -> list[Span]:
    """Merge spans that touch; leave out empty ones."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif begin < end:
            merged.append((begin, end))
    return merged


def cover(begin: datetime, end: datetime, lengths: Sequence[Aggregation], unsettled: Unsettled) -> Iterator[Part]:
    """Put a stretch together from rows of the rollups, the longest first, and of the ledgers where those are stale."""
    if begin >= end:
        return
    if not lengths:
        yield Part(Source.CLOSED, begin, end)
        return
    length, finer = lengths[0], lengths[1:]
    first, last = whole(length, begin, end)
    if first >= last:
        yield from cover(begin, end, finer, unsettled)
        return
    yield from cover(begin, first, finer, unsettled)
    for a, b in [*unsettled.stale_between(length, first, last), (last, last)]:
        if first < a:
            yield Part(SOURCE_OF[length], first, a)
        yield from cover(a, b, finer, unsettled)
        first = b
    yield from cover(last, end, finer, unsettled)
