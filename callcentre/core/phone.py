"""The normal form of phone numbers, which is the same for every spelling of a number.

Look-ups, duplicates, batches and URL paths compare normal forms; the caller also stores the number as sent. The normal
form is E.164 if the number is possible, else its digits with a leading ``+`` kept, so that extensions and short numbers
work ("101" stays "101"). "Possible" is ``phonenumbers.is_possible_number``: the length fits the numbering plan.

An import normalises millions of numbers, and ``phonenumbers.parse`` spends most of its time on finding numbers in
prose. This module reduces the text to digits first and repeats the rest of ``parse`` over the same metadata, compiled
once per region. Tests compare both for all regions. One difference is intended: the normal form of a normal form is
itself, while the library strips a trunk prefix again each time it reads a malformed number ("+44 0 0…").

No lock is needed: a plan is built completely and then stored, so two threads can only build the same plan twice.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import chain

import phonenumbers
from django.conf import settings
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata

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
        """The message for the client."""
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
    plan = _region_plan(settings.DEFAULT_REGION if region is None else region)
    if not digits.isdecimal():
        return _normalise_unusual(clean, plan)
    if len(digits) > MAX_DIGITS:
        raise PhoneError(ErrorCode.PHONE_TOO_LONG)
    return _e164(clean, plan) or clean


def normalise_prefix(raw: str) -> str | None:
    """Return the beginning of normal forms that the text means, from the country code on; None if it is none."""
    clean = _without_parentheses(raw.strip().translate(_SPELLING))
    digits = clean[1:] if clean[:1] == "+" else clean.removeprefix("00")
    return f"+{digits}" if digits.isdecimal() and digits[0] != "0" and len(digits) <= 15 else None


def calling_code(number: str) -> str:
    """Return the calling code of a number in its normal form; "" for an extension or a short number."""
    plan = _calling_code_plan(number[1:4]) if number[:1] == "+" else None
    return plan.calling_code if plan else ""


def is_valid(number: str) -> bool:
    """Return whether a number in its normal form is one of its country's numbering plan, not only as long as one."""
    return number[:1] == "+" and phonenumbers.is_valid_number(phonenumbers.parse(number))


def is_region(region: str) -> bool:
    """Return whether national numbers of this ISO 3166 code (capitals) can be read."""
    return region in phonenumbers.SUPPORTED_REGIONS


def warm_up() -> None:
    """Load every numbering plan, so that no request waits for the first number of a country."""
    for region in phonenumbers.SUPPORTED_REGIONS:
        _region_plan(region)
    for start in range(1000):
        _calling_code_plan(f"{start:03}")


# --- From text to digits -------------------------------------------------------------------------

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


def _normalise_unusual(clean: str, plan: "_Plan") -> str:
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
            plan, completed = _in_context(number, _without_parentheses(context[1]), plan)
            if completed:
                return completed
    after_zero = _without_parentheses(after_zero)
    if zero and after_zero and _is_before_national_number(before_zero, plan):
        return _with_optional_zero(number, before_zero + after_zero, plan)
    return _e164(number, plan) or number


def _without_parentheses(text: str) -> str:
    return text.replace("(", "").replace(")", "")


def _in_context(number: str, context: str, plan: "_Plan") -> tuple["_Plan", str | None]:
    """Return the plan of an RFC 3966 phone-context, or the number's E.164.

    "tel:7042;phone-context=+1-914-555" is a local number of that context. A context may be just a country code, whose
    people dial trunk zeros; such a context only chooses the plan. A longer context is first tried as a prefix, then
    read like its calling code. A domain or an unknown code leaves the plan unchanged.
    """
    context_plan = _calling_code_plan(context)
    if context_plan is None:
        return plan, None
    if context != context_plan.calling_code or not context_plan.is_geographic:
        completed = _international(context + number)
        if completed or not context_plan.is_geographic:
            return plan, completed
    return (plan if plan.calling_code == context_plan.calling_code else context_plan), None


def _is_before_national_number(before: str, plan: "_Plan") -> bool:
    """Return whether this is "" or a calling code, so that a national number follows."""
    if not before:
        return True
    if before[0] == "+":
        before = before[1:]
    elif plan.exit_code and (exit_code := plan.exit_code.match(before)):
        before = before[exit_code.end() :]
    country = _calling_code_plan(before)
    return country is not None and country.calling_code == before


def _with_optional_zero(with_zero: str, without_zero: str, plan: "_Plan") -> str:
    """Read "+44 (0)20 …": the zero is dialled only within the country, unless it belongs to the number as in Italy.

    The library drops a zero that is the country's trunk prefix today. It keeps others, which is right for +39 (0)6 and
    wrong for +48 (0)22 (Poland gave up its trunk zero in 2009): here validity decides.
    """
    kept, dropped = _e164(with_zero, plan), _e164(without_zero, plan)
    if kept == dropped or dropped is None or _is_valid(with_zero, plan):
        return kept or with_zero
    return dropped


def _is_valid(number: str, plan: "_Plan") -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, plan.region))
    except phonenumbers.NumberParseException:
        return False


