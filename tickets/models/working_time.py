"""Sums of working time: opening hours of a calendar, without holidays and pauses."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from callcentre.core.times import zone

# ISO weekday (Monday is 1), opening time, closing time; 00:00 closes at the end of the day.
Hours = tuple[int, time, time]
Span = tuple[datetime, datetime]
_LONGEST_DAYS = 3660
_DAY, _SECOND = timedelta(days=1), timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class WorkingTime:
    """The working time of a calendar. Without hours all time but that of closed days is working time.

    Hours are wall-clock hours of the zone. An hour that a change of clocks repeats counts twice, and a skipped one does
    not count.
    """

    hours: tuple[Hours, ...] = ()
    # "": the zone of the service.
    time_zone: str = ""
    is_closed: Callable[[date], bool] | None = None

    def add(self, start: datetime, minutes: int, pauses: Sequence[Span] = ()) -> datetime:
        """Return the instant at which `minutes` of working time have passed since `start`, without the pauses."""
        left, end = timedelta(minutes=minutes), start
        for opening, closing in self.spans(start):
            for since, until in _without(opening, closing, pauses):
                if until - since >= left:
                    return since + left
                left, end = left - (until - since), until
        return end

    def spans(self, start: datetime) -> Iterator[Span]:
        """Yield the spans of working time since `start`, for ten years."""
        if not self.hours and self.is_closed is None:
            yield start, start + timedelta(days=_LONGEST_DAYS)
            return
        hours = sorted(self.hours) or [(weekday, time(0), time(0)) for weekday in range(1, 8)]
        own_zone = ZoneInfo(self.time_zone) if self.time_zone else zone()
        day = start.astimezone(own_zone).date()
        for _ in range(_LONGEST_DAYS):
            own = [each for each in hours if each[0] == day.isoweekday()]
            if own and not (self.is_closed and self.is_closed(day)):
                for begin, end, offset in _parts(day, own_zone):
                    for _weekday, opens_at, closes_at in own:
                        end_day = day + _DAY if closes_at == time(0) else day
                        opening = max(datetime.combine(day, opens_at, UTC) - offset, begin, start)
                        closing = min(datetime.combine(end_day, closes_at, UTC) - offset, end)
                        if opening < closing:
                            yield opening, closing
            day += _DAY


def _parts(day: date, own_zone: ZoneInfo) -> list[tuple[datetime, datetime, timedelta]]:
    """Return the parts of a day between changes of the clock, of which there is at most one, and their offsets."""
    begin, end = (datetime.combine(each, time(0), own_zone).astimezone(UTC) for each in (day, day + _DAY))
    first, last = (_offset(at, own_zone) for at in (begin, end - _SECOND))
    if first == last:
        return [(begin, end, first)]
    before, after = begin, end
    while after - before > _SECOND:
        middle = before + (after - before) // 2
        before, after = (middle, after) if _offset(middle, own_zone) == first else (before, middle)
    change = after.replace(microsecond=0)
    return [(begin, change, first), (change, end, last)]


def _offset(at: datetime, own_zone: ZoneInfo) -> timedelta:
    offset = at.astimezone(own_zone).utcoffset()
    assert offset is not None
    return offset


def _without(opening: datetime, closing: datetime, pauses: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a span that no pause covers. The pauses are sorted by time."""
    for since, until in pauses:
        if opening < since < closing:
            yield opening, since
        if since < closing:
            opening = max(opening, until)
    if opening < closing:
        yield opening, closing
