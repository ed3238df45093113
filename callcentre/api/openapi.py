"""The language of `<app>/api/docs.py`: shapes of answers, inputs, parameters and operations.

A property's example stands beside its description, so that the example of a whole answer is composed from them.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.utils.functional import Promise

from callcentre.api import fields as wire
from callcentre.api import filters
from callcentre.api.pagination import MAX_LIMIT
from callcentre.api.serializers import Input
from callcentre.core.errors import ErrorCode

Schema = dict[str, Any]
JSON = "application/json"
MINUTE_PATTERN = r"^(\d{4}-\d{2}-\d{2} \d{2}:\d{2})?$"
INSTANT = "`YYYY-MM-DD`, `YYYY-MM-DD hh:mm` or `YYYY-MM-DD hh:mm:ss`"

# Shapes by name: the schemas among the document's components.
SHAPES: dict[str, Schema] = {}
# Descriptions of inputs' fields, beside those of the fields themselves.
NOTES: dict[type[Input], dict[str, Schema]] = {}
NESTED: dict[type, type[Input]] = {}


# Properties


def text(description: str, example: str = "", **more: Any) -> Schema:
    return {"type": "string", "description": description, "example": example, **more}


def integer(description: str, example: int | None, **more: Any) -> Schema:
    """Return a property that is null while unset, if its example or `nullable` says so."""
    nullable: Schema = {"nullable": True} if example is None else {}
    return {"type": "integer", "description": description, "example": example, **nullable, **more}


def number(description: str, example: float, **more: Any) -> Schema:
    return {"type": "number", "description": description, "example": example, **more}


def boolean(description: str, *, example: bool) -> Schema:
    return {"type": "boolean", "description": description, "example": example}


def minute(description: str, example: str = "") -> Schema:
    return text(f"{description} `YYYY-MM-DD hh:mm`; an empty string when unset.", example, pattern=MINUTE_PATTERN)


def mapping(description: str, values: Schema, example: Mapping[str, Any]) -> Schema:
    """An object whose names depend on the data."""
    return {"type": "object", "description": description, "additionalProperties": values, "example": dict(example)}


def array(items: Schema, description: str = "", **more: Any) -> Schema:
    return {"type": "array", "items": items, **({"description": description} if description else {}), **more}


def page(items: Schema) -> Schema:
    properties = {
        "count": integer("How many there are without `limit` and `offset`.", 1, minimum=0),
        "result": array(items, "This page of them."),
    }
    return {"type": "object", "required": list(properties), "additionalProperties": False, "properties": properties}


def shape(name: str, description: str, /, *, optional: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object of the answers, under its name among the components. It has all its keys except the optional ones."""
    required = [key for key in properties if key not in optional]
    SHAPES[name] = {
        "type": "object",
        "description": description,
        **({"required": required} if required else {}),
        "additionalProperties": False,
        "properties": properties,
    }
    return {"$ref": f"#/components/schemas/{name}"}


def example_of(schema: Schema) -> Any:
    """Compose the example of a schema from its parts' examples."""
    if "$ref" in schema:
        return example_of(SHAPES[schema["$ref"].rpartition("/")[2]])
    if "example" in schema:
        return schema["example"]
    if "allOf" in schema:
        return example_of(schema["allOf"][0])
    if schema["type"] == "array":
        return [example_of(schema["items"])]
    return {name: example_of(value) for name, value in schema["properties"].items()}


# Inputs


def nest(field: type, reader: type[Input]) -> None:
    """Declare the input that reads values of this kind of field."""
    NESTED[field] = reader


def describe(reader: type[Input], /, **notes: str | Schema) -> None:
    """Describe the fields of an input, each by a sentence or by keys of the schema (description, default, example)."""
    NOTES[reader] = {name: {"description": note} if isinstance(note, str) else note for name, note in notes.items()}


def input_shape(reader: type[Input], *, is_partial: bool = False) -> Schema:
    """Return the shape of a request's body. In a partial one no field is required and missing fields stay unchanged."""
    plan = reader.plan()
    required = [] if is_partial else [name for name, field in plan.items() if field.required]
    SHAPES[reader.__name__] = {
        "type": "object",
        **({"required": required} if required else {}),
        "properties": {name: _with_note(_field_schema(field), _note(reader, name)) for name, field in plan.items()},
    }
    return {"$ref": f"#/components/schemas/{reader.__name__}"}


def _note(reader: type[Input], name: str) -> Schema:
    """Return the description of a field; a class overrides its bases."""
    note: Schema = {}
    for owner in reversed(reader.__mro__):
        note |= NOTES.get(owner, {}).get(name, {})
    return note


