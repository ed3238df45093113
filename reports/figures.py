"""What a line of a table of the report says, beside what the API does: the measures that only tables have.

Seconds and counts are whole numbers; what would be divided by nothing is None. Definitions: docs/reports.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from reports.measures import Measures


# Remembered: a page has 1,700 of them, and nine hours have no more than these.
@lru_cache(maxsize=32_768)
def clock(seconds: int) -> str:
    """`hh:mm:ss`; hours grow past 99."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def mean(seconds: int, count: int) -> int:
    """To the whole second, halves up; of none 0."""
    return (2 * seconds + count) // (2 * count) if count else 0


def per_hour(count: int, seconds: int) -> float:
    """To two decimals, halves up; 0 in no time."""
    return (2 * count * 360_000 + seconds) // (2 * seconds) / 100 if seconds else 0.0


def percent(part: int, whole: int) -> float | None:
    """To two decimals, halves up."""
    return (2 * part * 10_000 + whole) // (2 * whole) / 100 if whole else None


def _sum(parts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Of counts and seconds."""
    count = total = 0
    for begun, seconds in parts:
        count += begun
        total += seconds
    return count, total


@dataclass(slots=True)
class Line:
    """An agent's row, and what its further measures are made of."""

    agent_id: int
    agent: Mapping[str, str]
    period: str
    row: Measures
    threshold: int
    # Calls, chats and tickets are those of some queues only; the agent's own time is not.
    is_narrowed: bool
    # Outbound calls that were talked, and offers answered in time: of those who asked for what needs them.
    talked_outbound: int = 0
    in_time: int = 0

    @property
    def logged_out_at(self) -> datetime | None:
        """None while he is logged in."""
        return None if self.row.is_logged_in else self.row.last_logout_at

    @property
    def calls_above(self) -> tuple[int, int]:
        """Outbound calls that were talked for longer than the threshold: how many began, seconds."""
        return self.row.calls_by(self.threshold)[:2]

    @property
    def calls_below(self) -> tuple[int, int]:
        return self.row.calls_by(self.threshold)[2:]

    @property
    def pauses(self) -> tuple[int, int]:
        """Of all reasons: how many began, seconds."""
        return _sum(self.row.pauses.values())

    @property
    def talk_seconds(self) -> int:
        return self.row.talk_seconds + _sum(self.row.calls.values())[1]

    @property
    def handle_seconds(self) -> int | None:
        """None of some queues: a wrap-up belongs to none."""
        return None if self.is_narrowed else self.talk_seconds + self.row.wrap_up_seconds

    @property
    def handled(self) -> int:
        return self.row.answered + self.talked_outbound

    @property
    def average_handle_seconds(self) -> int | None:
        seconds = self.handle_seconds
        return None if seconds is None or not self.handled else mean(seconds, self.handled)

    @property
    def occupancy(self) -> float | None:
        """Of the time that he handled calls or was ready for them, per cent in which he handled them."""
        seconds = self.handle_seconds
        return None if seconds is None else percent(seconds, seconds + self.row.free_seconds)

    @property
    def service_level(self) -> float | None:
        """Of the offers that were answered or not, per cent that were in time."""
        return percent(self.in_time, self.row.answered + self.row.not_answered)
