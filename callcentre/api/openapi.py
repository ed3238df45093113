"""The language of the API's documents: shapes of answers, inputs, parameters and operations.

A property's example stands beside its description, so that the example of a whole answer is composed from them.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from django.utils.functional import Promise

from callcentre.api import fields as wire
from callcentre.api import filters
from callcentre.api.fields import Input
from callcentre.api.pagination import MAX_LIMIT
from callcentre.core import times
from callcentre.core.errors import ErrorCode

Schema = dict[str, Any]
JSON = "application/json"
MINUTE_PATTERN = r"^(\d{4}-\d{2}-\d{2} \d{2}:\d{2})?$"
INSTANT = "`YYYY-MM-DD`, `YYYY-MM-DD hh:mm` or `YYYY-MM-DD hh:mm:ss`"

# Shapes by name: the schemas among the document's components.
SHAPES: dict[str, Schema] = {}
# The parts of addresses: the view's name -> the name in the interface, and the fault of an unknown one.
PATHS: dict[str, "Parameter"] = {}
F = TypeVar("F", bound=Callable[..., Any])


# Properties


def text(description: str, example: str = "", **more: Any) -> Schema:
    return {"type": "string", "description": description, "example": example, **more}


def integer(description: str, example: int, **more: Any) -> Schema:
    return {"type": "integer", "description": description, "example": example, **more}


def count(description: str, example: int, **more: Any) -> Schema:
    return integer(description, example, minimum=0, **more)


def number(description: str, example: float, **more: Any) -> Schema:
    return {"type": "number", "description": description, "example": example, **more}


def boolean(description: str, *, example: bool, **more: Any) -> Schema:
    return {"type": "boolean", "description": description, "example": example, **more}


def minute(description: str, example: str = "", **more: Any) -> Schema:
    sentence = f"{description} `YYYY-MM-DD hh:mm`; an empty string when unset."
    return text(sentence, example, pattern=MINUTE_PATTERN, write=times.minute, **more)


def second(description: str, example: str = "", **more: Any) -> Schema:
    return text(description, example, write=times.second, **more)


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


class Shape(dict[str, Any]):
    """The schema of an object of the answers, which also makes the object of a row or of a model's instance."""

    readers: dict[str, Callable[[Any], Any]]

    def data(self, source: Any, **given: Any) -> dict[str, Any]:
        """Return the answer. Each key not given is read: `of` names the attribute or is a function."""
        return {name: given[name] if name in given else read(source) for name, read in self.readers.items()}


def _reader(name: str, schema: Schema) -> Callable[[Any], Any]:
    of, write = schema.pop("of", name), schema.pop("write", None)
    read = of if callable(of) else lambda row: row[of] if isinstance(row, Mapping) else getattr(row, of)
    return (lambda row: write(read(row))) if write else read


def shape(name: str, description: str, /, *, optional: tuple[str, ...] = (), **properties: Schema) -> Shape:
    """An object of the answers, under its name among the components. It has all its keys except the optional ones."""
    required = [key for key in properties if key not in optional]
    properties = {key: schema if isinstance(schema, Shape) else dict(schema) for key, schema in properties.items()}
    readers = {key: _reader(key, schema) for key, schema in properties.items()}
    SHAPES[name] = {
        "type": "object",
        "description": description,
        **({"required": required} if required else {}),
        "additionalProperties": False,
        "properties": properties,
    }
    made = Shape({"$ref": f"#/components/schemas/{name}"})
    made.readers = readers
    return made


