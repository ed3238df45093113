"""Strict readers of the values in requests and imported files. They raise Reject for a value they cannot read."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.http import QueryDict

from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.times import zone

INT32, INT64 = 2**31 - 1, 2**63 - 1
_SURROGATES = re.compile("[\ud800-\udfff]")


class Reject(Exception):
    """A value that cannot be read. Its faults name no field: the caller adds it.

    A list or map has a fault for each entry that cannot be read; `readable` holds the other entries.
    """

    def __init__(
        self, code: ErrorCode, path: str = "", *, faults: Sequence[Fault] = (), readable: Any = None, **params: Any
    ) -> None:
        self.faults = list(faults) or [Fault(code, path, params)]
        self.fault = self.faults[0]
        self.readable = readable
        super().__init__(code.slug)

    @classmethod
    def of_entries(cls, faults: Sequence[Fault], readable: Any) -> "Reject":
        return cls(faults[0].code, faults=faults, readable=readable)


def parse_date(text: Any) -> date:
    if isinstance(text, str) and len(text := text.strip()) == 10 and _is_spelled(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise Reject(ErrorCode.NOT_DATE)


def _is_spelled(text: str) -> bool:
    """Accept dashes, a blank and colons, without a zone. Python reads more of ISO 8601 than that."""
    colons = text[13:14] + text[16:17]
    return text[4] == text[7] == "-" and text[10:11] in ("", " ") and colons in ("", ":", "::") and text.isascii()


def parse_instant(text: Any, *, is_upper_bound: bool = False, code: ErrorCode = ErrorCode.NOT_INSTANT) -> datetime:
    """Read a wall-clock time of the configured zone and return it in UTC.

    A time in the gap of spring is shifted forward; a time that occurs twice in autumn is the first of the two.
    An upper bound without a time or without seconds includes that whole day or minute, to the last microsecond.
    """
    if not isinstance(text, str) or len(text := text.strip()) not in (10, 16, 19) or not _is_spelled(text):
        raise Reject(code)
    try:
        wall = datetime.fromisoformat(text)
        if is_upper_bound and len(text) < 19:
            wall += (timedelta(days=1) if len(text) == 10 else timedelta(minutes=1)) - timedelta(microseconds=1)
        # fold=0 means the first of two equal times, and in a gap the offset before it.
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


def is_storable(text: str) -> bool:
    """Return whether PostgreSQL can store the text: it refuses NUL and half a surrogate pair."""
    return "\0" not in text and not _SURROGATES.search(text)


def parse_text(value: Any, limit: int | None = None, *, trim: bool = True) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise Reject(ErrorCode.NOT_TEXT)
    if trim:
        value = value.strip()
    if not is_storable(value):
        raise Reject(ErrorCode.NUL)
    if limit is not None and len(value) > limit:
        raise Reject(ErrorCode.TOO_LONG, limit=limit)
    return str(value)


def query_list(params: QueryDict, name: str) -> list[str]:
    """Return the values of a list in any spelling: `name[]=1&name[]=2`, `name=1&name=2`, `name[0]=1&name[1]=2`."""
    numbered = list_key(name)
    return [value for key in params if numbered.match(key) for value in params.getlist(key) if value != ""]


def list_key(name: str) -> re.Pattern[str]:
    return re.compile(rf"\A{re.escape(name)}(\[\d*\])?\Z")


def map_key(name: str) -> re.Pattern[str]:
    """Return the pattern of the keys of a map; its group `name` is the name of the entry."""
    return re.compile(rf"\A{re.escape(name)}\[(?P<name>.+?)\](\[\d*\])?\Z", re.DOTALL)


def parse_id(text: str) -> int:
    """Read an id. Ids beyond the column's range become its last value, which no row has."""
    return max(min(parse_integer(text, -(10**30), 10**30), INT64), -INT64)
