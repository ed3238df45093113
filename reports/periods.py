"""The borders of the report's periods, by the clock of the service's zone. Only this module makes them.

A period of an hour or more is one stretch of time, also where the clock is put back: an hour that comes twice is one
period of two hours. A minute that comes twice is two stretches, an hour of the day one stretch a day.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from callcentre.core.times import zone

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# The resolution of instants in the database.
RESOLUTION = timedelta(microseconds=1)
# The most periods that one report may have.
MOST_PERIODS = 20_000

Span = tuple[datetime, datetime]


class Aggregation(StrEnum):
    """A length of the report's periods.

    The key of a period is the second of the epoch at which it begins; the key of an hour of the day is 0 to 23. The
    periods of an agent are in the order of their keys.
    """

    HOUR_OF_DAY = "hour_of_day"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    def key(self, border: datetime) -> int:
        """Return the key of the period that begins, or goes on, at this border."""
        if self is Aggregation.HOUR_OF_DAY:
            return border.astimezone(zone()).hour
        return int((instant_of(_wall(border)) if self is Aggregation.MINUTE else border).timestamp())

    def label(self, key: int) -> str:
        return f"{key:02}" if self is Aggregation.HOUR_OF_DAY else _LABELS[self](datetime.fromtimestamp(key, zone()))

    def stretch(self, key: int) -> Span:
        """Return the time from the first instant of a period to its last; hours of the day have no such stretch."""
        start = datetime.fromtimestamp(key, UTC)
        if self is Aggregation.MINUTE:
            return start, _wall(start).replace(tzinfo=zone(), fold=1).astimezone(UTC) + MINUTE
        return start, end_of(self, start)

    def around(self, begin: datetime, end: datetime) -> Span:
        """Return the first and the last border of this span."""
        if self is Aggregation.MINUTE:
            start = _minute_of(begin)
            return start, start - (start - end) // MINUTE * MINUTE
        length = Aggregation.HOUR if self is Aggregation.HOUR_OF_DAY else self
        return start_of(length, begin), end_of(length, end - RESOLUTION)

    def borders(self, begin: datetime, end: datetime) -> list[datetime]:
        """Return the borders that cut this span into periods, from at or before its begin to at or after its end."""
        if self is Aggregation.MINUTE:
            start = _minute_of(begin)
            return [start + n * MINUTE for n in range(-int((start - end) // MINUTE) + 1)]
        length = Aggregation.HOUR if self is Aggregation.HOUR_OF_DAY else self
        found = [start_of(length, begin)] if begin < end else []
        while found and found[-1] < end:
            found.append(end_of(length, found[-1]))
        return found

    def periods_in(self, begin: datetime, end: datetime) -> int:
        """Count the periods of this span, with those in which no agent did anything."""
        if self is Aggregation.HOUR_OF_DAY:
            return 24
        first, last = _floor(self, _wall(begin)), _floor(self, _wall(end - RESOLUTION))
        match self:
            case Aggregation.YEAR:
                return last.year - first.year + 1
            case Aggregation.MONTH:
                return 12 * (last.year - first.year) + last.month - first.month + 1
        return (last - first) // _LENGTHS[self] + 1


_LENGTHS = {Aggregation.MINUTE: MINUTE, Aggregation.HOUR: HOUR, Aggregation.DAY: DAY, Aggregation.WEEK: 7 * DAY}
_LABELS: dict[Aggregation, Callable[[datetime], str]] = {
    Aggregation.MINUTE: lambda local: local.isoformat(" ", "minutes")[:16],
    Aggregation.HOUR: lambda local: local.isoformat(" ", "hours")[:13],
    Aggregation.DAY: lambda local: local.isoformat()[:10],
    Aggregation.WEEK: lambda local: "{:04}-W{:02}".format(*local.isocalendar()),
    Aggregation.MONTH: lambda local: local.isoformat()[:7],
    Aggregation.YEAR: lambda local: f"{local.year:04}",
}


def _minute_of(instant: datetime) -> datetime:
    return instant - timedelta(seconds=instant.timestamp() % 60)


def _wall(instant: datetime) -> datetime:
    return instant.astimezone(zone()).replace(tzinfo=None, fold=0)


def instant_of(wall: datetime) -> datetime:
    """Return the first instant at which the clock shows this, or the one at which the clock skips it."""
    return wall.replace(tzinfo=zone()).astimezone(UTC)


def _floor(length: Aggregation, wall: datetime) -> datetime:
    if length is Aggregation.MINUTE:
        return wall.replace(second=0, microsecond=0)
    if length is Aggregation.HOUR:
        return wall.replace(minute=0, second=0, microsecond=0)
    midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    match length:
        case Aggregation.WEEK:
            return midnight - midnight.weekday() * DAY
        case Aggregation.MONTH:
            return midnight.replace(day=1)
        case Aggregation.YEAR:
            return midnight.replace(month=1, day=1)
    return midnight


# All agents have the same borders.
@lru_cache(maxsize=20_000)
def start_of(length: Aggregation, instant: datetime) -> datetime:
    """Return the beginning of the period in which this instant lies."""
    return instant_of(_floor(length, _wall(instant)))


@lru_cache(maxsize=20_000)
def end_of(length: Aggregation, instant: datetime) -> datetime:
    """Return the beginning of the next period."""
    start = _floor(length, _wall(instant))
    match length:
        case Aggregation.MONTH:
            following = start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        case Aggregation.YEAR:
            following = start.replace(year=start.year + 1)
        case _:
            following = start + _LENGTHS[length]
    return instant_of(following)


def whole(length: Aggregation, begin: datetime, end: datetime) -> Span:
    """Return the whole periods of a span, from the first border to the last; it is empty where the first is later."""
    first = start_of(length, begin)
    return (first if first == begin else end_of(length, begin)), start_of(length, end)


# Nothing happened before, and nothing happens after: reports of longer spans are of this one.
FIRST, LAST = instant_of(datetime(1970, 1, 2)), instant_of(datetime(2200, 1, 1))  # noqa: DTZ001  (the zone's wall clock)
