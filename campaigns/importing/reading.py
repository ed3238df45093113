"""The rows of a file, each with the number of its first line."""

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Self

from callcentre.errors import ErrorCode, Fault, Invalid
from campaigns.importing.formats import DIRECTIVE, ENCODINGS, Format, open_text


@dataclass(frozen=True, slots=True)
class Torn:
    """A row that opens a quotation mark and does not close it, as far as its first line goes."""

    cells: list[str]


Row = tuple[int, list[str] | Torn]


class Rows:
    """Iterates over (line, cells) of what is below the header; blank rows are left out.

    A quotation mark that is never closed would swallow the rows after it, silently up to the next quotation mark. So
    a row that goes over several lines counts only if it has as many cells as the first row, and nothing between its
    quotation marks and delimiters; otherwise its first line alone is bad, and the lines after it are read again as
    rows of their own.
    """

    def __init__(self, file: BinaryIO, form: Format) -> None:
        self._file = file
        self.form = form
        self._text = open_text(file, form.encoding)
        self._lines = _Lines(self._text)
        self._lines.skip_preamble()
        self._reader = csv.reader(self._lines, delimiter=form.delimiter)
        self.width = 0
        self._first: Row | None = next(self._read(), None)
        self.width = len(self.first_cells)
        self.header: list[str] = self.first_cells if form.has_header else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._text.detach()  # the file is the caller's to close

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
                raise self._unreadable(error) from error
            if lines.ended_inside_row or (len(lines.taken) > 1 and self._is_torn(cells)):
                yield line, Torn(self._split_first_line())
            elif any(map(str.strip, cells)):
                yield line, cells

    def _is_torn(self, cells: list[str]) -> bool:
        """Whether a row of several lines was put together from several rows."""
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

    def _unreadable(self, error: UnicodeDecodeError) -> Invalid:
        encoding = ENCODINGS[self.form.encoding]
        return Invalid([Fault(ErrorCode.FILE_UNREADABLE, "", {"position": self.bytes_read, "encoding": encoding})])


class _Lines:
    """The lines of a text, for csv.reader; those of the current row can be given back."""

    def __init__(self, text: Iterator[str]) -> None:
        self._text = text
        self._given_back: deque[str] = deque()
        self.number = 0
        self.taken: list[str] = []
        # The reader asks for more lines only inside quotation marks.
        self.ended_inside_row = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if self._given_back:
            line = self._given_back.popleft()
        else:
            try:
                line = next(self._text)
            except StopIteration:
                self.ended_inside_row = bool(self.taken)
                raise
        self.number += 1
        self.taken.append(line)
        return line

    def skip_preamble(self) -> None:
        """A byte order mark that the codec has left, and a spreadsheet's line `sep=;`."""
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
        return first
