"""The inbound calls of the current day by queue and hour: how many came, were answered, in time, and were abandoned.

A call counts in the hour in which it came in, and in the queue that it was in last. It is abandoned if the caller hung
up before an agent answered. A call that overflowed, or came outside the opening hours, is neither answered nor
abandoned.
"""

from dataclasses import dataclass
from datetime import datetime

from callcentre.core.statements import rows_of
from callcentre.core.times import zone
from telephony.models import Connection

# All results are named so that the index by direction and result finds the calls of the day.
_COUNTS = """
SELECT queue_id, extract(hour FROM created_at AT TIME ZONE %(zone)s)::int, count(*), count(answered_at),
  count(*) FILTER (WHERE answered_at IS NOT NULL AND wait_seconds <= %(within)s),
  count(*) FILTER (WHERE answered_at IS NULL AND state = 'ended' AND hung_up_by = 'customer')
FROM telephony_connection
WHERE direction = 'INBOUND' AND disposition = ANY(%(results)s) AND created_at >= %(since)s
GROUP BY 1, 2
"""
_RESULTS = ["", *Connection.Disposition.values]


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


def of_day(since: datetime, within: int) -> dict[tuple[int | None, int], InboundCounts]:
    """Return the counts since this midnight by queue and hour of the day. `within` is the target in seconds."""
    values = {"since": since, "within": within, "zone": zone().key, "results": _RESULTS}
    return {(queue_id, hour): InboundCounts(*counts) for queue_id, hour, *counts in rows_of(_COUNTS, values)}
