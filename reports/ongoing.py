"""What agents do just now: intervals without an end, which no rollup has. They last until now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from reports.covering import Span, union
from reports.measures import Measures
from reports.periods import RESOLUTION

# By the partial indexes of what is open: as many rows as agents at most, and the calls that go on.
# (agent, kind, detail, since, answered): the detail of a pause is its reason.
OPEN = """
SELECT agent_id, 'session', 0, started_at, NULL
FROM telephony_agentsession WHERE ended_at IS NULL AND agent_id = ANY(%(agents)s) AND started_at < %(end)s
UNION ALL
SELECT agent_id, kind, COALESCE(pause_id, 0), started_at, NULL
FROM telephony_agentstate WHERE ended_at IS NULL AND agent_id = ANY(%(agents)s) AND started_at < %(end)s
  AND kind IN ('free', 'paused', 'wrap_up')
UNION ALL
SELECT o.agent_id, 'offer', 0, o.offered_at, o.answered_at
FROM telephony_offer o JOIN telephony_connection c ON c.id = o.connection_id AND c.direction = 'INBOUND'
WHERE o.ended_at IS NULL AND o.agent_id = ANY(%(agents)s) AND o.offered_at < %(end)s
  AND (%(queues)s::bigint[] IS NULL OR o.queue_id = ANY(%(queues)s::bigint[]))
UNION ALL
SELECT agent_id, 'call', 0, created_at, answered_at
FROM telephony_connection WHERE state <> 'ended' AND direction = 'OUTBOUND' AND NOT has_talks
  AND agent_id = ANY(%(agents)s) AND created_at < %(end)s
  AND (%(queues)s::bigint[] IS NULL OR queue_id = ANY(%(queues)s::bigint[]))
UNION ALL
SELECT t.agent_id, 'call', 0, t.counted_at, t.started_at
FROM telephony_talk t JOIN telephony_connection c ON c.id = t.connection_id AND c.state <> 'ended'
WHERE t.ended_at IS NULL AND t.agent_id = ANY(%(agents)s) AND t.counted_at < %(end)s
  AND (%(queues)s::bigint[] IS NULL OR t.queue_id = ANY(%(queues)s::bigint[]))
"""


@dataclass(frozen=True)
class Interval:
    """Of an open row: its kind, its pause, when it began, when a call was answered, and until when it is counted."""

    kind: str
    detail: int
    since: datetime
    answered_at: datetime | None
    until: datetime

    @property
    def spans(self) -> list[Span]:
        """When it is something that a column counts: a call that is dialled is there when it begins, then in its talk.

        Of what begins now the first microsecond will do.
        """
        end = max(self.until, self.since)
        if self.kind != "call":
            return [(self.since, end)]
        spans = [(self.since, self.since)]
        if self.answered_at and self.answered_at < end:
            spans.append((self.answered_at, end))
        return spans

    def touches(self, begin: datetime, end: datetime) -> bool:
        return any(a < end and (b > begin or a >= begin) for a, b in self.spans)

    def add_to(self, measures: Measures, begin: datetime, end: datetime) -> None:
        """Count what of it lies in this stretch of a period."""
        if not self.touches(begin, end):
            return
        begins = int(begin <= self.since < end)
        seconds = _overlap(self.since, self.until, begin, end)
        talk = _overlap(self.answered_at, self.until, begin, end) if self.answered_at else 0
        match self.kind:
            case "session":
                measures.add_session(self.since, None, seconds)
            case "free":
                measures.free_count += begins
                measures.free_seconds += seconds
                measures.has_time = True
            case "paused":
                measures.add_pause(self.detail, begins, seconds)
            case "wrap_up":
                measures.wrap_up_seconds += seconds
                measures.has_time = True
            case "offer":
                measures.offered += begins
                measures.answered += begins if self.answered_at else 0
                measures.wait_seconds += _overlap(self.since, self.answered_at or self.until, begin, end)
                measures.talk_seconds += talk
            case "call":
                length = int((self.until - self.answered_at).total_seconds()) if self.answered_at else 0
                measures.add_call(max(length, 0), begins, talk)


def _overlap(since: datetime, until: datetime, begin: datetime, end: datetime) -> int:
    return max(int((min(until, end) - max(since, begin)).total_seconds()), 0)


def spans_of(intervals: Sequence[Interval], begin: datetime, end: datetime) -> list[Span]:
    """When any of it goes on, within the span; an instant is as short as can be told."""
    found = ((max(a, begin), min(max(b, a + RESOLUTION), end)) for one in intervals for a, b in one.spans)
    return union((a, b) for a, b in found if a < b)
