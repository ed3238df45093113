"""The borders of the report's periods, by the clock of the service's zone: made here, and nowhere else.

A period of an hour or more is one stretch of time, also where the clock is put back: an hour that comes twice is two
hours long. A minute that comes twice is two stretches, an hour of the day one stretch a day.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from django.db import models

from callcentre.core.times import zone

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# Of instants as the database keeps them.
RESOLUTION = timedelta(microseconds=1)
# The hour of the day of a column, in SQL, where no borders are: parameter `zone`.
HOUR_OF = "extract(hour FROM {column} AT TIME ZONE %(zone)s)::int"

Key = datetime | int


class Level(models.IntegerChoices):
    """The lengths of which rollups are kept."""

    HOUR = 1
    DAY = 2
    WEEK = 3
    MONTH = 4
    YEAR = 5


class Aggregation(StrEnum):
    HOUR_OF_DAY = "hour_of_day"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    @property
    def level(self) -> Level | None:
        """The rollups whose rows are its periods, if there are such."""
        return None if self in (Aggregation.HOUR_OF_DAY, Aggregation.MINUTE) else Level[self.name]

    @property
    def parts(self) -> tuple[Level, ...]:
        """The rollups of which a period of it can be put together, the longest first."""
        return _PARTS[self]

    def key(self, border: datetime) -> Key:
        """By which the period is known that begins then, or goes on: its first instant; of an hour of the day, 0 to 23.

        Periods of an agent are in the order of their keys.
        """
        if self is Aggregation.HOUR_OF_DAY:
            return border.astimezone(zone()).hour
        # A minute may come twice.
        return instant_of(_wall(border)) if self is Aggregation.MINUTE else border

    def label(self, key: Key) -> str:
        return f"{key:02}" if isinstance(key, int) else _LABELS[self](key.astimezone(zone()))

    def slots(self, begin: datetime, end: datetime) -> list[datetime]:
        """Borders that cut this span into stretches of one period each: from at or before it to at or after it."""
        if self is Aggregation.MINUTE:
            start = begin - timedelta(seconds=begin.timestamp() % 60)
            return [start + n * MINUTE for n in range(-int((start - end) // MINUTE) + 1)]
        return borders(self.level or Level.HOUR, begin, end)

    def periods_in(self, begin: datetime, end: datetime) -> int:
        """How many periods there are in this span, whether or not anybody did anything in them."""
        if self is Aggregation.HOUR_OF_DAY:
            return 24
        first, last = _wall(begin), _wall(end - RESOLUTION)
        match self:
            case Aggregation.YEAR:
                return last.year - first.year + 1
            case Aggregation.MONTH:
                return 12 * (last.year - first.year) + last.month - first.month + 1
            case Aggregation.MINUTE:
                length = MINUTE
                first, last = first.replace(second=0, microsecond=0), last.replace(second=0, microsecond=0)
            case _:
                length = {"hour": HOUR, "day": DAY, "week": 7 * DAY}[self]
                first, last = _floor(first, Level[self.name]), _floor(last, Level[self.name])
        return (last - first) // length + 1


def _iso_week(local: datetime) -> str:
    year, week, _ = local.isocalendar()
    return f"{year:04}-W{week:02}"


_LABELS: dict[Aggregation, Callable[[datetime], str]] = {
    Aggregation.MINUTE: lambda local: local.isoformat(" ", "minutes")[:16],
    Aggregation.HOUR: lambda local: local.isoformat(" ", "hours")[:13],
    Aggregation.DAY: lambda local: local.isoformat()[:10],
    Aggregation.WEEK: _iso_week,
    Aggregation.MONTH: lambda local: local.isoformat()[:7],
    Aggregation.YEAR: lambda local: f"{local.year:04}",
}
_PARTS: dict[Aggregation, tuple[Level, ...]] = {
    Aggregation.MINUTE: (),
    Aggregation.HOUR: (),
    Aggregation.HOUR_OF_DAY: (Level.HOUR,),
    Aggregation.DAY: (Level.HOUR,),
    Aggregation.WEEK: (Level.DAY, Level.HOUR),
    Aggregation.MONTH: (Level.DAY, Level.HOUR),
    Aggregation.YEAR: (Level.MONTH, Level.DAY, Level.HOUR),
}


def _wall(instant: datetime) -> datetime:
    return instant.astimezone(zone()).replace(tzinfo=None, fold=0)


def instant_of(wall: datetime) -> datetime:
    """The first instant at which the clock shows this; where it never does, the one in which it skips it."""
    return wall.replace(tzinfo=zone()).astimezone(UTC)


def _floor(wall: datetime, level: Level) -> datetime:
    if level is Level.HOUR:
        return wall.replace(minute=0, second=0, microsecond=0)
    midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    match level:
        case Level.WEEK:
            return midnight - midnight.weekday() * DAY
        case Level.MONTH:
            return midnight.replace(day=1)
        case Level.YEAR:
            return midnight.replace(month=1, day=1)
    return midnight


def _following(start: datetime, level: Level) -> datetime:
    match level:
        case Level.HOUR:
            return start + HOUR
        case Level.DAY:
            return start + DAY
        case Level.WEEK:
            return start + 7 * DAY
        case Level.MONTH:
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        case Level.YEAR:
            return start.replace(year=start.year + 1)


# Agents have the same borders.
@lru_cache(maxsize=20_000)
def start_of(level: Level, instant: datetime) -> datetime:
    """When the period began in which this instant lies."""
    return instant_of(_floor(_wall(instant), level))


@lru_cache(maxsize=20_000)
def end_of(level: Level, instant: datetime) -> datetime:
    """When the next one begins."""
    return instant_of(_following(_floor(_wall(instant), level), level))


def starts(level: Level, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The beginnings of all that overlap this span."""
    start = start_of(level, begin)
    while start < end:
        yield start
        start = end_of(level, start)


def borders(level: Level, begin: datetime, end: datetime) -> list[datetime]:
    """Their beginnings, and the end of the last."""
    found = list(starts(level, begin, end))
    return [*found, end_of(level, found[-1])] if found else []


# Nothing happened before, and nothing will have after: reports of longer spans are of this one.
FIRST, LAST = instant_of(datetime(1970, 1, 2)), instant_of(datetime(2200, 1, 1))  # noqa: DTZ001  (the zone's wall clock)
