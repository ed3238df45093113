"""The format of a file: encoding, delimiter, header. It is guessed from the file; people may overrule the guess."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.phone import PhoneError, normalise

# Codec -> its label. UTF-8 and UTF-16 are read with and without a byte order mark.
ENCODINGS: Mapping[str, str] = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "cp1250": "Windows-1250",
    "cp1252": "Windows-1252",
    "iso8859-2": "ISO 8859-2",
}
DELIMITERS: Mapping[str, str] = {",": ",", ";": ";", "\t": "tab", "|": "|"}
# The most columns of a file; no campaign has as many fields.
MOST_COLUMNS = 200
_SAMPLE_BYTES = 64 * 1024
_SAMPLE_ROWS = 50
_BLOCK = 1024 * 1024
# The line by which a spreadsheet names its delimiter.
DIRECTIVE = re.compile(r'"?sep=(.)"?\r?\n?\Z', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Format:
    encoding: str
    delimiter: str
    has_header: bool = True


def encoding_named(name: str) -> str:
    """Return our name of an encoding in any spelling. Raises Invalid."""
    try:
        codec = codecs.lookup(name.strip()).name
    except (LookupError, ValueError):
        codec = ""
    codec = {"utf-8-sig": "utf-8"}.get(codec, codec)
    if codec not in ENCODINGS:
        raise Invalid([Fault(ErrorCode.NOT_CHOICE, "encoding", {"choices": ", ".join(ENCODINGS)})])
    return codec


def delimiter_named(name: str) -> str:
    """Return the delimiter named by its character or by a word. Raises Invalid."""
    delimiter = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}.get(name.lower(), name)
    if delimiter not in DELIMITERS:
        raise Invalid([Fault(ErrorCode.NOT_CHOICE, "delimiter", {"choices": "comma, semicolon, tab, pipe"})])
    return delimiter


def guess_format(file: BinaryIO, *, encoding: str = "", delimiter: str = "", has_header: bool | None = None) -> Format:
    """Guess the parts of the format that are not given. Raises Invalid for a file without rows."""
    encoding = encoding or _guess_encoding(file)
    file.seek(0)
    head = file.read(_SAMPLE_BYTES)
    lines = _sample_lines(head, encoding)
    if not any(line.strip() for line in lines):
        raise Invalid([Fault(ErrorCode.FILE_EMPTY)])
    if match := DIRECTIVE.match(lines[0]):
        delimiter, lines = delimiter or match[1], lines[1:]
    if not delimiter or delimiter not in DELIMITERS:
        delimiter = _guess_delimiter(lines)
    if has_header is None:
        first, *_others = _rows(lines, delimiter) or [[]]
        has_header = not any(map(_is_number, first[:MOST_COLUMNS]))
    return Format(encoding, delimiter, has_header)


def open_text(file: BinaryIO, encoding: str) -> io.TextIOWrapper:
    """Open the text of the file. Undecodable bytes become half surrogates, so that only their row is faulty."""
    file.seek(0)
    if encoding == "utf-16" and not file.read(2).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16-le"  # spreadsheets of little-endian machines omit the mark
    file.seek(0)
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    errors = "surrogatepass" if encoding.startswith("utf-16") else "surrogateescape"
    return io.TextIOWrapper(file, codec, errors=errors, newline="")


def _guess_encoding(file: BinaryIO) -> str:
    """Guess by the byte order mark, the zeros of UTF-16, and whether all bytes are UTF-8; else Windows-1250."""
    file.seek(0)
    head = file.read(_SAMPLE_BYTES)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Digits and delimiters have a zero byte in UTF-16: the first in big-endian, the second in little-endian.
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) // 8 and min(even, odd) < max(even, odd) // 8 + 1:
        return "utf-16-be" if even > odd else "utf-16-le"
    decoder = codecs.getincrementaldecoder("utf-8")()
    block = head
    try:
        while block:
            decoder.decode(block)
            block = file.read(_BLOCK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1250"
    return "utf-8"


def _sample_lines(head: bytes, encoding: str) -> list[str]:
    """Return the complete lines of the file's head, without a last line that is cut off."""
    whole = head[: len(head) // 2 * 2] if encoding.startswith("utf-16") else head
    lines = [line.removeprefix("\ufeff") for line in open_text(io.BytesIO(whole), encoding)]
    is_cut = len(head) == _SAMPLE_BYTES and len(lines) > 1
    return lines[:-1] if is_cut else lines


def _guess_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that splits the most rows into the same number of cells, and into the most cells."""

    def score(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in _rows(lines, delimiter))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        return (count / widths.total(), width) if width > 1 else (0.0, 1)

    # max() returns the first of equals: a file of one column gets the comma.
    return max(DELIMITERS, key=score)


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error:
        pass  # a cell without an end: the rows before it are enough
    return rows


def _is_number(cell: str) -> bool:
    try:
        return len(normalise(cell)) > 2
    except PhoneError:
        return False


_UNSHOWABLE = re.compile("[\0\ud800-\udfff]")


def showable(text: str) -> str:
    """Return the text with a replacement character for each undecodable byte and each NUL.

    A page cannot hold half surrogates, and spreadsheets drop NUL.
    """
    return _UNSHOWABLE.sub("\ufffd", text)
