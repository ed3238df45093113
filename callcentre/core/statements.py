"""Statements of our own, sent as they are."""

from typing import Any

from django.db import connection


def rows_of(statement: str, parameters: Any = None) -> list[Any]:
    """Return all rows of a statement, as tuples."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[Any] = cursor.fetchall()
    return rows
