"""Real phone numbers of the whole world, each in its usual spellings.

A national spelling needs its region as the default; numbers of no country (+800 and the like, region 001) therefore
have none.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import phonenumbers
from phonenumbers import PhoneMetadata, PhoneNumber, PhoneNumberDesc, PhoneNumberFormat

NO_COUNTRY = phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY
SPELLINGS = {
    "international": PhoneNumberFormat.INTERNATIONAL,
    "national": PhoneNumberFormat.NATIONAL,
    "rfc3966": PhoneNumberFormat.RFC3966,
}


class RealNumber(NamedTuple):
    region: str
    kind: str
    number: str
    expected: str


def example_numbers() -> Iterator[tuple[str, PhoneNumber]]:
    """Yield the library's example of every number type of every region, then of every entity."""
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        examples = (
            phonenumbers.example_number_for_type(region, number_type)
            for number_type in sorted(phonenumbers.supported_types_for_region(region))
        )
        yield from ((region, example) for example in _distinct(examples))
    for calling_code in sorted(phonenumbers.COUNTRY_CODES_FOR_NON_GEO_REGIONS):
        of_entity = _distinct(_entity_examples(calling_code))
        yield from ((NO_COUNTRY, example) for example in of_entity)


def _entity_examples(calling_code: int) -> Iterator[PhoneNumber]:
    """Return the examples of entities: the library offers one each; its metadata has one per type."""
    metadata = PhoneMetadata.metadata_for_nongeo_region(calling_code)
    for description in vars(metadata).values():
        if isinstance(description, PhoneNumberDesc) and description.example_number:
            yield phonenumbers.parse(f"+{calling_code}{description.example_number}")


def _distinct(examples: Iterable[PhoneNumber | None]) -> Iterator[PhoneNumber]:
    """A landline is the example of several types that look alike."""
    seen = set()
    for example in examples:
        if example is not None and (e164 := _format(example, PhoneNumberFormat.E164)) not in seen:
            seen.add(e164)
            yield example


def real_numbers() -> Iterator[RealNumber]:
    for region, example in example_numbers():
        expected = _format(example, PhoneNumberFormat.E164)
        for kind, spelling in SPELLINGS.items():
            if not (region == NO_COUNTRY and kind == "national"):
                yield RealNumber(region, kind, _format(example, spelling), expected)


def _format(number: PhoneNumber, spelling: int) -> str:
    return str(phonenumbers.format_number(number, spelling))
