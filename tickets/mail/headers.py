"""Headers of mails, read whatever is wrong with them: bytes that are no ASCII, encodings that lie, addresses that are
none.

The standard library's newer parser (policy.default) raises for some of this, takes seconds for a thousand recipients,
and longer the longer a header is; so headers are read from the older one (compat32), which keeps what came.
"""

import binascii
import re
from email.message import Message
from email.utils import getaddresses

# Characters of a header, and of all headers of one name, that are read; the rest is in the raw mail.
LONGEST = 100_000
# An encoded word of RFC 2047; some programs leave spaces in it.
_WORD = re.compile(r"=\?([\w.:-]{1,60})(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")
_BETWEEN_WORDS = re.compile(r"(?<=\?=) (?==\?[\w.:*-]+\?[bBqQ]\?)")
# What steers terminals and breaks headers: nothing that a person has written.
_CONTROL = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]")
_HEX = re.compile(rb"=([0-9A-Fa-f]{2})")
_ADDRESS = re.compile(r"[^\s<>,;:\"()\[\]]{1,64}@[^\s<>,;:\"()\[\]@]{1,255}")

# What mail programs declare is often an older name, or a subset, of what they mean.
_MEANT = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "unicode-1-1-utf-7": "utf-7",
    "iso-8859-8-i": "iso-8859-8",
    "x-sjis": "cp932",
    "shift_jis": "cp932",
}
# Windows' character sets, where bytes that stand for nothing in the declared one show that they are meant.
_WINDOWS = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "iso-8859-2": "cp1250", "latin2": "cp1250"}
_SINGLE_BYTE = re.compile(r"(?:us-)?ascii|iso[-_]8859|latin|windows-125|cp125|koi8|unknown|\Z")
_UNASSIGNED = re.compile(r"[\x80-\x9f]")
# Of Python, and of no mail: some of them take time that grows with the square of the text.
_NOT_OF_MAIL = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}


def printable(text: str) -> str:
    """Without what PostgreSQL does not take; bytes that were no text are shown as such."""
    if text.isascii():
        return text.replace("\0", "")
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\0", "")


def decoded(raw: bytes, declared: str) -> str:
    """As declared, if that can be; else as UTF-8 if it is; else as what is common where nothing better is known."""
    declared = declared.lower().strip("'\" ")
    if _SINGLE_BYTE.match(declared):
        try:
            # Whatever was declared: other text hardly ever looks like UTF-8.
            return printable(raw.decode())
        except UnicodeDecodeError:
            declared = declared if "8859" in declared or declared not in ("", "us-ascii", "ascii") else "cp1250"
    for charset in (_MEANT.get(declared, declared), "utf-8", "cp1250"):
        try:
            if charset.replace("-", "_") in _NOT_OF_MAIL:
                continue
            text = raw.decode(charset)
            if charset in _WINDOWS and _UNASSIGNED.search(text):
                text = raw.decode(_WINDOWS[charset], "replace")
            return printable(text)
        except (UnicodeError, LookupError, ValueError):
            continue
    return printable(raw.decode("cp1252", "replace"))


def header(message: Message, name: str) -> str:
    """The first of this name in one line, decoded; "" for none."""
    return next(iter(headers(message, name)), "")


def headers(message: Message, name: str) -> list[str]:
    return [without_words(value) for value in raw_headers(message, name)]


def raw_headers(message: Message, name: str) -> list[str]:
    """Return the headers of this name in one line each, with their encoded words."""
    wanted, found, room = name.lower(), [], LONGEST
    for each, value in message.raw_items():
        if each.lower() == wanted and room > 0:
            found.append(_one_line(str(value)[:LONGEST]))
            room -= len(str(value))
    return found


def _one_line(value: str) -> str:
    if not value.isascii():
        value = decoded(value.encode("ascii", "surrogateescape"), "") if _has_bytes(value) else printable(value)
    return _without_controls(value)


def _without_controls(value: str) -> str:
    return " ".join(_CONTROL.sub(" ", value.replace("\0", "")).split())


def _has_bytes(value: str) -> bool:
    return all(character.isascii() or "\udc80" <= character <= "\udcff" for character in value)


def without_words(value: str) -> str:
    """With its encoded words decoded. A character may be spread over two of them."""
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


def addresses(message: Message, name: str) -> list[tuple[str, str]]:
    """(name, address) of each in the headers of this name; of a group its members."""
    values = [value for value in raw_headers(message, name) if value]
    if not values:
        return []
    found = _addresses(values)
    if not any("@" in address for _name, address in found):
        # Some programs encode the address together with the name.
        whole = [without_words(value) for value in values]
        found = [pair for pair in _addresses(whole) if "@" in pair[1]] or [
            ("", address) for value in whole for address in _ADDRESS.findall(value)
        ]
    return [(without_words(person), address) for person, address in found if "@" in address]


def _addresses(values: list[str]) -> list[tuple[str, str]]:
    try:
        return [(person, "".join(address.split())[:320]) for person, address in getaddresses(values)]
    except (RecursionError, ValueError, IndexError):  # comments within comments without end
        return []
