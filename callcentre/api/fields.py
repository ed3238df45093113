"""DRF fields that read the wire's values strictly and raise Reject for others, and the inputs that they make up.

The OpenAPI document knows them.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any, ClassVar

from rest_framework import serializers

from callcentre.core.errors import ErrorCode, Fault, Invalid, Readable
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


class Input(serializers.Serializer[Any]):
    """The reader of a request body: it checks the types of all fields and reports all faults at once.

    Rules about several fields belong to the model: the verb gets the faults found here and raises them together with
    its own. `source` is the model's name of a field, used for values and faults; the view keeps `wire_names` to name
    the field as the client did. In the documents the examples of the fields make the example of a request, unless
    there is an `example`.
    """

    example: ClassVar[dict[str, Any]] = {}

    @classmethod
    @lru_cache
    def plan(cls) -> dict[str, Any]:
        return dict(cls().fields)

    @classmethod
    @lru_cache
    def wire_names(cls) -> dict[str, str]:
        return {field.source: name for name, field in cls.plan().items()}

    @classmethod
    def read(cls, data: Any, *, is_partial: bool = False) -> tuple[dict[str, Any], list[Fault]]:
        """Return the values by model name, and the faults. Missing and null mean the same: unchanged, or a default."""
        if not isinstance(data, Mapping):
            raise Invalid([Fault(ErrorCode.BODY_NOT_OBJECT)])
        values: dict[str, Any] = {}
        faults: list[Fault] = []
        for name, field in cls.plan().items():
            raw = data.get(name)
            if raw is None:
                if field.required and not is_partial:
                    faults.append(Fault(ErrorCode.EMPTY, field.source))
                continue
            try:
                value = field.to_internal_value(raw)
            except Reject as reject:
                faults += [fault.under(field.source) for fault in reject.faults]
                if reject.readable:  # the rules see the readable part
                    values[field.source] = reject.readable
                continue
            if field.required and value in ("", None):
                faults.append(Fault(ErrorCode.EMPTY, field.source))
            elif value is not None or is_partial:
                values[field.source] = value
        return values, faults
