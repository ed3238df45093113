"""A further table of a report's page, beside its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A figure, and the value of the filter *the report* that leaves its rows; "" for none."""

    number: int
    counted: str = ""


class Line(NamedTuple):
    """A row of the table: its label, a note beside it, its figures."""

    label: str
    note: str
    entries: Sequence[Entry]


@dataclass(frozen=True)
class Section:
    """The table: its title, the title of its first column, its other columns, its rows and their total."""

    title: Any
    first: Any
    columns: Sequence[Any]
    lines: Sequence[Line]
    total: Sequence[Entry]