def _with_note(schema: Schema, note: Schema) -> Schema:
    # OpenAPI 3.0 ignores keys beside a $ref.
    return {"allOf": [schema], **note} if "$ref" in schema else schema | note


# Kind of field -> its schema, and the faults of unreadable values; None in a schema is left out.
_KINDS: dict[type, tuple[Callable[[Any], Schema], tuple[ErrorCode, ...]]] = {
    wire.InstantField: (
        lambda field: {"type": "string", "pattern": r"^(\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?)?$"},
        (ErrorCode.NOT_MINUTE,),
    ),
    wire.DateField: (lambda field: {"type": "string", "format": "date"}, (ErrorCode.NOT_DATE,)),
    wire.ChoiceField: (lambda field: {"type": "string", "enum": list(field.choices)}, (ErrorCode.NOT_CHOICE,)),
    wire.TextField: (
        lambda field: {"type": "string", "minLength": field.min_length, "maxLength": field.max_length},
        (ErrorCode.NOT_TEXT, ErrorCode.TOO_LONG, ErrorCode.NUL),
    ),
    wire.IdField: (lambda field: {"type": "integer", "minimum": 0}, (ErrorCode.NOT_INTEGER,)),
    wire.IntegerField: (
        lambda field: {"type": "integer", "minimum": field.min_value, "maximum": field.max_value},
        (ErrorCode.NOT_INTEGER, ErrorCode.OUT_OF_RANGE),
    ),
    wire.NumberField: (
        lambda field: {"type": "number", "minimum": field.min_value, "maximum": field.max_value},
        (ErrorCode.NOT_NUMBER, ErrorCode.OUT_OF_RANGE),
    ),
    wire.BooleanField: (lambda field: {"type": "boolean"}, (ErrorCode.NOT_BOOLEAN,)),
    wire.ListField: (
        lambda field: {"type": "array", "items": _field_schema(field.child), "maxItems": field.max_length},
        (ErrorCode.NOT_LIST, ErrorCode.TOO_MANY),
    ),
    wire.TextMapField: (
        lambda field: {"type": "object", "additionalProperties": {"type": "string"}},
        (ErrorCode.NOT_OBJECT, ErrorCode.NOT_TEXT, ErrorCode.TOO_LONG, ErrorCode.NUL),
    ),
}


def _kind(field: Any) -> tuple[Callable[[Any], Schema], tuple[ErrorCode, ...]]:
    for owner in type(field).__mro__:
        if owner in _KINDS:
            return _KINDS[owner]
    raise TypeError(f"{type(field).__name__} has no schema yet")


def _field_schema(field: Any) -> Schema:
    if (nested := NESTED.get(type(field))) is not None:
        return input_shape(nested)
    schema = _kind(field)[0](field)
    return {key: value for key, value in schema.items() if value is not None}


def input_errors(reader: type[Input]) -> dict[ErrorCode, str]:
    """Return the faults that reading the fields can find, each with the first field that can have it."""
    errors: dict[ErrorCode, str] = {}
    for name, field in reader.plan().items():
        required = [ErrorCode.EMPTY] if field.required else []
        for code in (*required, *_field_errors(field)):
            errors.setdefault(code, name)
    return errors


def _field_errors(field: Any) -> Iterator[ErrorCode]:
    yield from _kind(field)[1]
    if isinstance(field, wire.ListField):
        yield ErrorCode.EMPTY  # the field of an entry
        yield from _field_errors(field.child)


