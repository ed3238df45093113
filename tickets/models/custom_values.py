"""Values of custom fields: given by name, stored by the id of the field, converted to its type."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from callcentre.core.errors import ErrorCode, Fault
from tickets.models.custom_field import CustomField

Value = str | int | float


class WrongValue(ValueError):
    def __init__(self, code: ErrorCode, **params: Any) -> None:
        self.code, self.params = code, params
        super().__init__(code.slug)


def parse(field: CustomField, raw: Any) -> Value | None:
    """Return the value as it is stored, or None for an empty one. Raise WrongValue if the field cannot hold it."""
    text = raw.strip() if isinstance(raw, str) else raw
    if text in ("", None):
        return None
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise WrongValue(ErrorCode.NOT_TEXT)
    if field.type == CustomField.Type.NUMBER:
        return _number(text)
    text = str(text)
    if "\0" in text:
        raise WrongValue(ErrorCode.NUL)
    if field.type == CustomField.Type.DATE:
        try:
            return date.fromisoformat(text).isoformat()
        except ValueError as error:
            raise WrongValue(ErrorCode.NOT_DATE) from error
    if field.type == CustomField.Type.CHOICE and text not in field.options:
        raise WrongValue(ErrorCode.CUSTOM_FIELD_OPTION, name=field.name, choices=", ".join(field.options))
    if len(text) > 10_000:
        raise WrongValue(ErrorCode.TOO_LONG, limit=10_000)
    return text


def _number(raw: str | float) -> Value:
    try:
        number = float(raw.replace(",", ".") if isinstance(raw, str) else raw)
    except (ValueError, OverflowError) as error:
        raise WrongValue(ErrorCode.NOT_NUMBER) from error
    if not abs(number) < 1e15:  # infinite, NaN, or too large for an exact float
        raise WrongValue(ErrorCode.NOT_NUMBER)
    return int(number) if number.is_integer() else number


def read(owner: str, given: Mapping[str, Any], before: Mapping[str, Value]) -> tuple[dict[str, Value], list[Fault]]:
    """Return all values of the owner after the given ones are set, and the faults. An empty value clears the field."""
    after, faults = dict(before), []
    fields = CustomField.objects.by_name(owner) if given else {}
    for name, raw in given.items():
        path = f"custom_fields.{name}"
        if (field := fields.get(name)) is None:
            faults.append(Fault(ErrorCode.CUSTOM_FIELD_UNKNOWN, path, {"name": name}))
            continue
        try:
            value = parse(field, raw)
        except WrongValue as wrong:
            faults.append(Fault(wrong.code, path, wrong.params))
            continue
        if value is None:
            after.pop(str(field.pk), None)
        else:
            after[str(field.pk)] = value
    return after, faults


def keys_by_name(owner: str) -> dict[str, str]:
    """Return the key in `custom_fields` of each active field by its name."""
    return {name: str(field.pk) for name, field in CustomField.objects.by_name(owner).items()}


def by_name(owner: str, values: Mapping[str, Value]) -> dict[str, Value | None]:
    """Return the values of all active fields by name, None for a field without a value."""
    return {name: values.get(key) for name, key in keys_by_name(owner).items()}
