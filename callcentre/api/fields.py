"""Wire formats: how a value is spelled in a request and in an answer.

The fields read strictly typed values, raise Reject for what they cannot read, and are DRF fields so that the OpenAPI
document knows them. The functions write.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from rest_framework import serializers

from callcentre.core.errors import ErrorCode, Fault, Readable

INT32, INT64 = 2**31 - 1, 2**63 - 1
_SURROGATES = re.compile("[\ud800-\udfff]")


class Reject(Exception):
    """This value cannot be read: the fault without its field, which the reader of the body knows."""

    def __init__(self, code: ErrorCode, path: str = "", **params: Any) -> None:
        self.fault = Fault(code, path, params)
        super().__init__(code.slug)

    @property
    def faults(self) -> list[Fault]:
        return [self.fault]


class RejectEntries(Reject):
    """Entries of a list or map cannot be read: a fault for each; `readable` holds the others."""

    def __init__(self, faults: list[Fault], readable: Any) -> None:
        super().__init__(faults[0].code, faults[0].field, **faults[0].params)
        self._faults = faults
        self.readable = readable

    @property
    def faults(self) -> list[Fault]:
        return self._faults


@lru_cache(maxsize=1)
def zone() -> ZoneInfo:
    """The one zone in which the wire's times are wall-clock times."""
    return ZoneInfo(settings.TIME_ZONE)


# Answers


def minute(instant: datetime | None) -> str:
    """`YYYY-MM-DD hh:mm` in the configured zone, "" for none."""
    return second(instant)[:16]


def second(instant: datetime | None) -> str:
    """`YYYY-MM-DD hh:mm:ss` in the configured zone, "" for none."""
    if not instant:
        return ""
    at = instant.astimezone(zone())
    # A page has hundreds of them; other ways of saying it take half as long again, or twice.
    return "%04d-%02d-%02d %02d:%02d:%02d" % (at.year, at.month, at.day, at.hour, at.minute, at.second)  # noqa: UP031


def day(value: date | None) -> str:
    return value.isoformat() if value else ""


# Requests


