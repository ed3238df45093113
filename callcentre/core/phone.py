"""The normal form of phone numbers, which is the same for every spelling of a number.

Look-ups, duplicates, batches and URL paths compare normal forms; the caller also stores the number as sent. The normal
form is E.164 if the number is possible, else its digits with a leading ``+`` kept, so that extensions and short numbers
work ("101" stays "101"). "Possible" is ``phonenumbers.is_possible_number``: the length fits the numbering plan.

The library reads digits; this module makes digits of a text first, so that letters and other characters are refused.
One difference to the library is intended: the normal form of a normal form is itself, while the library strips a trunk
prefix again each time it reads a malformed number ("+44 0 0…").
"""

import re
import unicodedata
from itertools import chain

import phonenumbers
from django.conf import settings
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, NumberParseException, PhoneMetadata, PhoneNumberFormat

from callcentre.core.errors import ErrorCode, Fault

MAX_RAW_LENGTH = 64
MAX_DIGITS = 20
# A sign and MAX_DIGITS digits: the length of the longest normal form.
MAX_NORMAL_LENGTH = MAX_DIGITS + 1


class PhoneError(ValueError):
    """The text is no phone number, for the reason of the code."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.slug)
        self.code = code

    def fault(self, field: str) -> Fault:
        return Fault(self.code, field)


def normalise(raw: str, region: str | None = None) -> str:
    """Return the normal form of ``raw``, read in ``region`` (``DEFAULT_REGION``).

    Raise PhoneError for a text that cannot be a number, and LookupError for an unknown region: with a mistyped setting,
    every national number would be stored as bare digits.
    """
    if len(raw) > MAX_RAW_LENGTH:
        raise PhoneError(ErrorCode.PHONE_TOO_LONG)
    clean = raw.translate(_SPELLING)
    digits = clean[1:] if clean[:1] == "+" else clean
    region = settings.DEFAULT_REGION if region is None else region
    if not is_region(region):
        raise LookupError(f"There is no numbering plan for {region!r}.")
    if not digits.isdecimal():
        return _normalise_unusual(clean, region)
    if len(digits) > MAX_DIGITS:
        raise PhoneError(ErrorCode.PHONE_TOO_LONG)
    return _e164(clean, region) or clean


def normalise_prefix(raw: str) -> str | None:
    """Return the beginning of normal forms that the text means, from the country code on; None if it is none."""
    clean = _without_parentheses(raw.strip().translate(_SPELLING))
    digits = clean[1:] if clean[:1] == "+" else clean.removeprefix("00")
    return f"+{digits}" if digits.isdecimal() and digits[0] != "0" and len(digits) <= 15 else None


def calling_code(number: str) -> str:
    """Return the calling code of a number in its normal form; "" for an extension or a short number."""
    return _code_of(number[1:]) if number[:1] == "+" else ""


def is_valid(number: str) -> bool:
    """Return whether a number in its normal form is one of its country's numbering plan, not only as long as one."""
    return number[:1] == "+" and phonenumbers.is_valid_number(phonenumbers.parse(number))


def is_region(region: str) -> bool:
    """Return whether national numbers of this ISO 3166 code (capitals) can be read."""
    return region in phonenumbers.SUPPORTED_REGIONS


def warm_up() -> None:
    """Load every numbering plan, so that no request waits for the first number of a country."""
    for region in phonenumbers.SUPPORTED_REGIONS:
        PhoneMetadata.metadata_for_region(region)


# From text to digits

# Soft hyphen, joiners, direction marks, byte order mark: spreadsheets add them to numbers.
_INVISIBLE = "\u00ad\u061c\u180e\u2060\u2061\u2062\u2063\u2064\ufeff" + "".join(
    map(chr, chain(range(0x200B, 0x2010), range(0x202A, 0x202F), range(0x2066, 0x206A)))
)
# Dashes that Unicode does not count as dashes: minus, hyphen bullet, the long-vowel mark of Japanese keyboards. Then
# full stops, middle dot, slashes.
_OTHER_SEPARATORS = "\t\u2212\u2043\u30fc\uff70.\uff0e\u2024\u00b7/\uff0f\u2215\u2044"


class _Spelling(dict[int, int | str | None]):
    """Return a table for str.translate that drops separators and makes digits, plus and parentheses ASCII.

    All other characters stay and are refused by name. Parentheses stay because "(0)" has a meaning. All of ASCII is
    listed, because a missing key costs an exception for each character.
    """

    def __init__(self) -> None:
        super().__init__({code: code for code in range(128)})
        self.update(dict.fromkeys(map(ord, " -" + _OTHER_SEPARATORS + _INVISIBLE)))
        self.update({0xFF0B: "+", 0xFE62: "+", 0xFF08: "(", 0xFF09: ")", 0xFF1B: ";", 0xFF1A: ":"})

    def __missing__(self, code: int) -> int | str | None:
        character = chr(code)
        if character.isdecimal():
            return str(unicodedata.decimal(character))
        return None if unicodedata.category(character) in {"Zs", "Pd"} else code