# --- From digits to E.164 ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parts of one region's metadata that ``phonenumbers.parse`` uses, compiled once."""

    region: str
    calling_code: str
    is_geographic: bool
    exit_code: re.Pattern[str] | None  # dialled before a calling code: 00, 011, 810
    trunk_prefix: re.Pattern[str] | None  # may contain carrier codes
    trunk_rewrite: str | None  # replaces what the last group of trunk_prefix matched
    general: re.Pattern[str]
    full_lengths: frozenset[int]
    possible_lengths: frozenset[int]  # full_lengths, and numbers dialled without area code
    longest: int

    def is_too_long(self, number: str) -> bool:
        return len(number) > self.longest and len(number) not in self.possible_lengths

    def without_trunk_prefix(self, number: str) -> str:
        """Strip the national prefix as the library does, unless a valid number would become invalid."""
        if self.trunk_prefix is None or not (match := self.trunk_prefix.match(number)):
            return number
        if self.trunk_rewrite and match.groups()[-1] is not None:
            rest = self.trunk_prefix.sub(self.trunk_rewrite, number, count=1)
        else:
            rest = number[match.end() :]
        if self.general.fullmatch(number) and not self.general.fullmatch(rest):
            return number
        return rest

    def national_number(self, number: str) -> str:
        """Return the number without its trunk prefix, unless the remainder is too short."""
        rest = self.without_trunk_prefix(number)
        if len(rest) in self.full_lengths or self.is_too_long(rest):
            return rest
        return number


# Regions by calling code, the main one first. No calling code is the beginning of another.
_REGIONS = {str(code): regions for code, regions in COUNTRY_CODE_TO_REGION_CODE.items()}
_plans_by_region: dict[str, _Plan] = {}
# Calling codes by the first three digits after the plus; None if no calling code starts so.
_plans_by_start: dict[str, _Plan | None] = {}


def _region_plan(region: str) -> _Plan:
    plan = _plans_by_region.get(region)
    if plan is None:
        plan = _plans_by_region[region] = _compile(PhoneMetadata.metadata_for_region(region), region)
    return plan


def _calling_code_plan(digits: str) -> _Plan | None:
    """Return the plan of the calling code at the start of ``digits``: its main region's, or its own."""
    start = digits[:3]
    if start in _plans_by_start:
        return _plans_by_start[start]
    plan = None
    for calling_code in (start[:1], start[:2], start):
        regions = _REGIONS.get(calling_code)
        if regions and regions[0] in phonenumbers.SUPPORTED_REGIONS:
            plan = _region_plan(regions[0])
        elif regions:
            metadata = PhoneMetadata.metadata_for_nongeo_region(int(calling_code))
            plan = _compile(metadata, calling_code)
    _plans_by_start[start] = plan
    return plan


def _compile(metadata: PhoneMetadata | None, name: str) -> _Plan:
    general = metadata.general_desc if metadata else None
    if metadata is None or general is None or general.national_number_pattern is None:
        raise LookupError(f"There is no numbering plan for {name!r}.")
    return _Plan(
        region=metadata.id,
        calling_code=str(metadata.country_code),
        is_geographic=metadata.id in phonenumbers.SUPPORTED_REGIONS,
        exit_code=_pattern(metadata.international_prefix),
        trunk_prefix=_pattern(metadata.national_prefix_for_parsing),
        trunk_rewrite=metadata.national_prefix_transform_rule,
        general=re.compile(general.national_number_pattern),
        full_lengths=frozenset(general.possible_length),
        possible_lengths=frozenset((*general.possible_length, *general.possible_length_local_only)),
        longest=general.possible_length[-1],
    )


def _pattern(expression: str | None) -> re.Pattern[str] | None:
    return re.compile(expression) if expression else None


def _e164(number: str, plan: _Plan) -> str | None:
    """Return the E.164 of digits with or without a plus, read in the plan's region; None if not possible."""
    if number[0] == "+":
        if _calling_code_plan(number[1:4]) is None:
            return _slow_e164(number, plan)
        return _international(number[1:])

    if plan.exit_code and (exit_code := plan.exit_code.match(number)):
        rest = number[exit_code.end() :]
        # No calling code starts with 0: this is a national number that starts like an exit code.
        if rest[:1] != "0":
            return _international(rest)
    main_plan = _calling_code_plan(plan.calling_code) or plan
    if number.startswith(plan.calling_code):
        # A calling code without plus, if the digits are valid only with it.
        rest = plan.without_trunk_prefix(number[len(plan.calling_code) :])
        if plan.is_too_long(number) or (not plan.general.fullmatch(number) and plan.general.fullmatch(rest)):
            return _complete(main_plan.national_number(rest), main_plan)
    return _complete(plan.national_number(number), main_plan)


def _international(digits: str) -> str | None:
    """Return the E.164 of digits that start with a calling code; None if not possible."""
    plan = _calling_code_plan(digits)
    if plan is None:
        return None
    return _complete(plan.national_number(digits[len(plan.calling_code) :]), plan)


def _complete(number: str, plan: _Plan) -> str | None:
    if len(number) not in plan.possible_lengths:
        return None
    # Read the result again until it no longer changes.
    while len(shorter := plan.national_number(number)) < len(number):
        number = shorter
    return f"+{plan.calling_code}{number}"


def _slow_e164(number: str, plan: _Plan) -> str | None:
    """Return the library's own reading, for its second attempt after a plus without calling code."""
    try:
        parsed = phonenumbers.parse(number, plan.region)
    except phonenumbers.NumberParseException:
        return None
    main_plan = _calling_code_plan(str(parsed.country_code)) or plan
    return _complete(phonenumbers.national_significant_number(parsed), main_plan)
