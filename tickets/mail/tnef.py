"""The files inside a winmail.dat (TNEF), in which Outlook wraps them for recipients that it takes for Outlook users.

The format is Microsoft's [MS-OXTNEF]: a signature, then attributes; those of a file follow its own first attribute. If
it cannot be read, the caller keeps the winmail.dat as it is.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SIGNATURE = b"\x78\x9f\x3e\x22"
_BEGIN, _TITLE, _DATA, _PROPERTIES = 0x9002, 0x8010, 0x800F, 0x9005
_ATTACHMENT_LEVEL = 2
# MAPI properties of a file: its long name, and its name in the HTML.
_LONG_NAME, _CONTENT_ID = 0x3707, 0x3712
# A file with this property is a message, or an object of another program.
_OBJECT = 0x3701
# Sizes of MAPI's types, padded to four bytes; values of other types begin with their length.
_SIZES = {2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 10: 4, 11: 4, 20: 8, 64: 8, 72: 16}
_TEXT, _UNICODE = 0x1E, 0x1F
_MANY = 0x1000


@dataclass(slots=True)
class File:
    name: str = ""
    content: bytes | None = None
    content_id: str = ""
    is_object: bool = False


def files(raw: bytes) -> list[File]:
    """Return the files; none if this is no TNEF, is cut off, or has a file that is an object of Outlook."""
    if not raw.startswith(_SIGNATURE):
        return []
    found: list[File] = []
    try:
        for attribute, data in _attributes(raw):
            if attribute == _BEGIN:
                found.append(File())
            elif found and attribute == _DATA:
                found[-1].content = data
            elif found and attribute == _TITLE:
                found[-1].name = found[-1].name or _text(data)
            elif found and attribute == _PROPERTIES:
                _name(found[-1], data)
    except (struct.error, ValueError):
        return []
    return [] if any(each.content is None or each.is_object for each in found) else found


def _attributes(raw: bytes) -> Iterator[tuple[int, bytes]]:
    place = 6
    while place < len(raw):
        level, attribute, _kind, length = struct.unpack_from("<BHHI", raw, place)
        data = raw[place + 9 : place + 9 + length]
        if len(data) < length:
            raise ValueError("cut off")
        if level == _ATTACHMENT_LEVEL:
            yield attribute, data
        # The data is followed by two bytes of a checksum.
        place += 9 + length + 2


def _name(file: File, data: bytes) -> None:
    """Set the names of the file from its MAPI properties, up to the first one that cannot be read."""
    try:
        for identifier, value in _properties(data):
            if identifier == _LONG_NAME and value:
                file.name = value
            elif identifier == _CONTENT_ID:
                file.content_id = value
            elif identifier == _OBJECT:
                file.is_object = True
    except (struct.error, ValueError):
        return


def _properties(data: bytes) -> Iterator[tuple[int, str]]:
    (count,) = struct.unpack_from("<I", data)
    place = 4
    for _ in range(count):
        kind, identifier = struct.unpack_from("<HH", data, place)
        place += 4
        if identifier >= 0x8000:
            named_by, length = struct.unpack_from("<II", data, place + 16)
            # The property is named by a number, or by a name of that length.
            place += 24 if named_by == 0 else 24 + _padded(length)
        base, size = kind & ~_MANY, _SIZES.get(kind & ~_MANY)
        repeated = 1
        if kind & _MANY or size is None:
            (repeated,) = struct.unpack_from("<I", data, place)
            place += 4
        for _each in range(repeated):
            if size is not None:
                place += size
                continue
            (length,) = struct.unpack_from("<I", data, place)
            value = data[place + 4 : place + 4 + length]
            if len(value) < length:
                raise ValueError("cut off")
            place += 4 + _padded(length)
            if base == _UNICODE:
                yield identifier, value.decode("utf-16-le", "replace").rstrip("\0")
            elif base == _TEXT or identifier == _OBJECT:
                yield identifier, _text(value[:1000])


def _padded(length: int) -> int:
    return (length + 3) // 4 * 4


def _text(data: bytes) -> str:
    data = data.split(b"\0")[0]
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1250", "replace")