def resolved(schema: Schema) -> Schema:
    return SHAPES[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def example_of(schema: Schema) -> Any:
    """Compose the example of a schema from its parts' examples."""
    schema = resolved(schema)
    if "example" in schema:
        return schema["example"]
    if "allOf" in schema:
        return example_of(schema["allOf"][0])
    if schema["type"] == "array":
        return [example_of(schema["items"])]
    return {name: example_of(value) for name, value in schema["properties"].items()}


# Inputs


def input_shape(reader: type[Input], *, is_partial: bool = False) -> Schema:
    """Return the shape of a request's body. In a partial one no field is required and missing fields stay unchanged."""
    plan = reader.plan()
    required = [] if is_partial else [name for name, field in plan.items() if field.required]
    properties = {name: _described(field) for name, field in plan.items()}
    if is_partial:
        for schema in properties.values():
            schema.pop("default", None)
    SHAPES[reader.__name__] = {
        "type": "object",
        **({"required": required} if required else {}),
        "properties": properties,
    }
    return {"$ref": f"#/components/schemas/{reader.__name__}"}


def _described(field: Any) -> Schema:
    # OpenAPI 3.0 ignores keys beside a $ref.
    schema = _field_schema(field)
    return {**({"allOf": [schema]} if "$ref" in schema else schema), **field.note}


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
    if field.nested is not None:
        return input_shape(field.nested)
    schema = _kind(field)[0](field)
    return {key: value for key, value in schema.items() if value is not None}


def batch_shape(name: str, key: str, reader: type[Input], most: int, example: list[dict[str, Any]]) -> Shape:
    properties: Any = {key: array(input_shape(reader), "The items.", minItems=1, maxItems=most, example=example)}
    return shape(name, "Many items at once.", **properties)


def rule_errors(reader: type[Input]) -> dict[ErrorCode, str]:
    """Return the faults that rules find in the fields, each with the first field that can have it."""
    return _errors(reader, lambda field: field.errors)


def input_errors(reader: type[Input]) -> dict[ErrorCode, str]:
    """Return the faults that reading the fields can find, each with the first field that can have it."""
    return _errors(reader, lambda field: [*([ErrorCode.EMPTY] if field.required else []), *_field_errors(field)])


def _errors(reader: type[Input], of: Callable[[Any], Iterable[ErrorCode]], parents: str = "") -> dict[ErrorCode, str]:
    errors: dict[ErrorCode, str] = {}
    for name, field in reader.plan().items():
        nested = _errors(field.nested, of, f"{parents}{name}.") if field.nested else {}
        errors = errors | dict.fromkeys(of(field), parents + name) | nested | errors
    return errors


def _field_errors(field: Any) -> Iterator[ErrorCode]:
    yield from _kind(field)[1]
    if isinstance(field, wire.ListField):
        yield ErrorCode.EMPTY  # the field of an entry
        yield from _field_errors(field.child)


def input_example(reader: type[Input]) -> dict[str, Any]:
    """Return the example of a request: that of the input, else the examples of its fields."""
    named = {name: field.note["example"] for name, field in reader.plan().items() if "example" in field.note}
    return reader.example or named


# Parameters


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of the path or query, and the faults that reading it can find."""

    name: str
    schema: Schema
    description: str
    errors: Sequence[ErrorCode] = ()
    is_required: bool = False
    style: str = ""

    def as_dict(self, place: str) -> Schema:
        more: Schema = {"required": True} if place == "path" or self.is_required else {}
        if self.style:
            more["style"] = self.style
        return {"in": place, "name": self.name, **more, "description": self.description, "schema": self.schema}


def path(view_name: str, name: str, description: str, example: str, missing: ErrorCode) -> None:
    """Describe a part of an address, with the code of the 404 for an unknown one."""
    schema = {"type": "string", "minLength": 1, "example": example}
    PATHS[view_name] = Parameter(name, schema, description, (missing,))


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


def query_parameters(filter_set: type[filters.FilterSet]) -> Iterator[Parameter]:
    for name, filter_ in filter_set.base_filters.items():
        parameter = _plain_parameter(name, filter_)
        yield dataclasses.replace(parameter, errors=(*filter_.errors, *parameter.errors))


def _plain_parameter(name: str, filter_: Any) -> Parameter:
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


@dataclasses.dataclass(frozen=True)
class Operation:
    """A method of a path."""

    id: str
    summary: str
    description: str = ""
    _: dataclasses.KW_ONLY
    # An addition of ours to the interface.
    is_extension: bool = True
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
    query: Sequence[Parameter] = ()
    # Requests a minute of one API user, beside the limit of the user; 0 is no limit.
    rate: int = 0
    # Faults beside those of the parameters and of the body's fields, also with the field that they name.
    errors: Sequence[ErrorCode] | Mapping[ErrorCode, str] = ()
    conflicts: Sequence[ErrorCode] = ()
    # Reasons for a 404 beside an unknown part of the address.
    missing: Sequence[ErrorCode] = ()

    def parameters(self) -> list[Parameter]:
        return [
            *self.query,
            *(query_parameters(self.filter_set) if self.filter_set else []),
            *(paging(self.most) if self.is_paged else []),
        ]


def operation(*args: Any, **kwargs: Any) -> Callable[[F], F]:
    """Describe an action of a viewset: the decorator takes what `Operation` takes."""

    def decorate(action: F) -> F:
        action.operation = Operation(*args, **kwargs)  # type: ignore[attr-defined]
        return action

    return decorate


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
    "source": "marketplace_message",
}


class _Braces(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"


def sentence(code: ErrorCode, **params: Any) -> str:
    """Return the fault's message; a place without a value shows its name in braces."""
    template: Promise | str = code.text
    return str(template) % _Braces(params)
