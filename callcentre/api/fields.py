"""DRF fields that read the wire's values strictly and raise Reject for others; the OpenAPI document knows them."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from rest_framework import serializers

from callcentre.core.errors import ErrorCode, Readable
from callcentre.core.parsing import (
    INT32,
    INT64,
    Reject,
    parse_boolean,
    parse_date,
    parse_instant,
    parse_integer,
    parse_text,
)

# What a field tells the documents alone: verbs fill in defaults.
_NOTED = ("example", "default", "minItems")


class _Wire(serializers.Field[Any, Any, Any, Any]):
    """A field with what the documents say of it: a sentence, an example, and the faults of its rules."""

    # The input that reads the value, of an object.
    nested: Any = None

    def __init__(self, sentence: str = "", *, errors: Sequence[ErrorCode] = (), **kwargs: Any) -> None:
        self.note = {"description": sentence} | {key: kwargs.pop(key) for key in _NOTED if key in kwargs}
        self.errors = errors
        super().__init__(**kwargs)


class TextField(_Wire, serializers.CharField):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("allow_blank", not kwargs.get("required", False))
        super().__init__(*args, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        return parse_text(data, self.max_length, trim=self.trim_whitespace)


class _EmptyIsNone(_Wire):
    """A field that reads "" as None."""

    def to_internal_value(self, data: Any) -> Any:
        return None if data == "" else self.parse(data)

    def parse(self, data: Any) -> Any:
        raise NotImplementedError


class IntegerField(_EmptyIsNone, serializers.IntegerField):
    def parse(self, data: Any) -> int:
        low = -INT32 - 1 if self.min_value is None else self.min_value
        return parse_integer(data, low, INT32 if self.max_value is None else self.max_value)


class IdField(_EmptyIsNone, serializers.IntegerField):
    """A primary key: a number, or a string of digits; "" is None. Impossible ids become 0, which no row has."""

    def parse(self, data: Any) -> int:
        try:
            return parse_integer(data, 0)
        except Reject as reject:
            if reject.fault.code is ErrorCode.OUT_OF_RANGE:
                return 0
            raise


class NumberField(_EmptyIsNone, serializers.FloatField):
    def parse(self, data: Any) -> float:
        if isinstance(data, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,30}(\.[0-9]{0,30})?\s*", data):
            data = float(data)
        if not isinstance(data, int | float) or isinstance(data, bool):
            raise Reject(ErrorCode.NOT_NUMBER)
        low, high = float(self.min_value or 0), float(INT64 if self.max_value is None else self.max_value)
        if not low <= data <= high:
            raise Reject(ErrorCode.OUT_OF_RANGE, low=f"{low:g}", high=f"{high:g}")
        return float(data)


class BooleanField(_Wire, serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        return parse_boolean(data)


class DateField(_EmptyIsNone, serializers.DateField):
    def parse(self, data: Any) -> date:
        return parse_date(data)


class InstantField(_EmptyIsNone, serializers.CharField):
    """`YYYY-MM-DD hh:mm`, read as an instant; "" is None."""

    def parse(self, data: Any) -> datetime:
        return parse_instant(data, code=ErrorCode.NOT_MINUTE)


class ChoiceField(_EmptyIsNone, serializers.ChoiceField):
    """One of the choices; "" is None."""

    def parse(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise Reject(ErrorCode.NOT_CHOICE, choices=", ".join(map(str, self.choices)))
        return data


class ListField(_Wire, serializers.ListField):
    """An array whose entries `child` reads; faults name the entry (`logins.2`)."""

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
            raise Reject.of_entries(faults, Readable(values.values(), list(values)))
        return list(values.values())


class TextMapField(_Wire, serializers.DictField):
    """An object of name -> text; null clears a text as "" does."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if isinstance(data, list) and not data:
            return {}  # PHP's form of an empty map
        if not isinstance(data, Mapping):
            raise Reject(ErrorCode.NOT_OBJECT)
        values, faults = {}, []
        for name, value in data.items():
            try:
                values[name] = parse_text("" if value is None else value, 10_000, trim=False)
            except Reject as reject:
                faults += [fault.under(str(name)) for fault in reject.faults]
        if faults:
            raise Reject.of_entries(faults, values)
        return values
