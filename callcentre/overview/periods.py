"""The spans of the current day, as links to lists name them."""

from datetime import date, datetime, time, timedelta

from callcentre.core.times import zone

Span = tuple[datetime, datetime]


def day_of(midnight: float) -> Span:
    """Return the day that began at this instant."""
    day = datetime.fromtimestamp(midnight, zone()).date()
    return _at(day, 0), _at(day + timedelta(days=1), 0)


def hour_of(midnight: float, hour: int) -> Span:
    """Return an hour of the day that began at this instant. An hour that comes twice is one span of two hours."""
    day = datetime.fromtimestamp(midnight, zone()).date()
    following = day if hour < 23 else day + timedelta(days=1)
    return _at(day, hour), _at(following, (hour + 1) % 24)


def _at(day: date, hour: int) -> datetime:
    return datetime.combine(day, time(hour), zone())
