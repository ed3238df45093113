"""The standard library's mail parser, extended: it skips broken header lines and remembers the place of each part.

The library's own parser begins the text at the first line that is no header, and cannot return the bytes of a mail
inside a mail.
"""

import re
from email import feedparser
from email.message import Message
from itertools import islice
from typing import Any

# Lines after a broken header line that are searched for the next header.
_LOOKED_AT = 200
_HEADER = re.compile(r"\A(?:[\x21-\x39\x3b-\x7e]+:|[\t ]|From (?![\t ]{0,100}:))")
# A blank between the name and its colon: obsolete syntax that RFC 5322 requires readers to accept.
_HEADER_WITH_BLANK = re.compile(r"\A([\x21-\x39\x3b-\x7e]{1,100})[ \t]{1,100}:")
# The empty line after the headers, or a boundary.
_END = re.compile(r"[\r\n]|--")
# Names that show that the headers go on; any other word before a colon may belong to the text.
_KNOWN = re.compile(
    r"(?i)\A(?:from|sender|reply-to|to|cc|bcc|subject|date|message-id|in-reply-to|references|received|return-path"
    r"|delivered-to|mime-version|content-(?:type|transfer-encoding|disposition|id)|auto-submitted|precedence"
    r"|(?:x|list|dkim|arc|authentication)-[\w-]{1,60})[ \t]{0,10}:"
)


# Lines that some programs write before the headers: a byte order mark, blank lines, and one line of text.
_BEFORE = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:[ \t\r]{0,100}\n){0,20}(?:[^\n:]{1,200}\n(?:[ \t\r]{0,100}\n){1,20})?(?="
    + _KNOWN.pattern.removeprefix(r"(?i)\A").encode()
    + rb")",
    re.IGNORECASE,
)


class Part(Message):
    """A mail or a part of one, with its place in the raw mail."""

    raw: bytes = b""
    start: int = 0
    end: int = 0
    # The mail that it belongs to; a mail is its own root.
    root: "Part"
    # Character sets that the parts of a mail name; None until a header needs them.
    charsets: list[str] | None = None

    @property
    def source(self) -> bytes:
        """The bytes as they came, without the line break that belongs to the boundary after them."""
        return self.raw[self.start : self.end - len(self.source_end)]

    @property
    def content(self) -> bytes:
        """The content of a part without parts, decoded."""
        try:
            payload = self.get_payload(decode=True)
        except (ValueError, LookupError, TypeError, AssertionError):  # an invalid encoding
            payload = str(self.get_payload()).encode("utf-8", "surrogateescape")
        return payload if isinstance(payload, bytes) else b""

    @property
    def source_end(self) -> bytes:
        """The line break before the boundary that ends the part; empty if the mail ends with the part."""
        if not self.raw.startswith(b"--", self.end):
            return b""
        return b"\r\n" if self.raw.endswith(b"\r\n", self.start, self.end) else b"\n"


def read(raw: bytes) -> Part:
    """Parse a raw mail."""
    raw = _BEFORE.sub(b"", raw)
    parser = _Parser(raw)
    parser.feed(raw.decode("ascii", "surrogateescape"))
    mail = parser.close()
    assert isinstance(mail, Part)
    return mail


class _Lines(feedparser.BufferedSubFile):  # type: ignore[name-defined]
    """The lines of a mail, with the number of characters that were read."""

    _lines: Any

    def __init__(self) -> None:
        super().__init__()
        self.place = 0
        # Whether the next line may be a header, and the number of headers of this block so far.
        self.is_in_headers = False
        self.header_count = 0

    def readline(self) -> Any:
        while True:
            line: Any = super().readline()
            if not isinstance(line, str):
                return line
            self.place += len(line)
            if not self.is_in_headers:
                return line
            if line and _HEADER.match(line):
                self.header_count += 1
                return line
            if (found := _HEADER_WITH_BLANK.match(line)) is not None and _KNOWN.match(line):
                self.header_count += 1
                return f"{found[1]}{line[found.end() - 1 :]}"
            if not line or _END.match(line) or not self._skip_to_header():
                self.is_in_headers = False
                return line

    def unreadline(self, line: Any) -> None:
        self.place -= len(line)
        super().unreadline(line)

    def begin_headers(self, *, may_begin_broken: bool) -> None:
        self.is_in_headers, self.header_count = True, int(may_begin_broken)

    def _skip_to_header(self) -> bool:
        """Skip to the next known header of this block, above its empty line; return whether there is one."""
        following = islice(self._lines, _LOOKED_AT if self.header_count else 0)
        for number, line in enumerate(following):
            if _END.match(line):
                return False
            if _KNOWN.match(line):
                self.place += sum(len(self._lines.popleft()) for _line in range(number))
                return True
        return False


class _Parser(feedparser.FeedParser):
    _cur: Any
    _input: Any
    _msgstack: list[Any]

    def __init__(self, raw: bytes) -> None:
        super().__init__(Part)
        self._input = _Lines()
        self._raw = raw

    def _new_message(self) -> None:
        around = self._cur
        super()._new_message()  # type: ignore[misc]
        part: Part = self._cur
        is_mail = around is None or around.get_content_type() == "message/rfc822"
        part.root = part if is_mail else around.root
        part.raw, part.start = self._raw, self._input.place
        self._input.begin_headers(may_begin_broken=is_mail)

    def _pop_message(self) -> Any:
        part = super()._pop_message()  # type: ignore[misc]
        part.end = self._input.place
        return part
