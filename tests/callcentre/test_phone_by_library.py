"""Any text, and the numbers of the whole world, read as phonenumbers reads them."""

import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import phonenumbers
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from phonenumbers import NumberParseException, PhoneMetadata, PhoneNumberFormat

from callcentre.core import phone
from callcentre.core.phone import PhoneError, normalise
from tests.callcentre.real_numbers import NO_COUNTRY, real_numbers

REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)


def by_library(number: str, region: str) -> str | None:
    """Return the E.164 of the library alone; None if it calls the number not possible."""
    try:
        parsed = phonenumbers.parse(number, region)
    except NumberParseException:
        return None
    if not phonenumbers.is_possible_number(parsed):
        return None
    return str(phonenumbers.format_number(parsed, PhoneNumberFormat.E164))


def settled_by_library(clean: str, region: str) -> str:
    """Apply the rule with the library: read E.164 again until it is stable, else keep the digits."""
    normal, reading = clean, by_library(clean, region)
    while reading is not None and reading != normal:
        normal, reading = reading, by_library(reading, region)
    return normal


# Any text


SEPARATORS = " \t\u00a0\u202f-\u2011\u2013\u2212./()\u200b\u200e\u202c\ufeff"
TEXTS = st.text(st.sampled_from("0123456789++() ;:.-/abtel=\u0664\uff10\uff0b\ufeff\x00\n")) | st.text()


@pytest.mark.slow("runs many examples")
@settings(max_examples=1000)
@given(raw=TEXTS, region=st.sampled_from(REGIONS))
def test_any_text_is_refused_or_has_a_stable_normal_form(raw: str, region: str) -> None:
    try:
        normal = normalise(raw, region)
    except PhoneError:
        return

    assert re.fullmatch(r"\+?[0-9]{1,20}", normal)
    assert normalise(normal, region) == normal


@pytest.mark.slow("runs many examples")
@settings(max_examples=1000)
@given(
    digits=st.text(st.sampled_from("123456789"), min_size=1, max_size=15),
    separators=st.lists(st.text(st.sampled_from(SEPARATORS), max_size=3), min_size=17, max_size=17),
    sign=st.sampled_from(["", "+", "00", "+48", "+1", "+44"]),
    region=st.sampled_from(REGIONS),
)
def test_separators_never_change_a_number(digits: str, separators: list[str], sign: str, region: str) -> None:
    spelled = sign + "".join(map(str.__add__, separators, digits))

    assume(len(spelled) <= phone.MAX_RAW_LENGTH)

    assert normalise(spelled, region) == normalise(sign + digits, region)


# Equal to the library in every region


def neighbours(region: str, digits: random.Random) -> Iterator[str]:
    """Draw digits that are close to the region's rules: its prefixes, lengths and examples, changed."""
    metadata = PhoneMetadata.metadata_for_region(region)
    assert metadata is not None
    calling_code = str(metadata.country_code)
    trunk = metadata.national_prefix or "0"
    exit_code = metadata.preferred_international_prefix or metadata.international_prefix or "00"
    exit_code = exit_code if exit_code.isdigit() else "00"
    starts = ["", trunk, trunk * 2, calling_code, calling_code + trunk, calling_code * 2]
    starts += [f"{exit_code}{calling_code}{trunk}", f"{exit_code}48", f"{exit_code}0", "+48", "+0"]
    starts += ["+", f"+{calling_code}", f"+{calling_code}{trunk}", f"+0{calling_code}", "00", "15"]
    for start in starts:
        for length in range(18):
            yield start + "".join(digits.choices("0123456789", k=length))
        for number_type in phonenumbers.supported_types_for_region(region):
            example = phonenumbers.example_number_for_type(region, number_type)
            if example is not None:
                national = phonenumbers.national_significant_number(example)
                yield start + national
                yield start + national[: digits.randrange(1, len(national) + 1)]
                yield start + national + digits.choice("0123456789")


# Regions with rules that others have not: trunk prefixes in the number, several regions of one calling code, codes of
# areas that are left out, or numbers of varying length.
@pytest.mark.parametrize("region", ["AR", "AU", "BR", "DE", "IT", "KZ", "MX", "PL", "RU", "US"])
def test_plain_digits_of_a_region_with_rules_of_its_own_are_read_as_the_library_reads_them(region: str) -> None:
    assert differing(region) == {}


@pytest.mark.slow("reads the numbers of every region")
def test_plain_digits_are_read_as_the_library_reads_them() -> None:
    assert {region: found for region in REGIONS if (found := differing(region))} == {}


def differing(region: str) -> dict[str, tuple[str, ...]]:
    """Return the numbers that we read otherwise than the library, or otherwise again: ours, its and ours of ours."""
    found: dict[str, tuple[str, ...]] = {}
    for number in neighbours(region, random.Random(region)):
        if 0 < len(number.removeprefix("+")) <= phone.MAX_DIGITS:
            normal = normalise(number, region)
            readings = normal, settled_by_library(number, region), normalise(normal, region)
            if len(set(readings)) > 1:
                found[number] = readings
    return found


def test_numbers_of_entities_without_country_are_read_as_the_library_reads_them() -> None:
    digits = random.Random("001")
    numbers = [
        f"{start}{calling_code}{''.join(digits.choices('0123456789', k=length))}"
        for calling_code in phonenumbers.COUNTRY_CODES_FOR_NON_GEO_REGIONS
        for start in ("+", "00", "")
        for length in range(16)
    ]

    assert {number: normalise(number, "PL") for number in numbers} == {
        number: settled_by_library(number, "PL") for number in numbers
    }


def test_threads_that_load_the_plans_together_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phone, "_plans_by_region", {})
    monkeypatch.setattr(phone, "_plans_by_start", {})
    numbers = [(number, region) for region, _, number, _ in real_numbers() if region != NO_COUNTRY][::10]
    expected = [by_library(*number) for number in numbers]

    with ThreadPoolExecutor(8) as pool:
        readings = list(pool.map(lambda _: [normalise(*number) for number in numbers], range(8)))

    assert readings == [expected] * 8


# Real input


def test_every_spelling_of_every_real_number_agrees() -> None:
    disagreeing = [
        number
        for number in real_numbers()
        if normalise(number.number, "PL" if number.region == NO_COUNTRY else number.region) != number.expected
    ]

    assert disagreeing == []


@pytest.mark.parametrize("kind", ["international", "rfc3966"])
def test_a_real_number_with_its_calling_code_is_the_same_from_everywhere(kind: str) -> None:
    numbers = [number for number in real_numbers() if number.kind == kind]

    for region in ("PL", "US", "AU", "BR", "RU"):
        assert [n for n in numbers if normalise(n.number, region) != n.expected] == []


def test_real_numbers_cover_every_region_and_entity_in_three_spellings() -> None:
    kinds: dict[str, set[str]] = {}
    for number in real_numbers():
        kinds.setdefault(number.region, set()).add(number.kind)

    assert kinds == {
        **{region: {"international", "national", "rfc3966"} for region in REGIONS},
        NO_COUNTRY: {"international", "rfc3966"},
    }
