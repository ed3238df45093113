from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from rest_framework import serializers

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import Reject


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
