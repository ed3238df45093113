"""Cells of the CSV and XLSX files that we write, in which no text becomes a formula.

A spreadsheet reads a cell that starts with = + - or @ as a formula, even after blanks, and some drop a leading tab or
line break. Such a cell gets a leading apostrophe, which our imports remove again. Phone numbers stay unchanged: +48 22
555 01 01 is harmless, and useless with an apostrophe.

All files are written by `CsvWriter`, `workbook` or, where PostgreSQL writes the file, with `harmless_in_sql`.
"""

import csv
import re
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

from psycopg import sql
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_BLANKS = "\x01-\x20\x7f\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
# Matched at the start of a cell. Both patterns mean the same to Python and to PostgreSQL.
FORMULA = f"^'*(?:[{_BLANKS}]*[=+@＝＋－＠-]|[\t\n\r])"
NUMBER = r"^ *(?:\+[0-9 ()./-]|[0-9()./-])[0-9 ()./-]*\Z"
_FORMULA, _NUMBER = re.compile(FORMULA), re.compile(NUMBER)


def harmless(text: str) -> str:
    """Return the text, with a leading apostrophe if a spreadsheet would read it as a formula."""
    # Most cells begin with a letter or a digit and are harmless.
    if text[:1].isalnum() or not _FORMULA.match(text) or _NUMBER.match(text):
        return text
    return f"'{text}"


def as_entered(cell: str) -> str:
    """Return the cell without the apostrophe of `harmless`."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell[1:]) else cell


def harmless_in_sql(value: sql.Composable) -> sql.Composable:
    """Return the SQL expression that does with a text what `harmless` does."""
    condition = sql.SQL("{value} ~ {formula} AND {value} !~ {number}").format(
        value=value, formula=sql.Literal(FORMULA), number=sql.Literal(NUMBER)
    )
    return sql.SQL("CASE WHEN {} THEN '''' || {} ELSE {} END").format(condition, value, value)


class CsvWriter:
    """Writer of CSV rows whose texts are harmless."""

    def __init__(self, output: "SupportsWrite[str]", *, delimiter: str = ",", line_end: str = "\n") -> None:
        self._writer = csv.writer(output, delimiter=delimiter, lineterminator=line_end)

    def write(self, rows: Iterable[Iterable[Any]]) -> None:
        self._writer.writerows([harmless(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)


class _Worksheet(Worksheet):
    def _write_string(self, row: int, column: int, text: str, cell_format: Any = None) -> Any:
        return super()._write_string(row, column, harmless(text), cell_format)


class _Workbook(Workbook):
    worksheet_class = _Worksheet


def workbook(output: IO[bytes]) -> Workbook:
    """Return an XLSX file whose texts are harmless. Rows must be written in order: each goes to the disk."""
    return _Workbook(output, {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
