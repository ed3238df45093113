"""Statements of our own: composed of texts of ours, and sent as they are."""

from typing import Any

from django.db import connection
from psycopg.sql import SQL, Composable, Literal


class Statement(SQL):
    """The text of a statement with the names of its parts in braces.

    Parts are SQL of ours, numbers, or parts of psycopg. Values that others gave are no parts, but parameters.
    """

    def of(self, **parts: str | float | Composable) -> str:
        return self.format(**{name: _composable(part) for name, part in parts.items()}).as_string()


def _composable(part: Any) -> Composable:
    match part:
        case str():
            return SQL(part)
        case int() | float():
            return Literal(part)
    return part  # type: ignore[no-any-return]


def rows_of(statement: str, parameters: Any = None) -> list[Any]:
    """Return all rows of a statement, as tuples."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[Any] = cursor.fetchall()
    return rows


def row_of(statement: str, parameters: Any = None) -> Any:
    """Return the first row of a statement, or None."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()
