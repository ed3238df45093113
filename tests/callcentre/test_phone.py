"""Phone numbers in usual spellings: each has one normal form or a reason for its refusal."""

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType
from phonenumbers import timezone as library

from callcentre.core import phone
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.phone import PhoneError, calling_code, normalise
from callcentre.core.phone_zones import UNREADABLE, zone_named, zones_of_number

# Spellings


@pytest.mark.parametrize(
    "raw",
    [
        "+48221234567",
        "0048 22 123 45 67",
        "48221234567",
        "+48 (22) 1234567",
        "(+48) 22 1234567",
        "+48 (0)22 123 45 67",
        "+48(0) 22 123 45 67",
        "(0048) (0) 22 123 45 67",
        "48 ( 0 ) 22 123 45 67",
        "(0)22 123 45 67",
        "\uff0b\uff14\uff18\uff08\uff10\uff09\uff12\uff12\uff11\uff12\uff13\uff14\uff15\uff16\uff17",
        "+48\u201022\u2011123\u201345\u201467",
        "\u202d+\u0664\u0668 \u0662\u0662 \u0661\u0662\u0663 \u06f4\u06f5 \u096c\u096d",
        "\uff0b\uff14\uff18\uff12\uff12\uff11\uff12\uff13\uff14\uff15\uff16\uff17",
        "tel:+48-22-123-45-67",
        "TEL: +48 22 123 45 67",
        "tel://+48221234567",
        "tel:22-123-45-67",
        "tel:+48221234567;ext=101",
        "+48221234567;ext=101;isub=abc",
        "tel:22-123-45-67;phone-context=+48",
        "tel:123-45-67;phone-context=+48-22",
        "tel:22-123-45-67;ext=5;PHONE-CONTEXT=+48",
        "tel:221234567;phone-context=example.com",
        "tel:221234567;phone-context=",
        "tel:+48221234567;phone-context=+1",
    ],
)
def test_every_spelling_of_a_polish_number_has_one_normal_form(raw):
    assert normalise(raw, "PL") == "+48221234567"


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("101", "101"),
        ("1 0 1", "101"),
        ("(0) 12", "012"),
        ("+(0) 12", "+012"),
        ("+48 (0)", "+480"),
        ("112", "112"),
        ("tel:101", "101"),
        ("tel:112;phone-context=+48", "112"),
        ("+101", "+101"),
        ("0048 22", "004822"),
        ("+0 22 123", "+022123"),
        ("+999 123 456 789", "+999123456789"),
    ],
)
def test_an_impossible_number_keeps_its_digits_and_plus(raw, normal):
    assert normalise(raw, "PL") == normal


@pytest.mark.parametrize(
    ("raw", "region", "normal"),
    [
        # A zero in parentheses is dialled only where it belongs to the number.
        ("+44 (0)20 7946 0018", "PL", "+442079460018"),
        ("(0)20 7946 0018", "GB", "+442079460018"),
        ("+49 (0)30 901820", "PL", "+4930901820"),
        ("+39 (0)6 698 12345", "PL", "+390669812345"),
        ("+225 (0)7 12 34 56 78", "PL", "+2250712345678"),
        ("+44 20 (0)7946 018", "PL", "+442007946018"),
        ("011 44 (0)20 7946 0018", "US", "+442079460018"),
        # A national number is read in the region given.
        ("011 48 22 123 45 67", "US", "+48221234567"),
        ("00 48 22 123 45 67", "US", "0048221234567"),
        ("810 48 22 123 45 67", "RU", "+48221234567"),
        ("020 7946 0018", "GB", "+442079460018"),
        ("8 (912) 345-67-89", "RU", "+79123456789"),
        ("253 0000", "US", "+12530000"),
        # A local number is read in its context.
        ("tel:020-7946-0018;phone-context=+44", "PL", "+442079460018"),
        ("tel:7946-0018;phone-context=+44-20", "PL", "+442079460018"),
        ("tel:7042;phone-context=+1-914-555", "PL", "+19145557042"),
        ("tel:914-555-7042;phone-context=+1-914", "PL", "+19145557042"),
        ("tel:863-1234;phone-context=+1-914-555", "PL", "+18631234"),
        ("tel:12345678;phone-context=+800", "PL", "+80012345678"),
        ("tel:1234;phone-context=+800", "PL", "1234"),
        ("tel:0048221234567;phone-context=+44", "PL", "+48221234567"),
        # Jersey completes its six-digit numbers; Britain, the main region of +44, does not.
        ("tel:834567;phone-context=+44", "JE", "+441534834567"),
    ],
)
def test_a_number_is_read_in_its_region_or_context(raw, region, normal):
    assert normalise(raw, region) == normal


