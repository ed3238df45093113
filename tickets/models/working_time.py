"""Sums of working time: opening hours, without pauses."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

# ISO weekday (Monday is 1), opening time, closing time; 00:00 closes at the end of the day.
Hours = tuple[int, time, time]
Span = tuple[datetime, datetime]
_LONGEST_DAYS = 3660


def add_working_time(
    start: datetime, minutes: int, hours: Iterable[Hours], zone: ZoneInfo, pauses: Sequence[Span] = ()
) -> datetime:
    """Return the instant at which `minutes` of working time have passed since `start`, without the pauses.

    Hours are wall-clock hours of the zone. An hour that a change of clocks repeats counts twice, and a skipped one does
    not count. Without hours all time is working time.
    """
    left, end = timedelta(minutes=minutes), start
    for opening, closing in open_spans(start, list(hours), zone):
        for since, until in _without(opening, closing, pauses):
            if until - since >= left:
                return since + left
            left, end = left - (until - since), until
    return end


def open_spans(start: datetime, hours: list[Hours], zone: ZoneInfo) -> Iterator[Span]:
    """Yield the spans of working time since `start`, for ten years."""
    if not hours:
        yield start, start + timedelta(days=_LONGEST_DAYS)
        return
    day = start.astimezone(zone).date()
    for _ in range(_LONGEST_DAYS):
        for weekday, opens_at, closes_at in sorted(hours):
            if weekday == day.isoweekday():
                end_day = day + timedelta(days=1) if closes_at == time(0) else day
                opening = max(datetime.combine(day, opens_at, zone).astimezone(UTC), start)
                closing = datetime.combine(end_day, closes_at, zone).astimezone(UTC)
                if opening < closing:
                    yield opening, closing
        day += timedelta(days=1)


def _without(opening: datetime, closing: datetime, pauses: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a span that no pause covers. The pauses are sorted by time."""
    for since, until in pauses:
        if opening < since < closing:
            yield opening, since
        if since < closing:
            opening = max(opening, until)
    if opening < closing:
        yield opening, closing
