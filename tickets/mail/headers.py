"""The headers of mails, read in spite of errors: raw 8-bit bytes, wrong encodings, invalid addresses.

The standard library's newer parser (policy.default) raises for some of these errors, and takes seconds for a thousand
recipients. So headers are read with the older one (compat32), which keeps them as they came.
"""

import binascii
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from email.utils import getaddresses
from itertools import islice
from typing import TYPE_CHECKING

from tickets.mail.charsets import charset_of, decoded, decoded_as_named, printable

if TYPE_CHECKING:
    from tickets.mail.mime_parts import Part

# The most characters of a header, and of all headers of one name, that are read; the raw mail has the rest.
LONGEST = 100_000
# The most character sets of a mail's texts that are tried for its headers.
MOST_CHARSETS = 20
# An encoded word (RFC 2047). Some programs leave spaces in it.
_WORD = re.compile(r"=\?([\w.:-]{1,60})(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")
_BETWEEN_WORDS = re.compile(r"(?<=\?=)\s++(?==\?[\w.:*-]+\?[bBqQ]\?)")
# Control characters, which steer terminals and break headers.
_CONTROL = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]")
_HEX = re.compile(rb"=([0-9A-Fa-f]{2})")
_ADDRESS = re.compile(r"[^\s<>,;:\"()\[\]@]{1,64}+@[^\s<>,;:\"()\[\]@]{1,255}")
# One address alone: its local part may be quoted, its domain may be an IP address in brackets.
_WHOLE = re.compile(r"(?:\"[^\"]{1,64}+\"|[^\s<>,;:\"()\[\]@]{1,320}+)@[^\s<>,;\"()@]{1,255}+")
_AROUND_AT = re.compile(r" ?@ ?")
_BETWEEN = re.compile(r"[,;]")


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of a mail or part, decoded, in one line each. Their names are in lower case."""

    texts: Mapping[str, list[str]]
    # (name, address) of each person in headers that name people, with the members of groups.
    people: Mapping[str, list[tuple[str, str]]]


def read_headers(message: "Part", of_people: Collection[str] = ()) -> Headers:
    """Return the headers of a mail, and the people in those of these names."""
    raw: dict[str, list[str]] = defaultdict(list)
    room: dict[str, int] = defaultdict(lambda: LONGEST)
    for name, value in message.raw_items():
        name = name.lower()
        if room[name] > 0:
            raw[name].append(_one_line(str(value)[:LONGEST], message))
            room[name] -= len(str(value))
    texts = {name: [without_words(value) for value in values] for name, values in raw.items()}
    return Headers(
        defaultdict(list, texts), defaultdict(list, {name: _people(raw[name]) for name in of_people if name in raw})
    )


def header(message: "Part", name: str) -> str:
    """Return the first header of this name, which is in lower case; "" for none."""
    return next(iter(read_headers(message).texts[name]), "")


def _one_line(value: str, message: "Part") -> str:
    if not value.isascii():
        is_raw = all(character.isascii() or "\udc80" <= character <= "\udcff" for character in value)
        raw = value.encode("ascii", "surrogateescape") if is_raw else b""
        value = decoded_as_named(raw, _named_charsets(message.root)) if is_raw else printable(value)
    return _without_controls(value)


def _named_charsets(mail: "Part") -> list[str]:
    """Return the character sets that a mail names: of its texts, its multiparts, its headers, and mails inside it."""
    if mail.charsets is None:
        parts = list(islice(mail.walk(), MOST_CHARSETS * 5))
        texts = [part for part in parts if part.get_content_maintype() == "text"]
        own = [part for part in texts if part.root is mail]
        named = [
            charset_of(part) for part in (*own, *(part for part in parts if part.get_content_maintype() == "multipart"))
        ]
        named += [word[1].lower() for _name, value in mail.raw_items() for word in _WORD.finditer(str(value)[:LONGEST])]
        named += [charset_of(part) for part in texts if part.root is not mail]
        mail.charsets = list(dict.fromkeys(filter(None, named)))[:MOST_CHARSETS]
    return mail.charsets


def _without_controls(value: str) -> str:
    return " ".join(_CONTROL.sub(" ", value.replace("\0", "")).split())


def without_words(value: str) -> str:
    """Decode the encoded words of a header. One character may be split between two of them."""
    if "=?" not in value:
        return value
    value, parts, end, pending, charset = _BETWEEN_WORDS.sub("", value), [], 0, b"", ""
    for word in _WORD.finditer(value):
        if pending and (word.start() != end or word[1].lower() != charset):
            parts.append(decoded(pending, charset))
            pending = b""
        parts.append(value[end : word.start()])
        charset, end = word[1].lower(), word.end()
        pending += _word_bytes(word[2], word[3])
    if pending:
        parts.append(decoded(pending, charset))
    return _without_controls("".join([*parts, value[end:]]))


def _word_bytes(encoding: str, text: str) -> bytes:
    raw = text.encode("utf-8", "replace")
    if encoding in "qQ":
        return _HEX.sub(lambda found: bytes([int(found[1], 16)]), raw.replace(b"_", b" "))
    for missing in (b"", b"==", b"="):
        try:
            return binascii.a2b_base64(raw + missing)
        except binascii.Error:
            continue
    return raw


def _people(values: list[str]) -> list[tuple[str, str]]:
    values = [value for value in values if value]
    # Some programs encode the name and the address together.
    found = _addresses(values) or _addresses([without_words(value) for value in values])
    return [(without_words(person), address) for person, address in found]


def _addresses(values: list[str]) -> list[tuple[str, str]]:
    try:
        found = [(person, address[:320]) for person, address in getaddresses(values) if "@" in address]
    except (RecursionError, ValueError, IndexError):  # deeply nested comments
        found = []
    whole = _AROUND_AT.sub("@", " ".join(values))
    if found and all(_WHOLE.fullmatch(address) and address in whole for _person, address in found):
        return found
    # The library joins words beside an address to it, which makes another address.
    return [pair for value in values for each in _BETWEEN.split(value) if (pair := _last_address(each)) is not None]


def _last_address(text: str) -> tuple[str, str] | None:
    """Return the last address in the text, with the text before it as the name."""
    found = list(_ADDRESS.finditer(text))
    if not found:
        return None
    return text[: found[-1].start()].strip(" <>()[]\"':"), found[-1][0].rstrip(".'")
