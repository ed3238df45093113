"""The zones of numbers, compared with `phonenumbers.timezone`."""

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType
from phonenumbers import timezone as library

from callcentre.core.phone import calling_code
from callcentre.core.phone_zones import UNREADABLE, zone_named, zones_of_number


@pytest.mark.parametrize(
    ("number", "zones"),
    [
        ("+48225550117", "Europe/Warsaw"),
        ("+12125550117", "America/New_York"),
        ("+442071838750", "Europe/London"),
        ("101", ""),
        ("112", ""),
        ("+80012345678", UNREADABLE),
    ],
)
def test_zones_of_a_number(number: str, zones: str) -> None:
    assert zones_of_number(number) == zones


def test_all_zones_of_a_country_are_those_of_a_number_without_a_place() -> None:
    zones = zones_of_number("+18005550117").split(" ")
    assert {"America/New_York", "Pacific/Honolulu", "America/St_Johns"} < set(zones)


def test_a_mobile_number_may_be_anywhere_in_its_country() -> None:
    assert zones_of_number("+34612345678") == "Atlantic/Canary Europe/Madrid"
    assert "Australia/Perth" in zones_of_number("+61412345678")


def test_a_number_that_no_plan_has_may_be_anywhere_in_its_country() -> None:
    assert zones_of_number("+11115550117") == zones_of_number("+18005550117")


@pytest.mark.parametrize("end", ["", "0007", "9999", "1111"])
def test_zones_are_those_of_the_library_for_all_regions(end: str) -> None:
    for region in phonenumbers.SUPPORTED_REGIONS:
        for kind in PhoneNumberType.values():
            if (example := phonenumbers.example_number_for_type(region, kind)) is None:
                continue
            number = phonenumbers.format_number(example, PhoneNumberFormat.E164)
            number = number[: -len(end)] + end if end else number
            expected = library.time_zones_for_number(phonenumbers.parse(number))
            if expected != (library.UNKNOWN_TIMEZONE,):
                assert zones_of_number(number) == " ".join(expected), number


def test_zones_are_named_in_any_capitals() -> None:
    assert zone_named(" europe/warsaw ") == "Europe/Warsaw"
    assert zone_named("New York") == UNREADABLE


def test_calling_codes() -> None:
    assert [calling_code(number) for number in ("+48225550117", "+12125550117", "101")] == ["48", "1", ""]