_SPELLING = _Spelling()
_PHONE_CONTEXT = re.compile(r"phonecontext=\(*\+([()0-9]*)", re.IGNORECASE)


def _normalise_unusual(clean: str, region: str) -> str:
    """Read texts with more than digits: ``tel:``, parameters, parentheses. Refuse all other characters by name."""
    number, *parameters = clean.strip().split(";")
    if number[:4].lower() == "tel:":
        number = number[4:]
    if any(map(str.isalpha, number)):
        raise PhoneError(ErrorCode.PHONE_LETTERS)
    before_zero, zero, after_zero = number.partition("(0)")
    before_zero, number = _without_parentheses(before_zero), _without_parentheses(number)
    digits = number.removeprefix("+")
    # Control characters and half surrogates are refused in parameters too: PostgreSQL cannot store them.
    if (digits and not digits.isdecimal()) or not all(map(str.isprintable, parameters)):
        raise PhoneError(ErrorCode.PHONE_INVALID)
    if not digits:
        raise PhoneError(ErrorCode.EMPTY)
    if len(digits) > MAX_DIGITS:
        raise PhoneError(ErrorCode.PHONE_TOO_LONG)

    if not number.startswith("+"):
        for context in filter(None, map(_PHONE_CONTEXT.fullmatch, parameters)):
            region, completed = _in_context(number, _without_parentheses(context[1]), region)
            if completed:
                return completed
    after_zero = _without_parentheses(after_zero)
    if zero and after_zero and _is_before_national_number(before_zero, region):
        return _with_optional_zero(number, before_zero + after_zero, region)
    return _e164(number, region) or number


def _without_parentheses(text: str) -> str:
    return text.replace("(", "").replace(")", "")


def _in_context(number: str, context: str, region: str) -> tuple[str, str | None]:
    """Return the region of an RFC 3966 phone-context, or the number's E.164.

    "tel:7042;phone-context=+1-914-555" is a local number of that context. A context may be just a country code, whose
    people dial trunk zeros; such a context only chooses the region. A longer context is first tried as a prefix, then
    read like its calling code. A domain or an unknown code leaves the region unchanged.
    """
    if not (code := _code_of(context)):
        return region, None
    main_region = _REGIONS[code][0]
    if context != code or not is_region(main_region):
        completed = _e164(f"+{context}{number}", region)
        if completed or not is_region(main_region):
            return region, completed
    return (region if region in _REGIONS[code] else main_region), None


def _is_before_national_number(before: str, region: str) -> bool:
    """Return whether this is "" or a calling code, so that a national number follows."""
    if before[:1] == "+":
        before = before[1:]
    elif exit_code := re.match(_exit_code(region), before):
        before = before[exit_code.end() :]
    return not before or before in _REGIONS


def _exit_code(region: str) -> str:
    """Return the pattern of what is dialled before a calling code: 00, 011, 810."""
    metadata = PhoneMetadata.metadata_for_region(region)
    return (metadata and metadata.international_prefix) or "(?!)"


def _with_optional_zero(with_zero: str, without_zero: str, region: str) -> str:
    """Read "+44 (0)20 …": the zero is dialled only within the country, unless it belongs to the number as in Italy.

    The library drops a zero that is the country's trunk prefix today. It keeps others, which is right for +39 (0)6 and
    wrong for +48 (0)22 (Poland gave up its trunk zero in 2009): here validity decides.
    """
    kept, dropped = _e164(with_zero, region), _e164(without_zero, region)
    if kept == dropped or dropped is None or _is_valid(with_zero, region):
        return kept or with_zero
    return dropped


def _is_valid(number: str, region: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except NumberParseException:
        return False


# From digits to E.164

# Regions by calling code, the main one first. No calling code is the beginning of another.
_REGIONS = {str(code): regions for code, regions in COUNTRY_CODE_TO_REGION_CODE.items()}


def _code_of(digits: str) -> str:
    """Return the calling code with which the digits begin; "" for none."""
    return next((digits[:size] for size in (1, 2, 3) if digits[:size] in _REGIONS), "")


def _e164(number: str, region: str) -> str | None:
    """Return the E.164 of digits with or without a plus, read in the region; None if not possible."""
    if (reading := _reading_of(number, region)) is None:
        return None
    while reading != number:
        # Read the result again until it no longer changes.
        number, reading = reading, _reading_of(reading, region) or reading
    return number


def _reading_of(number: str, region: str) -> str | None:
    try:
        parsed = phonenumbers.parse(number, region)
    except NumberParseException:
        return None
    is_possible = phonenumbers.is_possible_number(parsed)
    return phonenumbers.format_number(parsed, PhoneNumberFormat.E164) if is_possible else None