# Refusals


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("", ErrorCode.EMPTY),
        (" \u00a0\u200b", ErrorCode.EMPTY),
        ("+", ErrorCode.EMPTY),
        ("tel:", ErrorCode.EMPTY),
        (";ext=101", ErrorCode.EMPTY),
        ("800 FLOWERS", ErrorCode.PHONE_LETTERS),
        ("221234567x5", ErrorCode.PHONE_LETTERS),
        ("sip:101", ErrorCode.PHONE_LETTERS),
        ("*100#", ErrorCode.PHONE_INVALID),
        ("++48221234567", ErrorCode.PHONE_INVALID),
        ("22,1234567", ErrorCode.PHONE_INVALID),
        ("221234567\n221234568", ErrorCode.PHONE_INVALID),
        ("%2048221234567", ErrorCode.PHONE_INVALID),
        ("22\u00b2", ErrorCode.PHONE_INVALID),
        ("221234567;ext=\x00", ErrorCode.PHONE_INVALID),
        ("1" * 21, ErrorCode.PHONE_TOO_LONG),
        ("+" + "1" * 21, ErrorCode.PHONE_TOO_LONG),
        ("(" + "1" * 21 + ")", ErrorCode.PHONE_TOO_LONG),
        ("1" + " " * 64, ErrorCode.PHONE_TOO_LONG),
    ],
)
def test_text_that_is_no_number_is_refused_with_its_reason(raw, code):
    with pytest.raises(PhoneError) as refusal:
        normalise(raw, "PL")

    assert refusal.value.fault("number") == Fault(code, "number")


def test_without_a_region_the_configured_one_is_the_default(settings):
    settings.DEFAULT_REGION = "GB"

    assert normalise("020 7946 0018") == "+442079460018"


def test_an_unknown_region_raises_a_lookup_error():
    with pytest.raises(LookupError):
        normalise("+48221234567", "XX")


def test_the_longest_text_that_is_accepted_fits_the_declared_width():
    longest = "+" + "1 " * 20

    normal = normalise(longest.ljust(phone.MAX_RAW_LENGTH), "PL")

    assert len(normal) == phone.MAX_NORMAL_LENGTH


@pytest.mark.parametrize(("region", "known"), [("PL", True), ("pl", False), ("001", False)])
def test_a_region_is_known_by_its_iso_code(region, known):
    assert phone.is_region(region) is known


@pytest.mark.parametrize(
    ("number", "zones"),
    [
        *(("101", ""), ("112", ""), ("+80012345678", UNREADABLE), ("+48225550117", "Europe/Warsaw")),
        *(("+442071838750", "Europe/London"), ("+34612345678", "Atlantic/Canary Europe/Madrid")),
    ],
)
def test_zones_of_a_number(number, zones):
    assert zones_of_number(number) == zones


def test_a_number_that_no_plan_has_may_be_anywhere_in_its_country():
    assert {"America/New_York", "Pacific/Honolulu", "America/St_Johns"} < set(zones_of_number("+18005550117").split())
    assert zones_of_number("+11115550117") == zones_of_number("+18005550117")


@pytest.mark.parametrize("end", ["", "0007", "9999", "1111"])
def test_zones_are_those_of_the_library_for_all_regions(end):
    for region in phonenumbers.SUPPORTED_REGIONS:
        for kind in PhoneNumberType.values():
            if (example := phonenumbers.example_number_for_type(region, kind)) is None:
                continue
            number = phonenumbers.format_number(example, PhoneNumberFormat.E164)
            number = number[: -len(end)] + end if end else number
            expected = library.time_zones_for_number(phonenumbers.parse(number))
            if expected != (library.UNKNOWN_TIMEZONE,):
                assert zones_of_number(number) == " ".join(expected), number


def test_zones_are_named_in_any_capitals():
    assert zone_named(" europe/warsaw ") == "Europe/Warsaw"
    assert zone_named("New York") == UNREADABLE


def test_calling_codes():
    assert [calling_code(number) for number in ("+48225550117", "+12125550117", "101")] == ["48", "1", ""]
