"""Whether a piece of work wrote rows: its statements are watched."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, models

_WRITES = re.compile(
    r'\A\s*(?:INSERT INTO|UPDATE(?: ONLY)?|DELETE FROM(?: ONLY)?|MERGE INTO) "?(?P<table>\w+)'
    r"|\A\s*WITH\b.*\b(?:INSERT INTO|UPDATE(?: ONLY)? \S+ SET|DELETE FROM|MERGE INTO)\b",
    re.IGNORECASE | re.DOTALL,
)


class Writes:
    """The number of rows that statements inserted, changed or deleted, except in some tables."""

    def __init__(self, besides: frozenset[str]) -> None:
        self.rows = 0
        self._besides = besides

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        found = _WRITES.match(sql) if isinstance(sql, str) else None
        if found and found["table"] not in self._besides:
            self.rows += max(context["cursor"].rowcount, 0)
        return result


@contextmanager
def watched_writes(*besides: type[models.Model]) -> Iterator[Writes]:
    """Count the rows that the statements of this block write, except those of some models."""
    writes = Writes(frozenset(model._meta.db_table for model in besides))
    with connection.execute_wrapper(writes):
        yield writes
