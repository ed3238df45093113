"""The instant at which a target ends that may take so many minutes of working time."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

# weekday as ISO counts (Monday 1), from, to; a "to" of 00:00 is the end of the day.
Hours = tuple[int, time, time]
Span = tuple[datetime, datetime]
_LONGEST = 3660


def due(start: datetime, minutes: int, hours: Iterable[Hours], zone: ZoneInfo, pauses: Sequence[Span] = ()) -> datetime:
    """Return the instant at which `minutes` of working time have passed since `start`, the pauses left out.

    Wall-clock hours of the zone; an hour that a change of clocks skips or repeats is worked as it is lived. Without
    hours all time is working time.
    """
    left, end = timedelta(minutes=minutes), start
    for opening, closing in _open_spans(start, list(hours), zone):
        for since, until in _without(opening, closing, pauses):
            if until - since >= left:
                return since + left
            left, end = left - (until - since), until
    return end


def _open_spans(start: datetime, hours: list[Hours], zone: ZoneInfo) -> Iterator[Span]:
    """Yield the spans of working time since `start`, for ten years."""
    if not hours:
        yield start, start + timedelta(days=_LONGEST)
        return
    day = start.astimezone(zone).date()
    for _ in range(_LONGEST):
        for weekday, opens_at, closes_at in sorted(hours):
            if weekday == day.isoweekday():
                end_day = day + timedelta(days=1) if closes_at == time(0) else day
                opening = max(datetime.combine(day, opens_at, zone).astimezone(UTC), start)
                closing = datetime.combine(end_day, closes_at, zone).astimezone(UTC)
                if opening < closing:
                    yield opening, closing
        day += timedelta(days=1)


def _without(opening: datetime, closing: datetime, pauses: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a span that no pause covers. The pauses are in the order of time."""
    for since, until in pauses:
        if opening < since < closing:
            yield opening, since
        if since < closing:
            opening = max(opening, until)
    if opening < closing:
        yield opening, closing