# Parameters


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of the path or query, and the faults that reading it can find."""

    name: str
    schema: Schema
    description: str
    errors: tuple[ErrorCode, ...] = ()
    is_required: bool = False
    style: str = ""

    def as_dict(self, place: str) -> Schema:
        more: Schema = {"required": True} if place == "path" or self.is_required else {}
        if self.style:
            more["style"] = self.style
        return {"in": place, "name": self.name, **more, "description": self.description, "schema": self.schema}


def path(name: str, description: str, example: str, missing: ErrorCode) -> Parameter:
    """Describe a part of an address, with the code of the 404 for an unknown one."""
    return Parameter(name, {"type": "string", "minLength": 1, "example": example}, description, (missing,))


def flag(name: str, description: str) -> Parameter:
    return Parameter(name, {"type": "boolean", "default": False}, description, (ErrorCode.NOT_BOOLEAN,))


def limit_parameter(most: int = MAX_LIMIT) -> Parameter:
    schema: Schema = {"type": "integer", "minimum": 1, "default": MAX_LIMIT}
    errors = (ErrorCode.NOT_INTEGER, ErrorCode.OUT_OF_RANGE)
    return Parameter("limit", schema, f"Entries a page: 1 to {most}; more counts as {most}.", errors)


def paging(most: int) -> list[Parameter]:
    schema: Schema = {"type": "integer", "minimum": 0, "default": 0}
    errors = (ErrorCode.NOT_INTEGER, ErrorCode.OUT_OF_RANGE)
    return [
        limit_parameter(most),
        Parameter("offset", schema, "Entries to skip. Past the end the page is empty.", errors),
    ]


def query_parameters(filter_set: type[filters.FilterSet]) -> list[Parameter]:
    return [_query_parameter(name, filter_) for name, filter_ in filter_set.base_filters.items()]


def _query_parameter(name: str, filter_: Any) -> Parameter:
    description = str(filter_.extra.get("help_text", ""))
    match filter_:
        case filters.IdListFilter():
            schema: Schema = {"type": "array", "items": {"type": "integer"}}
            return Parameter(f"{name}[]", schema, description, (ErrorCode.NOT_INTEGER,))
        case filters.ListFilter():
            items: Schema = {"type": "string"} | ({"enum": filter_.choices} if filter_.choices else {})
            errors = (ErrorCode.NOT_CHOICE,) if filter_.choices else (ErrorCode.NUL,)
            return Parameter(f"{name}[]", {"type": "array", "items": items}, description, errors)
        case filters.IdFilter():
            return Parameter(name, {"type": "integer"}, description, (ErrorCode.NOT_INTEGER,))
        case filters.BooleanFilter():
            return Parameter(name, {"type": "boolean"}, description, (ErrorCode.NOT_BOOLEAN,))
        case filters.MapFilter():
            values: Schema = {"type": "array", "items": {"type": "string"}}
            schema = {"type": "object", "additionalProperties": values}
            return Parameter(name, schema, description, (ErrorCode.NUL,), style="deepObject")
        case filters.InstantFilter():
            end = "A date means its last instant, a minute all of it." if filter_.is_upper_bound else ""
            return Parameter(name, {"type": "string"}, f"{description} {INSTANT}. {end}", (ErrorCode.NOT_INSTANT,))
        case filters.TextFilter():
            return Parameter(name, {"type": "string"}, description, (ErrorCode.NUL,))
    raise TypeError(f"{type(filter_).__name__} has no schema yet")


# Operations


@dataclasses.dataclass(frozen=True, kw_only=True)
class Operation:
    """A method of a path. `errors` and `conflicts`: fault -> the field that it usually names, or ""."""

    id: str
    summary: str
    description: str = ""
    # An addition of ours to the interface.
    is_extension: bool = False
    body: type[Input] | Schema | None = None
    is_partial: bool = False
    request_example: Any = None
    request_type: str = JSON
    # None: an empty answer.
    answer: Schema | None = None
    answer_description: str = ""
    answer_types: tuple[str, ...] = (JSON,)
    status: int = 0
    answer_example: Any = None
    # When the answer is 204 without a body instead; "" for never.
    is_empty_if: str = ""
    filter_set: type[filters.FilterSet] | None = None
    is_paged: bool = False
    most: int = MAX_LIMIT
    query: tuple[Parameter, ...] = ()
    errors: Mapping[ErrorCode, str] = dataclasses.field(default_factory=dict)
    conflicts: Mapping[ErrorCode, str] = dataclasses.field(default_factory=dict)
    # Reasons for a 404 beside an unknown part of the address.
    missing: tuple[ErrorCode, ...] = ()

    def parameters(self) -> list[Parameter]:
        return [
            *self.query,
            *(query_parameters(self.filter_set) if self.filter_set else []),
            *(paging(self.most) if self.is_paged else []),
        ]


OPERATIONS: dict[tuple[type, str], Operation] = {}
# The view's name of a path parameter -> its name in the interface.
PATHS: dict[type, dict[str, Parameter]] = {}


def document(view: type, parameters: Mapping[str, Parameter] | None = None, /, **operations: Operation) -> None:
    """Describe the operations of a viewset, by the names of its actions."""
    PATHS[view] = dict(parameters or {})
    OPERATIONS.update({(view, action): operation for action, operation in operations.items()})


# Messages

# Values for the sentences of faults in examples.
SAMPLES = {
    "limit": 200,
    "low": 1,
    "high": 100,
    "choices": "predictive, progressive, preview",
    "value": 7,
    "reason": "unexpected end of data: line 1 column 12 (char 11)",
    "right": "campaigns:write",
    "method": "PATCH",
    "seconds": 17,
    "logins": "agent8, agent9",
    "name": "colour",
    "status": "MY_RECORD",
}


class _Braces(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"


def sentence(code: ErrorCode, **params: Any) -> str:
    """Return the fault's message; a place without a value shows its name in braces."""
    template: Promise | str = code.text
    return str(template) % _Braces(params)
