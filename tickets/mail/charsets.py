"""The decoding of mails, with the declared character set or with the one that was meant."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tickets.mail.mime_parts import Part

# Declared name -> the character set that is meant: mail programs declare older names, or subsets.
_MEANT = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "unicode-1-1-utf-7": "utf-7",
    "iso-8859-8-i": "iso-8859-8",
    "x-sjis": "cp932",
    "shift_jis": "cp932",
}
# Larger character sets, with the characters that vendors added to the declared one.
_LARGER = {"euc-jp": ("euc_jis_2004",), "big5": ("cp950", "big5hkscs"), "tis-620": ("cp874",)}
# Windows' character sets, which are meant if bytes have no character in the declared one.
_WINDOWS = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "iso-8859-2": "cp1250", "latin2": "cp1250"}
# Programs in Central Europe declare the first, and write one of the second.
_WESTERN = {"iso-8859-1", "latin-1", "latin1", "iso-8859-15", "windows-1252", "cp1252"}
_CENTRAL_EUROPEAN = ("cp1250", "iso-8859-2")
# A symbol between two letters.
_SYMBOL_INSIDE = re.compile(r"(?<=[^\W\d_])[¡-¨¬¯±³¶¼-¿×÷˘˙˛˝](?=[^\W\d_])")
# The most characters that are looked at for signs of a wrong character set.
_LOOKED_AT = 20_000
_SINGLE_BYTE = re.compile(r"(?:us-)?ascii|iso[-_]8859|latin|windows-125|cp125|koi8|unknown|\Z")
# Programs declare the variants of ISO-2022-JP, which have seven bits, and write this.
_JAPANESE = "cp932"
_UNASSIGNED = re.compile(r"[\x80-\x9f]")
# Codecs of Python that no mail uses; some of them take quadratic time.
_NOT_OF_MAIL = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
_ISO_2022_JP = re.compile(r"(?:cs)?iso[-_]?2022[-_]?jp|cp5022[012]|x-windows-iso2022jp")
_ASCII = re.compile(r"(?:us-)?ascii|\Z")
_META = re.compile(rb"(?i)<meta[^<>]{1,200}?charset\s*=\s*[\"']?([\w-]{1,40})")

# Escapes of ISO-2022-JP; each selects the character set of the bytes after it.
_ESCAPE = re.compile(rb"\x1b(\([BJI]|\$[@B]|\$\([@BDOQ])")
_TWO_BYTES = (b"$@", b"$B", b"$(@", b"$(B")


def printable(text: str) -> str:
    """Return the text without NUL, and with a replacement character for each byte that could not be decoded."""
    if text.isascii():
        return text.replace("\0", "")
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\0", "")


def decoded(raw: bytes, declared: str) -> str:
    """Decode the bytes as declared if they are valid; else as UTF-8 if they are valid; else as cp1250."""
    declared = declared.lower().strip("'\" ")
    if _ISO_2022_JP.match(declared):
        if raw.isascii() or b"\x1b" in raw:
            return printable(_iso_2022_jp(raw, declared))
        declared = _JAPANESE
    if _SINGLE_BYTE.match(declared):
        try:
            # Valid UTF-8 is hardly ever another charset, also if another one was declared.
            return printable(raw.decode())
        except UnicodeDecodeError:
            declared = declared if "8859" in declared or not _ASCII.fullmatch(declared) else "cp1250"
    for charset in (_MEANT.get(declared, declared), *_LARGER.get(declared, ()), "utf-8", "cp1250"):
        if (text := _strictly(raw, charset)) is not None:
            return printable(_as_meant(raw, text) if charset in _WESTERN else text)
    return printable(raw.decode("cp1252", "replace"))


def _as_meant(raw: bytes, text: str) -> str:
    """Return the text in a Central European character set, if only that makes words of it."""
    if is_odd(text):
        for charset in _CENTRAL_EUROPEAN:
            other = _strictly(raw, charset)
            if other is not None and not is_odd(other):
                return other
    return text


def is_odd(text: str) -> bool:
    """Return whether the text looks decoded wrongly: symbols inside words, or capitals after small letters."""
    text = text[:_LOOKED_AT]
    return bool(_SYMBOL_INSIDE.search(text)) or any(
        small.islower() and capital.isupper() and not capital.isascii() for small, capital in pairwise(text)
    )


def charset_of(part: "Part") -> str:
    """Return the character set that a part names in its headers, else at the beginning of its HTML; "" for none."""
    try:
        named = str(part.get_content_charset() or "")
    except (ValueError, LookupError, TypeError):
        named = ""
    if not named and part.get_content_subtype() == "html" and (found := _META.search(part.content[:2000])):
        return found[1].decode("ascii", "replace")
    return named


def decoded_as_named(raw: bytes, charsets: Iterable[str]) -> str:
    """Decode bytes without a declared character set: with the first of these that fits, or else by a guess.

    Each text fits a set of single bytes. So a result that looks wrong waits for a better one.
    """
    odd = ""
    for charset in charsets:
        name = charset.lower()
        if _ISO_2022_JP.match(name) and not raw.isascii():
            name = _JAPANESE
        if _ASCII.fullmatch(name) or (text := _strictly(raw, _MEANT.get(name, name))) is None:
            continue
        if not _SINGLE_BYTE.match(name):
            return printable(text)
        text = decoded(raw, name)
        if not is_odd(text):
            return text
        odd = odd or text
    return odd or decoded(raw, "")


def _strictly(raw: bytes, charset: str) -> str | None:
    """Decode the bytes with this character set; return None if it is unknown or does not fit."""
    if charset.replace("-", "_") in _NOT_OF_MAIL:
        return None
    try:
        text = raw.decode(charset)
    except (UnicodeError, LookupError, ValueError):
        return None
    if charset in _WINDOWS and _UNASSIGNED.search(text):
        return raw.decode(_WINDOWS[charset], "replace")
    return text


def _iso_2022_jp(raw: bytes, declared: str) -> str:
    """Decode the declared variant of ISO-2022-JP, or else the variant with the characters of Microsoft and NEC.

    Those are in rows of JIS X 0208 that are empty in the standard; cp932 has them in the same rows.
    """
    for charset in (declared, "iso2022_jp_ext", "iso2022_jp_2004"):
        if (text := _strictly(raw, charset)) is not None:
            return text
    first, *rest = _ESCAPE.split(raw)
    parts = [first.decode("ascii", "replace")]
    for escape, part in zip(rest[::2], rest[1::2], strict=True):
        if escape in _TWO_BYTES:
            parts.append(_of_two_bytes(part))
        elif escape == b"$(D":
            pairs = (b"\x8f" + _high(part[at : at + 2]) for at in range(0, len(part), 2))
            parts.append(b"".join(pairs).decode("euc_jp", "replace"))
        elif escape in (b"$(O", b"$(Q"):
            parts.append(_high(part).decode("euc_jis_2004", "replace"))
        elif escape == b"(I":
            parts.append(_high(part).decode("cp932", "replace"))
        else:
            parts.append(part.decode("ascii", "replace"))
    return "".join(parts)


def _high(part: bytes) -> bytes:
    return bytes(each | 0x80 for each in part)


def _of_two_bytes(part: bytes) -> str:
    """Decode characters of JIS X 0208 with the vendors' rows, by moving them to their places in cp932.

    A line break ends them: mail programs forget the escape there.
    """
    lines = part.split(b"\n")
    return "\n".join([_shifted(lines[0]), *(line.decode("ascii", "replace") for line in lines[1:])])


def _shifted(line: bytes) -> str:
    found = bytearray()
    for row, cell in zip(line[::2], line[1::2], strict=False):
        lead = ((row - 0x21) >> 1) + 0x81
        found.append((lead if lead < 0xA0 else lead + 0x40) & 0xFF)
        trail = cell + (0x1F if row % 2 else 0x7E)
        found.append((trail + 1 if row % 2 and trail >= 0x7F else trail) & 0xFF)
    return found.decode("cp932", "replace")
