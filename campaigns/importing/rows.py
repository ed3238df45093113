"""The rows of a file, each with the number of its first line."""

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Self, TextIO

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.spreadsheets import as_entered
from campaigns.importing.formats import DIRECTIVE, ENCODINGS, MOST_COLUMNS, Format, open_text

# Characters of a line: more than a row of the most columns with the longest values.
LONGEST_LINE = 4_000_000
# Lines that one row may span.
MOST_LINES = 1_000
# Lines that may be read again after an open quotation mark. Without this limit the time would grow with the square of
# the file, because each row could read all lines below it.
MOST_READ_AGAIN = 1_000_000


@dataclass(frozen=True, slots=True)
class Torn:
    """The first line of a row that opens a quotation mark and does not close it."""

    cells: list[str]


Row = tuple[int, list[str] | Torn]


class Rows:
    """The rows below the header as (line, cells), without blank rows.

    An open quotation mark would swallow the rows up to the next quotation mark. So a row of several lines is valid only
    if it has as many cells as the first row, and nothing between its quotation marks and delimiters. Otherwise only its
    first line is faulty, and the lines after it are read again as rows.
    """

    def __init__(self, file: BinaryIO, form: Format) -> None:
        self._file = file
        self.form = form
        self._text = open_text(file, form.encoding)
        self._lines = _Lines(self._text)
        self.width = 0
        try:
            self._lines.skip_preamble()
            self._reader = csv.reader(self._lines, delimiter=form.delimiter)
            self._first: Row | None = next(self._read(), None)
            self.width = _checked_width(self.first_cells)
        except UnicodeDecodeError as error:
            self._text.detach()  # otherwise the file would be closed by the garbage collector
            raise self._unreadable() from error
        except Invalid:
            self._text.detach()
            raise
        self.header: list[str] = [*map(as_entered, self.first_cells)] if form.has_header else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._text.detach()  # the caller closes the file

    def __iter__(self) -> Iterator[Row]:
        if self._first is not None and not self.form.has_header:
            yield self._first
        yield from self._read()

    @property
    def first_cells(self) -> list[str]:
        if self._first is None:
            return []
        cells = self._first[1]
        return cells.cells if isinstance(cells, Torn) else cells

    @property
    def bytes_read(self) -> int:
        return self._file.tell()

    def _read(self) -> Iterator[Row]:
        lines, reader = self._lines, self._reader
        while True:
            line = lines.start_row()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield line, Torn(self._split_first_line())
                continue
            except UnicodeDecodeError as error:
                raise self._unreadable() from error
            if lines.ended_inside_row or (len(lines.taken) > 1 and self._is_torn(cells)):
                yield line, Torn(self._split_first_line())
            elif any(map(str.strip, cells)):
                yield line, cells

    def _is_torn(self, cells: list[str]) -> bool:
        """Tell whether a row of several lines consists of several rows."""
        if self.width and len(cells) != self.width:
            return True
        try:
            [*csv.reader([*self._lines.taken], delimiter=self.form.delimiter, strict=True)]
        except csv.Error:
            return True
        return False

    def _split_first_line(self) -> list[str]:
        first = self._lines.keep_first_only()
        return first.rstrip("\r\n").split(self.form.delimiter)

    def _unreadable(self) -> Invalid:
        return Invalid([Fault(ErrorCode.FILE_UNREADABLE, "", {"encoding": ENCODINGS[self.form.encoding]})])


def _checked_width(first_cells: list[str]) -> int:
    """Return the number of columns. Raises Invalid for too many: each costs time on every page and row."""
    count = len(first_cells)
    # An error file has two more columns: the line and the error.
    if count > MOST_COLUMNS + 2:
        raise Invalid([Fault(ErrorCode.TOO_MANY_COLUMNS, "", {"count": count, "limit": MOST_COLUMNS})])
    return count


class _Lines:
    """The lines of a text for csv.reader. Lines of the current row can be returned and read again."""

    def __init__(self, text: TextIO) -> None:
        self._text = iter(partial(text.readline, LONGEST_LINE + 1), "")
        self._may_be_read_again = MOST_READ_AGAIN
        self._given_back: deque[str] = deque()
        self.number = 0
        self.taken: list[str] = []
        # Whether the row ended inside quotation marks. The reader asks for more lines only there.
        self.ended_inside_row = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        """Return the next line. Raises StopIteration, which ends the row, if the row already has the most lines."""
        if len(self.taken) >= (MOST_LINES if self._may_be_read_again > 0 else 1):
            self.ended_inside_row = True
            raise StopIteration
        if self._given_back:
            line = self._given_back.popleft()
        else:
            try:
                line = next(self._text)
            except StopIteration:
                self.ended_inside_row = bool(self.taken)
                raise
        self.number += 1
        if len(line) > LONGEST_LINE:
            raise Invalid([Fault(ErrorCode.LINE_TOO_LONG, "", {"line": self.number, "limit": LONGEST_LINE})])
        self.taken.append(line)
        return line

    def skip_preamble(self) -> None:
        """Skip a byte order mark that the codec has left, and a spreadsheet's line `sep=;`."""
        first = next(self._text, "").removeprefix("\ufeff")
        if DIRECTIVE.match(first):
            self.number = 1
        elif first:
            self._given_back.append(first)

    def start_row(self) -> int:
        self.taken.clear()
        self.ended_inside_row = False
        return self.number + 1

    def keep_first_only(self) -> str:
        first, *others = self.taken
        self._given_back.extendleft(reversed(others))
        self.number -= len(others)
        self._may_be_read_again -= len(others)
        return first
