"""The time zones of phone numbers, as `phonenumbers` tells them.

Most countries have one zone. In the others the number and its type decide: a mobile number may be anywhere in its
country. That takes 30 µs, so an import of such numbers asks once for those that differ in the last four digits only.
"""

import zoneinfo
from functools import lru_cache

import phonenumbers
from phonenumbers import timezone
from phonenumbers.tzdata import TIMEZONE_DATA

from callcentre.core.phone import calling_code

# The zone of a number or of a text that tells no zone.
UNREADABLE = "?"
# No plan of numbers of this length distinguishes the last four digits.
_LONG = len("+") + 11
_UNKNOWN = timezone.UNKNOWN_TIMEZONE


def zones_of_number(number: str) -> str:
    """Return the IANA names of all zones that a number (normal form) may be in, separated by blanks.

    Return "" for an extension or a short number, and UNREADABLE for a number that belongs to no country.
    """
    if number[:1] != "+":
        return ""
    country = calling_code(number)
    if (zones := _zones_of_country(country)) is not None:
        return zones
    return _zones_of_part(f"{number[:-4]}1234" if len(number) >= _LONG else number, country)


@lru_cache(maxsize=512)
def _zones_of_country(country: str) -> str | None:
    """Return the zones of all numbers of the country; None if they differ."""
    names = TIMEZONE_DATA.get(country, ())
    if any(TIMEZONE_DATA[beginning] != names for beginning in TIMEZONE_DATA if beginning.startswith(country)):
        return None
    return " ".join(names) or UNREADABLE


@lru_cache(maxsize=65_536)
def _zones_of_part(number: str, country: str) -> str:
    names: tuple[str, ...] = tuple(timezone.time_zones_for_number(phonenumbers.parse(number)))
    # A number that the plan does not have yet: anywhere in the country.
    names = TIMEZONE_DATA.get(country, ()) if names == (_UNKNOWN,) else names
    return " ".join(names) or UNREADABLE


def zone_named(text: str) -> str:
    """Return the IANA name that the text means, in any capitals; UNREADABLE if there is no such zone."""
    return _names().get(text.strip().casefold(), UNREADABLE)


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {name.casefold(): name for name in zoneinfo.available_timezones()}
