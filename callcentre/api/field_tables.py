"""The API's side of a table of fields: inputs, answers, and the shapes of both in the documents."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callcentre.api import fields as wire
from callcentre.api import openapi
from callcentre.api.fields import Input
from callcentre.core.field_tables import NEVER, Field, Kind
from callcentre.core.parsing import INT32
from callcentre.core.times import minute

_INPUTS: Mapping[Kind, Callable[..., Any]] = {
    Kind.TEXT: lambda field, **more: wire.TextField(max_length=field.max_length, **more),
    Kind.CHOICE: lambda field, **more: wire.ChoiceField(choices=field.choices, **more),
    Kind.ID: lambda field, **more: wire.IdField(**more),
    Kind.TEXT_ID: lambda field, **more: wire.IdField(**more),
    Kind.INTEGER: lambda field, **more: wire.IntegerField(max_value=INT32, **more),
    Kind.BOOLEAN: lambda field, **more: wire.BooleanField(**more),
    Kind.MINUTE: lambda field, **more: wire.InstantField(**more),
    Kind.TEXTS: lambda field, **more: wire.ListField(
        child=wire.TextField(max_length=field.max_length), max_length=field.max_items, **more
    ),
    Kind.TEXT_MAP: lambda field, **more: wire.TextMapField(**more),
}
_WRITERS: Mapping[Kind, Callable[[Any], Any]] = {Kind.MINUTE: minute}


class TableInput(Input):
    """An input that accepts the fields of a table whose `inputs` name it."""

    table: tuple[Field, ...] = ()
    accepts = ""

    @classmethod
    def accepted(cls) -> dict[str, Field]:
        return {field.input_name or field.wire: field for field in cls.table if cls.accepts in field.inputs}

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for name, field in self.accepted().items():
            source = {} if name == field.name else {"source": field.name}
            example = {} if field.example == "" else {"example": field.example}
            sentence = f"{field.sentence} {field.input_note}".strip()
            fields[name] = _INPUTS[field.kind](
                field, sentence=sentence, errors=field.errors, required=field.is_required, **example, **source
            )
        return fields


def row_writer(fields: Iterable[Field]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the function that makes an answer of a row that `select_list` has selected."""
    plan = [(field.wire, _WRITERS.get(field.kind), field.unset) for field in fields if field.sql]

    def write_row(row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: unset if (value := row[name]) is None else write(value) if write else value
            for name, write, unset in plan
        }

    return write_row


def properties(fields: Iterable[Field]) -> Any:
    """Return the properties of an answer for the API's documents."""
    return {field.wire: property_of(field) for field in fields if field.sql}


def property_of(field: Field) -> openapi.Schema:
    sentence, example = field.sentence, field.example
    match field.kind:
        case Kind.MINUTE:
            return openapi.minute(sentence, example)
        case Kind.INTEGER if field.unset == "":
            types = [{"type": "integer"}, {"type": "string", "maxLength": 0}]
            return {"oneOf": types, "description": sentence, "example": example}
        case Kind.ID | Kind.INTEGER:
            nullable = {} if field.unset is NEVER else {"nullable": True}
            minimum = {} if field.minimum is None else {"minimum": field.minimum}
            return openapi.integer(sentence, example, **nullable, **minimum)
        case Kind.BOOLEAN:
            return openapi.boolean(sentence, example=example)
        case Kind.TEXTS:
            return openapi.array({"type": "string"}, sentence, example=example)
        case Kind.INTEGERS:
            return openapi.array({"type": "integer"}, sentence, example=example)
        case Kind.TEXT_MAP:
            return openapi.mapping(sentence, {"type": "string"}, example)
        case _:
            enum = {"enum": list(field.choices)} if field.choices else {}
            nullable = {"nullable": True} if field.unset is None else {}
            return openapi.text(sentence, str(example), **nullable, **enum)
