"""Until when something is due that may take so many minutes of working time."""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

# weekday as ISO counts (Monday 1), from, to; a "to" of 00:00 is the end of the day.
Hours = tuple[int, time, time]
_LONGEST = 3660


def due(start: datetime, minutes: int, hours: Iterable[Hours], zone: ZoneInfo) -> datetime:
    """The instant at which `minutes` of working time have passed since `start`.

    Wall-clock hours of the zone; an hour that a change of clocks skips or repeats is worked as it is lived. Without
    hours all time is working time.
    """
    by_weekday: dict[int, list[tuple[time, time]]] = {}
    for weekday, opens_at, closes_at in hours:
        by_weekday.setdefault(weekday, []).append((opens_at, closes_at))
    left = timedelta(minutes=minutes)
    if not by_weekday:
        return start + left
    day = start.astimezone(zone).date()
    for _ in range(_LONGEST):
        for opens_at, closes_at in sorted(by_weekday.get(day.isoweekday(), [])):
            end_day = day + timedelta(days=1) if closes_at == time(0) else day
            opening = max(datetime.combine(day, opens_at, zone).astimezone(UTC), start)
            closing = datetime.combine(end_day, closes_at, zone).astimezone(UTC)
            worked = closing - opening
            if worked <= timedelta(0):
                continue
            if worked >= left:
                return opening + left
            left -= worked
        day += timedelta(days=1)
    return datetime.combine(day, time(0), zone).astimezone(UTC)
