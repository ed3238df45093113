"""The inbound calls of the current day by queue and hour: how many came, were answered, in time, and were abandoned.

A call counts in the hour in which it came in, and in the queue that it was in last. It is abandoned if the caller hung
up before an agent answered. A call that overflowed, or came outside the opening hours, is neither answered nor
abandoned.

An ended call does not change. So each process keeps the counts of the hours that are over, and reads only the calls
since then.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.utils import timezone

from callcentre.core.statements import rows_of
from callcentre.core.times import zone
from telephony.models import Connection

# All results are named so that the index by direction and result finds the calls of the day.
_COUNTS = """
SELECT created_at < %(settled)s, count(*) FILTER (WHERE state <> 'ended'),
  queue_id, extract(hour FROM created_at AT TIME ZONE %(zone)s)::int, count(*), count(answered_at),
  count(*) FILTER (WHERE answered_at IS NOT NULL AND wait_seconds <= %(within)s),
  count(*) FILTER (WHERE answered_at IS NULL AND state = 'ended' AND hung_up_by = 'customer')
FROM telephony_connection
WHERE direction = 'INBOUND' AND disposition = ANY(%(results)s) AND created_at >= %(since)s
GROUP BY 1, 3, 4
"""
_RESULTS = ["", *Connection.Disposition.values]
# Calls of hours that ended so long ago are settled, unless one of them is still open.
_SETTLED_AFTER = timedelta(hours=1)
# All calls of the day are read again after this time, because old calls can be deleted.
_KEPT_SECONDS = 600


@dataclass(slots=True)
class InboundCounts:
    """Counts of inbound calls. `in_time`: the caller waited no longer than the target before the answer."""

    came: int = 0
    answered: int = 0
    in_time: int = 0
    abandoned: int = 0

    def add(self, other: "InboundCounts") -> None:
        self.came += other.came
        self.answered += other.answered
        self.in_time += other.in_time
        self.abandoned += other.abandoned

    @property
    def service_level(self) -> float | None:
        """The share of calls answered in time among those answered or abandoned, in percent; None without any."""
        decided = self.answered + self.abandoned
        return round(100 * self.in_time / decided, 1) if decided else None


Day = dict[tuple[int | None, int], InboundCounts]


def of_day(since: datetime, within: int) -> Day:
    """Return the counts since this midnight by queue and hour of the day. `within` is the target in seconds."""
    key = f"telephony.inbound_day:{since.timestamp():.0f}:{within}"
    found: tuple[datetime, Day] | None = cache.get(key)
    began, kept = found or (since, {})
    settled = max(began, (timezone.now() - _SETTLED_AFTER).replace(minute=0, second=0, microsecond=0))
    values = {"since": began, "settled": settled, "within": within, "zone": zone().key, "results": _RESULTS}
    rows = rows_of(_COUNTS, values)
    early, late = _sum(rows, is_settled=True), _sum(rows, is_settled=False)
    _add(early, kept)
    if settled > began and not any(open_count for is_settled, open_count, *_rest in rows if is_settled):
        cache.set(key, (settled, early), _KEPT_SECONDS)
    _add(late, early)
    return late


def _sum(rows: list[Any], *, is_settled: bool) -> Day:
    return {
        (queue_id, hour): InboundCounts(*counts)
        for row_is_settled, _open_count, queue_id, hour, *counts in rows
        if row_is_settled == is_settled
    }


def _add(day: Day, other: Day) -> None:
    for place, counts in other.items():
        day.setdefault(place, InboundCounts()).add(counts)
