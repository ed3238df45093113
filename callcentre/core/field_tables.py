"""Tables of fields: one entry for each field of a published thing, and the SQL that follows from the entries.

An app writes its table once (`campaigns/models/record_fields.py` is the example) and composes its statements from it
when it is imported. `callcentre.api.field_tables` makes inputs, answers and documents of the same table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, Final

from callcentre.core.errors import ErrorCode


class Kind(Enum):
    """The type of a field; the value is the type of its column."""

    TEXT = "text"
    CHOICE = "varchar"
    ID = "bigint"
    # An id that answers spell as text.
    TEXT_ID = "int8"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    MINUTE = "timestamptz"
    TEXTS = "text[]"
    INTEGERS = "bigint[]"
    TEXT_MAP = "jsonb"


# The field always has a value.
NEVER: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a published thing."""

    # In the code: attribute, column, key of an input's values, entry of the history.
    name: str
    # In answers and exports, if it differs.
    wire: str = ""
    kind: Kind
    # Description in the API's documents, and an example.
    sentence: str = ""
    example: Any = ""
    # Expression of the SELECT; "" for a field that answers do not show.
    sql: str = ""
    # Value in answers where the expression is NULL.
    unset: Any = NEVER
    # Where an object that is to be stored has the value of the column; "" for a column that verbs do not write.
    stored: str = ""
    in_history: bool = False
    # Inputs that accept the field, its name there if it differs, and what its sentence leaves out.
    inputs: tuple[str, ...] = ()
    input_name: str = ""
    input_note: str = ""
    # Faults that rules find in it.
    errors: tuple[ErrorCode, ...] = ()
    is_required: bool = False
    minimum: int | None = None
    max_length: int | None = None
    max_items: int | None = None
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "wire", self.wire or self.name)


def select_list(fields: Iterable[Field]) -> str:
    """Return the expressions of a SELECT, under the names of the wire."""
    return ",\n".join(f'  {field.sql} AS "{field.wire}"' for field in fields if field.sql)


def columns(fields: Iterable[Field], table: str = "") -> str:
    """Return the names of the columns, for INSERT, SELECT and COPY."""
    prefix = f"{table}." if table else ""
    return ", ".join(f'{prefix}"{field.name}"' for field in fields)


def typed_columns(fields: Iterable[Field]) -> str:
    """Return the names and types of the columns, for CREATE TABLE and jsonb_to_recordset."""
    return ", ".join(f'"{field.name}" {field.kind.value}' for field in fields)


def assignments(fields: Iterable[Field], source: str) -> str:
    """Return the SET list of an UPDATE whose values come from the table `source`."""
    return ", ".join(f'"{field.name}" = {source}."{field.name}"' for field in fields)


def stored_values(fields: Iterable[Field]) -> Callable[[Any], dict[str, Any]]:
    """Return the function that reads the columns' values from an object that is to be stored."""
    fields = tuple(fields)
    names = tuple(field.name for field in fields)
    read = attrgetter(*(field.stored for field in fields))
    return lambda source: dict(zip(names, read(source), strict=True))


def named_rows(cursor: Any) -> list[dict[str, Any]]:
    """Return the rows of the cursor, each as name of the column -> value."""
    names = [column.name for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def differences(fields: Iterable[Field], before: Any, after: Any) -> dict[str, list[Any]]:
    """Return name -> [old, new] of the fields of the history that differ."""
    changes: dict[str, list[Any]] = {}
    for field in fields:
        if field.in_history and (old := getattr(before, field.name)) != (new := getattr(after, field.name)):
            if field.kind is Kind.TEXT_MAP:
                changes[field.name] = [_without(old, new), _without(new, old)]
            elif field.kind is Kind.MINUTE:
                changes[field.name] = [at and at.isoformat() for at in (old, new)]
            else:
                changes[field.name] = [old, new]
    return changes


def _without(values: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    return {key: values[key] for key in sorted(values) if values[key] != others.get(key)}
