"""Plain text of mails: uuencoded files in it, as before mails had parts, and soft line breaks (RFC 3676)."""

import binascii
import re

_BEGIN = re.compile(r"begin [0-7]{3,4} (\S[^\n]{0,254})")
_LINE = re.compile(r"[\x20-\x60]{1,90}")
# The line above a signature.
SIGNATURE = "-- "


def parted(text: str) -> tuple[str, list[tuple[str, bytes]]]:
    """Return the text without its uuencoded files, and the name and content of each file."""
    lines = text.split("\n")
    kept: list[str] = []
    files: list[tuple[str, bytes]] = []
    at = 0
    while at < len(lines):
        begin = _BEGIN.fullmatch(lines[at].rstrip("\r"))
        content, end = _content(lines, at + 1) if begin else (None, at + 1)
        if begin and content is not None:
            files.append((begin[1].strip(), content))
        else:
            kept += lines[at:end]
        at = end
    return "\n".join(kept), files


def _content(lines: list[str], start: int) -> tuple[bytes | None, int]:
    """Return the file whose lines begin here, or None if they are no file; and the next line to read.

    No line of a file can begin another file, so each line is read once.
    """
    chunks: list[bytes] = []
    at = start
    while at < len(lines):
        line = lines[at].rstrip("\r")
        if line == "end":
            return (b"".join(chunks) if chunks else None), at + 1
        if not line.strip(" `"):
            # A line without data; some programs leave it out.
            at += 1
            continue
        if (chunk := _chunk(line)) is None:
            return None, at
        chunks.append(chunk)
        at += 1
    return None, at


def _chunk(line: str) -> bytes | None:
    """Return what one line encodes; None for a line of text."""
    length = (ord(line[0]) - 32) & 63
    needed = 1 + (length + 2) // 3 * 4
    # Servers strip spaces at the end; some programs add a checksum of a few characters.
    if not _LINE.fullmatch(line) or len(line) > needed + 2:
        return None
    try:
        return binascii.a2b_uu(line[:needed].ljust(needed))
    except binascii.Error:
        return None


def reflowed(text: str, *, deletes_space: bool) -> str:
    """Join each line that ends in a space with the next line of the same quotation, and undo space-stuffing.

    `deletes_space` (DelSp=yes): the last space is removed too, for languages without spaces.
    """
    found: list[str] = []
    paragraph: list[str] = []
    depth_above = 0
    for line in text.split("\n"):
        unquoted = line.lstrip(">")
        depth = len(line) - len(unquoted)
        unquoted = unquoted.removeprefix(" ")
        if paragraph and (depth != depth_above or unquoted == SIGNATURE):
            found.append("".join(paragraph))
            paragraph = []
        if not paragraph and depth:
            paragraph.append(">" * depth + " ")
        depth_above = depth
        is_flowed = unquoted.endswith(" ") and unquoted != SIGNATURE
        paragraph.append(unquoted[:-1] if is_flowed and deletes_space else unquoted)
        if not is_flowed:
            found.append("".join(paragraph))
            paragraph = []
    if paragraph:
        found.append("".join(paragraph))
    return "\n".join(found)
