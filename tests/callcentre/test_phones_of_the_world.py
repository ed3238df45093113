"""Any text, and the real numbers of the whole world."""

import re

import phonenumbers
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from callcentre.core import phone
from callcentre.core.phone import PhoneError, normalise
from tests.callcentre.real_numbers import NO_COUNTRY, real_numbers
from tests.tiers import examples

REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)


# Any text

SEPARATORS = " \t\u00a0\u202f-\u2011\u2013\u2212./()\u200b\u200e\u202c\ufeff"
TEXTS = st.text(st.sampled_from("0123456789++() ;:.-/abtel=\u0664\uff10\uff0b\ufeff\x00\n")) | st.text()


@pytest.mark.slow("runs many examples")
@settings(max_examples=examples(1000))
@given(raw=TEXTS, region=st.sampled_from(REGIONS))
def test_any_text_is_refused_or_has_a_stable_normal_form(raw, region):
    try:
        normal = normalise(raw, region)
    except PhoneError:
        return

    assert re.fullmatch(r"\+?[0-9]{1,20}", normal)
    assert normalise(normal, region) == normal


@pytest.mark.slow("runs many examples")
@settings(max_examples=examples(1000))
@given(
    digits=st.text(st.sampled_from("123456789"), min_size=1, max_size=15),
    separators=st.lists(st.text(st.sampled_from(SEPARATORS), max_size=3), min_size=17, max_size=17),
    sign=st.sampled_from(["", "+", "00", "+48", "+1", "+44"]),
    region=st.sampled_from(REGIONS),
)
def test_separators_never_change_a_number(digits, separators, sign, region):
    spelled = sign + "".join(map(str.__add__, separators, digits))

    assume(len(spelled) <= phone.MAX_RAW_LENGTH)

    assert normalise(spelled, region) == normalise(sign + digits, region)


# Real input


def test_every_spelling_of_every_real_number_agrees():
    disagreeing = [
        number
        for number in real_numbers()
        if normalise(number.number, "PL" if number.region == NO_COUNTRY else number.region) != number.expected
    ]

    assert disagreeing == []


@pytest.mark.parametrize("kind", ["international", "rfc3966"])
def test_a_real_number_with_its_calling_code_is_the_same_from_everywhere(kind):
    numbers = [number for number in real_numbers() if number.kind == kind]

    for region in ("PL", "US", "AU", "BR", "RU"):
        assert [n for n in numbers if normalise(n.number, region) != n.expected] == []


def test_real_numbers_cover_every_region_and_entity_in_three_spellings():
    kinds: dict[str, set[str]] = {}
    for number in real_numbers():
        kinds.setdefault(number.region, set()).add(number.kind)

    assert kinds == {
        **{region: {"international", "national", "rfc3966"} for region in REGIONS},
        NO_COUNTRY: {"international", "rfc3966"},
    }
