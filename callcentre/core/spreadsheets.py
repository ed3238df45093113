"""Cells of the CSV and XLSX files that we write, in which no text becomes a formula.

A spreadsheet reads a cell that starts with = + - or @ as a formula, even after blanks, and some drop a leading tab or
line break. A spreadsheet that separates by another sign than the file ends cells within our cells, quoted or not, so
that each separator and line break begins a cell. An apostrophe precedes each such beginning; our imports remove it
again. Phone numbers stay unchanged: +48 22 555 01 01 is harmless, and useless with an apostrophe.

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

# The patterns mean the same to Python and to PostgreSQL.
_SEPARATORS = "[,;|\t\n\r]"
# Signs that spreadsheets pass over, without the separators among them: each of those begins a cell of its own.
_BLANKS = "\x01-\x08\x0b\x0c\x0e-\x20\x7f\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
_SIGN = f"['\"{_BLANKS}]*[=+@＝＋－＠-]"
FORMULA = f"(^|{_SEPARATORS})(?={_SIGN})|^(?='*[\t\n\r])"
_NUMBER = r" *(?:\+[0-9 ()./-]|[0-9()./-])[0-9 ()./-]*"
NUMBERS = rf"^{_NUMBER}(?:{_SEPARATORS}{_NUMBER})*\Z"
_FORMULA, _NUMBERS = re.compile(FORMULA), re.compile(NUMBERS)
_MARKED = re.compile(f"(^|{_SEPARATORS})'(?={_SIGN})|^'(?='*[\t\n\r])")


def harmless(text: str) -> str:
    """Return the text, with an apostrophe at each place where a spreadsheet would begin to read a formula."""
    # Most cells are one word.
    return text if text.isalnum() or _NUMBERS.match(text) else _FORMULA.sub(r"\1'", text)


def as_entered(cell: str) -> str:
    """Return the cell without the apostrophes of `harmless`."""
    return _MARKED.sub(r"\1", cell) if "'" in cell else cell


def harmless_in_sql(value: sql.Composable) -> sql.Composable:
    """Return the SQL expression that does with a text what `harmless` does."""
    return sql.SQL(
        "CASE WHEN {value} ~ {numbers} THEN {value} ELSE regexp_replace({value}, {formula}, {mark}, 'g') END"
    ).format(value=value, numbers=sql.Literal(NUMBERS), formula=sql.Literal(FORMULA), mark=sql.Literal(r"\1'"))


class CsvWriter:
    """Writer of CSV rows whose texts are harmless."""

    def __init__(self, output: "SupportsWrite[str]", *, delimiter: str = ",", line_end: str = "\n") -> None:
        self._writer = csv.writer(output, delimiter=delimiter, lineterminator=line_end)

    def write(self, rows: Iterable[Iterable[Any]]) -> None:
        self._writer.writerows([_plain(cell) for cell in row] for row in rows)


def _plain(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, int | float) else harmless(str(cell))


class _Worksheet(Worksheet):
    def _write_string(self, row: int, column: int, text: str, cell_format: Any = None) -> Any:
        return super()._write_string(row, column, harmless(text), cell_format)


class _Workbook(Workbook):
    worksheet_class = _Worksheet


def workbook(output: IO[bytes]) -> Workbook:
    """Return an XLSX file whose texts are harmless. Rows must be written in order: each goes to the disk."""
    return _Workbook(output, {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
