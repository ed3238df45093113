"""Phone numbers in usual spellings: each has one normal form or a reason for its refusal."""

from types import SimpleNamespace

import pytest

from callcentre.core import phone
from callcentre.core.phone import PhoneError, normalise, normalise_many

# Spellings


@pytest.mark.parametrize(
    "raw",
    [
        "+48221234567",
        "22 123 45 67",
        "(22) 123-45-67",
        "22/123.45.67",
        "22\u00b7123\u00b745\u00b767",
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
        " +48\u00a022\u202f123\u200945\u300067\t\r\n",
        "+48\u201022\u2011123\u201345\u201467",
        "+48\u221222\u30fc123\uff0d45\u00ad67",
        "\u202a+48221234567\u202c",
        "\ufeff+48\u200b22\u200d123\u206045\u200e67",
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
        "tel:221234567;phone-context=+",
        "tel:221234567;phone-context=+0",
        "tel:+48221234567;phone-context=+1",
    ],
)
def test_every_spelling_of_a_polish_number_has_one_normal_form(raw: str) -> None:
    assert normalise(raw, "PL") == "+48221234567"


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("101", "101"),
        ("1 0 1", "101"),
        ("1", "1"),
        ("(0)", "0"),
        ("(0) 12", "012"),
        ("+(0) 12", "+012"),
        ("+48 (0)", "+480"),
        ("112", "112"),
        ("tel:101", "101"),
        ("tel:112;phone-context=+48", "112"),
        ("+101", "+101"),
        ("+48 22", "+4822"),
        ("0048 22", "004822"),
        ("+0 22 123", "+022123"),
        ("1234567890123456", "1234567890123456"),
        ("+999 123 456 789", "+999123456789"),
    ],
)
def test_an_impossible_number_keeps_its_digits_and_plus(raw: str, normal: str) -> None:
    assert normalise(raw, "PL") == normal


@pytest.mark.parametrize(
    ("raw", "region", "normal"),
    [
        # A zero in parentheses is dialled only where it belongs to the number.
        ("+44 (0)20 7946 0018", "PL", "+442079460018"),
        ("0044 (0) 20 7946 0018", "PL", "+442079460018"),
        ("(0)20 7946 0018", "GB", "+442079460018"),
        ("+49 (0)30 901820", "PL", "+4930901820"),
        ("+39 (0)6 698 12345", "PL", "+390669812345"),
        ("+225 (0)7 12 34 56 78", "PL", "+2250712345678"),
        ("+1 (0)202 555 0123", "PL", "+12025550123"),
        ("+44 20 (0)7946 018", "PL", "+442007946018"),
        ("011 44 (0)20 7946 0018", "US", "+442079460018"),
        # A national number is read in the region given.
        ("011 48 22 123 45 67", "US", "+48221234567"),
        ("00 48 22 123 45 67", "US", "0048221234567"),
        ("810 48 22", "RU", "8104822"),
        ("810 48 22 123 45 67", "RU", "+48221234567"),
        ("020 7946 0018", "GB", "+442079460018"),
        ("8 (912) 345-67-89", "RU", "+79123456789"),
        ("011 15-2345-6789", "AR", "+5491123456789"),
        ("253 0000", "US", "+12530000"),
        # +882 34 21234, in the national spelling: the seven digits are a possible Polish number.
        ("34 21234", "PL", "+483421234"),
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
def test_a_number_is_read_in_its_region_or_context(raw: str, region: str, normal: str) -> None:
    assert normalise(raw, region) == normal


# Refusals


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("", "phone_empty"),
        (" \u00a0\u200b", "phone_empty"),
        ("+", "phone_empty"),
        ("()-./", "phone_empty"),
        ("tel:", "phone_empty"),
        (";ext=101", "phone_empty"),
        ("800 FLOWERS", "phone_letters"),
        ("12 34a", "phone_letters"),
        ("221234567 ext. 5", "phone_letters"),
        ("221234567x5", "phone_letters"),
        ("sip:101", "phone_letters"),
        ("tel:tel:101", "phone_letters"),
        ("\uff54\uff45\uff4c:101", "phone_letters"),
        ("\u0142", "phone_letters"),
        ("*100#", "phone_invalid"),
        ("++48221234567", "phone_invalid"),
        ("48+221234567", "phone_invalid"),
        ("22,1234567", "phone_invalid"),
        ("221234567\n221234568", "phone_invalid"),
        ("22:1234567", "phone_invalid"),
        ("%2048221234567", "phone_invalid"),
        ("22_123_45_67", "phone_invalid"),
        ("22\x001234567", "phone_invalid"),
        ("22\ud800", "phone_invalid"),
        ("22\u00b2", "phone_invalid"),
        ("221234567;ext=\x00", "phone_invalid"),
        ("221234567;ext=\ud800", "phone_invalid"),
        ("1" * 21, "phone_too_long"),
        ("+" + "1" * 21, "phone_too_long"),
        ("(" + "1" * 21 + ")", "phone_too_long"),
        ("1" + " " * 64, "phone_too_long"),
        ("a" * 65, "phone_too_long"),
    ],
)
def test_text_that_is_no_number_is_refused_with_its_reason(raw: str, code: str) -> None:
    with pytest.raises(PhoneError) as refusal:
        normalise(raw, "PL")

    assert refusal.value.code == code


def test_without_a_region_the_configured_one_is_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(phone, "settings", SimpleNamespace(DEFAULT_REGION="GB"))

    assert normalise("020 7946 0018") == "+442079460018"


def test_an_unknown_region_raises_a_lookup_error() -> None:
    with pytest.raises(LookupError):
        normalise("+48221234567", "XX")


def test_the_longest_text_that_is_accepted_fits_the_declared_width() -> None:
    longest = "+" + "1 " * 20

    normal = normalise(longest.ljust(phone.MAX_RAW_LENGTH), "PL")

    assert len(normal) == phone.MAX_NORMAL_LENGTH


def test_many_numbers_answer_in_order_with_refusals_in_place() -> None:
    normals = normalise_many(iter(["221234567", "abc", "101"]), "PL")

    assert [getattr(normal, "code", normal) for normal in normals] == [
        "+48221234567",
        "phone_letters",
        "101",
    ]


@pytest.mark.parametrize(("region", "known"), [("PL", True), ("pl", False), ("001", False)])
def test_a_region_is_known_by_its_iso_code(region: str, known: bool) -> None:
    assert phone.is_region(region) is known
