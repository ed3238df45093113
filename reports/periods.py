"""The borders of the report's periods, by the clock of the service's zone. Only this module makes them.

A period of an hour or more is one stretch of time, also where the clock is put back: an hour that comes twice is one
period of two hours. A minute that comes twice is two stretches, an hour of the day one stretch a day.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from callcentre.core.times import zone

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# The resolution of instants in the database.
RESOLUTION = timedelta(microseconds=1)
# The most periods that one report may have.
MOST_PERIODS = 20_000

Span = tuple[datetime, datetime]


class Aggregation(StrEnum):
    """A length of the report's periods. A period is named by its label; labels sort as the periods follow."""

    HOUR_OF_DAY = "hour_of_day"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    def label(self, instant: datetime) -> str:
        """Return the label of the period in which an instant lies."""
        return instant.astimezone(zone()).strftime(LENGTHS[self].label)

    def borders(self, begin: datetime, end: datetime) -> list[datetime]:
        """Return the borders that cut this span into periods, from at or before its begin to at or after its end."""
        if self is Aggregation.MINUTE:
            start = begin - timedelta(seconds=begin.timestamp() % 60)
            return [start + n * MINUTE for n in range(-int((start - end) // MINUTE) + 1)]
        found = [start_of(self, begin)] if begin < end else []
        while found and found[-1] < end:
            found.append(end_of(self, found[-1]))
        return found

    def periods_in(self, begin: datetime, end: datetime) -> int:
        """Count the periods of this span, with those in which no agent did anything; months and years at least."""
        if self is Aggregation.HOUR_OF_DAY:
            return 24
        return (_floor(self, _wall(end - RESOLUTION)) - _floor(self, _wall(begin))) // LENGTHS[self].longest + 1


class Length(NamedTuple):
    """The longest that a period lasts by the clock, and its label for Python's strftime and PostgreSQL's to_char."""

    longest: timedelta
    label: str
    sql_label: str


LENGTHS = {
    Aggregation.HOUR_OF_DAY: Length(HOUR, "%H", "HH24"),
    Aggregation.MINUTE: Length(MINUTE, "%Y-%m-%d %H:%M", "YYYY-MM-DD HH24:MI"),
    Aggregation.HOUR: Length(HOUR, "%Y-%m-%d %H", "YYYY-MM-DD HH24"),
    Aggregation.DAY: Length(DAY, "%Y-%m-%d", "YYYY-MM-DD"),
    Aggregation.WEEK: Length(7 * DAY, "%G-W%V", 'IYYY-"W"IW'),
    Aggregation.MONTH: Length(31 * DAY, "%Y-%m", "YYYY-MM"),
    Aggregation.YEAR: Length(366 * DAY, "%Y", "YYYY"),
}


def _wall(instant: datetime) -> datetime:
    return instant.astimezone(zone()).replace(tzinfo=None, fold=0)


def instant_of(wall: datetime) -> datetime:
    """Return the first instant at which the clock shows this, or the one at which the clock skips it."""
    return wall.replace(tzinfo=zone()).astimezone(UTC)


def _floor(length: Aggregation, wall: datetime) -> datetime:
    hour = wall.replace(minute=0, second=0, microsecond=0)
    midnight = hour.replace(hour=0)
    match length:
        case Aggregation.MINUTE:
            return wall.replace(second=0, microsecond=0)
        case Aggregation.HOUR | Aggregation.HOUR_OF_DAY:
            return hour
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
    return instant_of(_floor(length, _floor(length, _wall(instant)) + LENGTHS[length].longest))


def union(spans: Iterable[Span]) -> list[Span]:
    """Merge spans that touch; leave out empty ones."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif begin < end:
            merged.append((begin, end))
    return merged


# Nothing happened before, and nothing happens after: reports of longer spans are of this one.
FIRST, LAST = instant_of(datetime(1970, 1, 2)), instant_of(datetime(2200, 1, 1))  # noqa: DTZ001  (the zone's wall clock)