def parse_date(text: Any) -> date:
    if isinstance(text, str) and len(text := text.strip()) == 10 and _is_spelled(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise Reject(ErrorCode.NOT_DATE)


def _is_spelled(text: str) -> bool:
    """Of what ISO 8601 allows, and Python reads, only our spellings: with dashes, a blank and colons, no zone."""
    colons = text[13:14] + text[16:17]
    return text[4] == text[7] == "-" and text[10:11] in ("", " ") and colons in ("", ":", "::") and text.isascii()


def parse_instant(text: Any, *, is_upper_bound: bool = False, code: ErrorCode = ErrorCode.NOT_INSTANT) -> datetime:
    """A wall-clock time of the configured zone, in UTC.

    A time that the spring gap skips is shifted forward; of one that comes twice in autumn the first is meant. An
    upper bound that is a date, or has no seconds, includes all of that day or minute: the last microsecond is meant.
    """
    if not isinstance(text, str) or len(text := text.strip()) not in (10, 16, 19) or not _is_spelled(text):
        raise Reject(code)
    try:
        wall = datetime.fromisoformat(text)
        if is_upper_bound and len(text) < 19:
            wall += (timedelta(days=1) if len(text) == 10 else timedelta(minutes=1)) - timedelta(microseconds=1)
        # fold=0: the first of two; in a gap, the offset before it, which lands after it.
        return wall.replace(tzinfo=zone()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Reject(code) from error


def parse_integer(value: Any, low: int = -INT64 - 1, high: int = INT64) -> int:
    is_digits = isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,30}\s*", value)
    if is_digits or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Reject(ErrorCode.NOT_INTEGER)
    if not low <= value <= high:
        raise Reject(ErrorCode.OUT_OF_RANGE, low=low, high=high)
    return value


def parse_boolean(value: Any) -> bool:
    text = value.strip().lower() if isinstance(value, str) else value
    if text in ("true", "1") or text is True or (text == 1 and not isinstance(text, float)):
        return True
    if text in ("false", "0") or text is False or (text == 0 and not isinstance(text, float)):
        return False
    raise Reject(ErrorCode.NOT_BOOLEAN)


def parse_text(value: Any, limit: int | None = None, *, trim: bool = True) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise Reject(ErrorCode.NOT_TEXT)
    if trim:
        value = value.strip()
    if "\0" in value or _SURROGATES.search(value):
        raise Reject(ErrorCode.NUL)
    if limit is not None and len(value) > limit:
        raise Reject(ErrorCode.TOO_LONG, limit=limit)
    return str(value)


class TextField(serializers.CharField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("allow_blank", not kwargs.get("required", False))
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        return parse_text(data, self.max_length, trim=self.trim_whitespace)


class IntegerField(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int | None:  # type: ignore[override]  # "" is none
        if data == "":
            return None
        low = -INT32 - 1 if self.min_value is None else self.min_value
        return parse_integer(data, low, INT32 if self.max_value is None else self.max_value)


class IdField(serializers.IntegerField):
    """A primary key: a number, or a string of digits; "" is none. One that cannot exist reads as 0, which none has."""

    def to_internal_value(self, data: Any) -> int | None:  # type: ignore[override]  # "" is none
        if data == "":
            return None
        try:
            return parse_integer(data, 0)
        except Reject as reject:
            if reject.fault.code is ErrorCode.OUT_OF_RANGE:
                return 0
            raise


class NumberField(serializers.FloatField):
    def to_internal_value(self, data: Any) -> float | None:  # type: ignore[override]  # "" is none
        if data == "":
            return None
        if isinstance(data, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,30}(\.[0-9]{0,30})?\s*", data):
            data = float(data)
        if not isinstance(data, int | float) or isinstance(data, bool):
            raise Reject(ErrorCode.NOT_NUMBER)
        low, high = float(self.min_value or 0), float(INT64 if self.max_value is None else self.max_value)
        if not low <= data <= high:
            raise Reject(ErrorCode.OUT_OF_RANGE, low=f"{low:g}", high=f"{high:g}")
        return float(data)


class BooleanField(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        return parse_boolean(data)


class DateField(serializers.DateField):
    def to_internal_value(self, value: Any) -> date | None:  # type: ignore[override]
        return None if value == "" else parse_date(value)


class InstantField(serializers.CharField):
    """`YYYY-MM-DD hh:mm`, read as an instant; "" is none."""

    def to_internal_value(self, data: Any) -> datetime | None:  # type: ignore[override]
        if data == "":
            return None
        return parse_instant(data, code=ErrorCode.NOT_MINUTE)


class ChoiceField(serializers.ChoiceField):
    """One of some words; "" is none."""

    def to_internal_value(self, data: Any) -> str | None:  # type: ignore[override]  # "" is none
        if data == "":
            return None
        if not isinstance(data, str) or data not in self.choices:
            raise Reject(ErrorCode.NOT_CHOICE, choices=", ".join(map(str, self.choices)))
        return data


class ListField(serializers.ListField):
    """An array of what `child` reads; faults name the entry (`logins.2`)."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise Reject(ErrorCode.NOT_LIST)
        if self.max_length is not None and len(data) > self.max_length:
            raise Reject(ErrorCode.TOO_MANY, limit=self.max_length)
        values, faults = {}, []
        for position, item in enumerate(data):
            try:
                if item is None or (isinstance(item, str) and not item.strip()):
                    raise Reject(ErrorCode.EMPTY)
                values[position] = self.child.to_internal_value(item)
            except Reject as reject:
                faults += [fault.under(str(position)) for fault in reject.faults]
        if faults:
            raise RejectEntries(faults, Readable(values.values(), list(values)))
        return list(values.values())


class TextMapField(serializers.DictField):
    """An object of name -> text; null clears as "" does."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if isinstance(data, list) and not data:
            return {}  # what PHP makes of an empty map
        if not isinstance(data, Mapping):
            raise Reject(ErrorCode.NOT_OBJECT)
        values, faults = {}, []
        for name, value in data.items():
            try:
                values[name] = parse_text("" if value is None else value, 10_000, trim=False)
            except Reject as reject:
                faults += [fault.under(str(name)) for fault in reject.faults]
        if faults:
            raise RejectEntries(faults, values)
        return values
