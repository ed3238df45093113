"""The files: CSV for programs, XLSX for people. Rows are written as they come; none is kept in memory.

XLSX has durations that can be added up, and instants that can be sorted.
"""

import io
from collections.abc import Sequence
from enum import Enum
from typing import IO, Any, Protocol

from django.utils import timezone
from django.utils.translation import pgettext

from callcentre.core.spreadsheets import CsvWriter, workbook

# It tells spreadsheets that the text is UTF-8.
_BYTE_ORDER_MARK = "\ufeff"
# The limit of the format for a sheet, with its heading.
MOST_ROWS = 1_048_576


class Unit(Enum):
    TEXT = "text"
    COUNT = "count"
    DURATION = "duration"
    # A duration that the API and CSV have as whole seconds.
    SECONDS = "seconds"
    NUMBER = "number"
    PERCENT = "percent"
    MOMENT = "moment"
    # A list of objects with `name` and `count`.
    COUNTS = "counts"


class Column(Protocol):
    """A column: its heading in CSV (`name`) and in XLSX (`title`), and its cell of a row."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def width(self) -> int: ...

    def text(self, row: Any, /) -> str:
        """Return the cell in CSV."""

    def cell(self, row: Any, /) -> tuple[Unit, Any]:
        """Return the cell in XLSX."""


def writer_of(
    format_: str, output: IO[bytes], columns: Sequence[Column], *, sheet: str, frozen: int = 0
) -> "_Csv | _Xlsx":
    """Return the writer of a file. `sheet` is the name of the sheets in XLSX, `frozen` their columns that stay."""
    return _Csv(output, columns) if format_ == "csv" else _Xlsx(output, columns, sheet, frozen)


class _Csv:
    def __init__(self, output: IO[bytes], columns: Sequence[Column]) -> None:
        self._columns = columns
        # Not closed here: the caller owns the file.
        self._text = io.TextIOWrapper(output, "utf-8", newline="", write_through=False)
        self._text.write(_BYTE_ORDER_MARK)
        self._rows = CsvWriter(self._text)
        self._rows.write([[column.name for column in columns]])

    def write(self, lines: Sequence[Any]) -> None:
        self._rows.write([column.text(line) for column in self._columns] for line in lines)

    def write_total(self, total: Any) -> None:
        """Write nothing: a program that adds up the rows would count everything twice."""

    def close(self) -> None:
        self._text.flush()
        self._text.detach()


_NUMBER_FORMATS = {
    Unit.COUNT: "0",
    Unit.DURATION: "[h]:mm:ss",
    Unit.SECONDS: "[h]:mm:ss",
    Unit.NUMBER: "0.00",
    Unit.PERCENT: "0.00%",
    Unit.MOMENT: "yyyy-mm-dd hh:mm:ss",
}


class _Xlsx:
    def __init__(self, output: IO[bytes], columns: Sequence[Column], sheet: str, frozen: int) -> None:
        self._columns, self._name, self._frozen = columns, sheet, frozen
        self._book = workbook(output)
        self._heading = self._book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
        self._formats: dict[Unit, Any] = {
            unit: self._book.add_format({"num_format": form}) for unit, form in _NUMBER_FORMATS.items()
        }
        self._sheets = 0
        self._begin_sheet()

    def _begin_sheet(self) -> None:
        self._sheets += 1
        name = self._name[:25]
        self._sheet = self._book.add_worksheet(name if self._sheets == 1 else f"{name} {self._sheets}")
        self._sheet.freeze_panes(1, self._frozen)
        for place, column in enumerate(self._columns):
            self._sheet.set_column(place, place, column.width)
            self._sheet.write_string(0, place, column.title, self._heading)
        self._row = 1

    def write(self, lines: Sequence[Any]) -> None:
        for line in lines:
            self._write_row(line, 0)

    def write_total(self, total: Any) -> None:
        self._write_row(total, self._frozen)
        self._sheet.write_string(self._row - 1, 0, pgettext("of a table", "Total"), self._heading)

    def _write_row(self, line: Any, first: int) -> None:
        """Write the cells of a row from this column on."""
        if self._row == MOST_ROWS:
            self._begin_sheet()
        for place, column in enumerate(self._columns[first:], first):
            self._write_cell(place, *column.cell(line))
        self._row += 1

    def _write_cell(self, place: int, unit: Unit, value: Any) -> None:
        form = self._formats.get(unit)
        match unit:
            case _ if value is None:
                return
            case Unit.TEXT | Unit.COUNTS:
                self._sheet.write_string(self._row, place, value)
            case Unit.DURATION | Unit.SECONDS:
                self._sheet.write_number(self._row, place, value / 86_400, form)
            case Unit.PERCENT:
                self._sheet.write_number(self._row, place, value / 100, form)
            case Unit.MOMENT:
                self._sheet.write_datetime(self._row, place, timezone.localtime(value).replace(tzinfo=None), form)
            case _:
                self._sheet.write_number(self._row, place, value, form)

    def close(self) -> None:
        self._book.close()
