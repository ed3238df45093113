"""The holidays of countries ("PL") and of their parts ("US-CA"), by the library `holidays`."""

from datetime import UTC, date, datetime
from functools import lru_cache

import holidays


def is_holiday_in(country: str, day: date) -> bool:
    """Return whether the day is a holiday of the country. All days are holidays of a country without a calendar."""
    calendar = _calendar(country, day.year)
    return calendar is None or day in calendar


def has_calendar(country: str) -> bool:
    return _calendar(country, datetime.now(tz=UTC).year) is not None


@lru_cache(maxsize=256)
def _calendar(country: str, year: int) -> holidays.HolidayBase | None:
    """Return the calendar of one year. A calendar that adds years by itself would show them half filled to threads."""
    code, _dash, part = country.partition("-")
    try:
        return holidays.country_holidays(code, subdiv=part or None, years=year)
    except (NotImplementedError, AttributeError, KeyError, ValueError):
        return None
