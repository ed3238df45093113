"""The parts of a mail: some are its text, the others are files.

Of alternatives the HTML is the text, if there is one. Text parts that follow one another are all text, in their order.
A part that is neither plain text nor HTML is a file: a signature, an encrypted part, an invitation, a mail.

The parser is the standard library's, extended: it skips broken header lines and remembers the place of each part. The
library's own begins the text at the first line that is no header, and cannot return the bytes of a mail inside a mail.
"""

import binascii
import quopri
import re
from dataclasses import dataclass, field
from email import feedparser
from email.message import Message
from itertools import islice
from typing import Any

from callcentre.core.html_cleaning import LONGEST
from tickets import html
from tickets.file_storage import clean_name, extension_of
from tickets.mail import tnef
from tickets.mail.charsets import charset_of, decoded, printable
from tickets.mail.headers import header, without_words
from tickets.mail.plain_text import parted, reflowed

# Above these limits the whole mail becomes one file.
MOST_FILES = 200
MOST_PARTS = 1000
DEEPEST = 50
# Characters of a plain body; a longer one is kept as a file as well.
LONGEST_TEXT = 1_000_000
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


def parse_mail(raw: bytes) -> Part:
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


class TooManyParts(Exception):
    """The mail has more parts or files than a person sends."""


@dataclass(slots=True)
class Attachment:
    filename: str
    content: bytes
    content_id: str = ""
    # The type that the mail declares; "" for none.
    content_type: str = ""


@dataclass(slots=True)
class Content:
    """The texts and files of a part and of the parts inside it."""

    # (is HTML, text), in order.
    blocks: list[tuple[bool, str]] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    part_count: int = 0

    @property
    def body(self) -> tuple[str, str]:
        """The text and its type as messages have it."""
        blocks = [(is_html, text) for is_html, text in self.blocks if text.strip()]
        if not any(is_html for is_html, _text in blocks):
            return "\n".join(text for _is_html, text in blocks), "PLAIN"
        return "<br>\n".join(text if is_html else html.from_text(text) for is_html, text in blocks), "HTML"


def read(message: Part) -> Content:
    """Return the texts and files of a mail. With too many parts, it returns the texts so far and the mail as a file."""
    content = Content()
    try:
        _read(message, content, 0)
    except TooManyParts:
        content.attachments = [Attachment("mail.eml", message.source)]
    return content


def _read(part: Part, content: Content, depth: int) -> None:
    content.part_count += 1
    if content.part_count > MOST_PARTS or len(content.attachments) > MOST_FILES or depth > DEEPEST:
        raise TooManyParts
    if not part.is_multipart() or part.get_content_maintype() == "message":
        _read_leaf(part, content)
    elif part.get_content_subtype() == "alternative":
        _read_alternatives(part, content, depth)
    else:
        for each in _inside(part):
            _read(each, content, depth + 1)


def _inside(part: Part) -> list[Part]:
    return [each for each in part.get_payload() if isinstance(each, Part)]


def _read_alternatives(part: Part, content: Content, depth: int) -> None:
    """Read all files of the alternatives, and one text: the last HTML, or else the last text that is not empty."""
    chosen: list[tuple[bool, str]] = []
    for each in _inside(part):
        position = len(content.blocks)
        _read(each, content, depth + 1)
        found = [block for block in content.blocks[position:] if _says_something(*block)]
        del content.blocks[position:]
        if found and (any(is_html for is_html, _text in found) or not any(is_html for is_html, _text in chosen)):
            chosen = found
    content.blocks += chosen


def _says_something(is_html: bool, text: str) -> bool:
    """Return whether the text is not empty. Some programs send an HTML page without words beside a plain text."""
    if is_html and len(text) < 5000:
        return not html.says_nothing(text)
    return bool(text.strip())


def _read_leaf(part: Part, content: Content) -> None:
    kind = part.get_content_type()
    filename = filename_of(part)
    # A multipart without parts has only its own text.
    is_text = kind in ("text/plain", "text/html") or part.get_content_maintype() == "multipart"
    if is_text and not filename and not (part.get_content_disposition() or "").startswith("attachment"):
        if kind == "text/html":
            _add_text(text_of(part), True, content)
        else:
            _add_plain(part, content)
        return
    data = bytes_of(part)
    is_tnef = kind in ("application/ms-tnef", "application/vnd.ms-tnef") or filename.lower() == "winmail.dat"
    if is_tnef and (files := tnef.files(data)[:MOST_FILES]):
        content.attachments += [_attachment(file, number) for number, file in enumerate(files, start=1)]
        return
    if data or filename:
        content_id = header(part, "content-id").strip("<> ")[:255]
        declared = kind if "Content-Type" in part else ""
        name = filename or _name_for(part, declared, len(content.attachments) + 1)
        content.attachments.append(Attachment(name, data, content_id, declared))


def _attachment(file: tnef.File, number: int) -> Attachment:
    name = clean_name(printable(file.name))[:255] or f"part-{number}.bin"
    return Attachment(name, file.content or b"", printable(file.content_id)[:255])


def _add_plain(part: Part, content: Content) -> None:
    """Add the text of a part, and then the uuencoded files in that text."""
    text = text_of(part)
    files: list[tuple[str, bytes]] = []
    if "begin " in text:
        text, files = parted(text)
    if _parameter(part, "format") == "flowed":
        text = reflowed(text, deletes_space=_parameter(part, "delsp") == "yes")
    _add_text(text, False, content)
    if len(files) + len(content.attachments) > MOST_FILES:
        raise TooManyParts
    for name, data in files:
        content.attachments.append(Attachment(clean_name(printable(name))[:255] or "attachment", data))


def _parameter(part: Part, name: str) -> str:
    """Return a parameter of the part's type in lower case; "" for none."""
    try:
        return str(part.get_param(name) or "").strip().lower()
    except (ValueError, LookupError, TypeError):
        return ""


def _add_text(text: str, is_html: bool, content: Content) -> None:
    longest = LONGEST if is_html else LONGEST_TEXT
    if len(text) > longest:
        content.attachments.append(Attachment("message.html" if is_html else "message.txt", text.encode()))
        # HTML that is one character too long becomes plain text.
        text = text[: longest + is_html]
    content.blocks.append((is_html, text))


def filename_of(part: Part) -> str:
    """Return the file name of a part without its path; "" for none."""
    for name in ("Content-Disposition", "Content-Type"):
        # In parameters, bytes of another character set would be lost.
        value: Any = part.get(name)
        if value is not None and not isinstance(value, str):
            part.replace_header(name, header(part, name.lower()))
    try:
        raw_name = part.get_filename()
    except (ValueError, LookupError, TypeError, IndexError):  # RFC 2231 gone wrong
        return "attachment"
    if not raw_name:
        return ""
    name = clean_name(without_words(printable(raw_name)))
    if len(name) > 255:
        stem, dot, extension = name.rpartition(".")
        name = f"{stem[: 250 - len(extension)]}.{extension}" if dot and len(extension) < 20 else name[:255]
    return name


def _name_for(part: Part, declared: str, number: int) -> str:
    if declared == "message/rfc822" and part.is_multipart():
        mail = _inside(part)[0]
        # An encoded mail must be decoded before it can be parsed.
        mail = mail if mail.keys() else parse_mail(bytes_of(part))
        subject = clean_name(header(mail, "subject"))[:200]
        return f"{subject or f'message-{number}'}.eml"
    return f"part-{number}{extension_of(declared)}"


def bytes_of(part: Part) -> bytes:
    """Return the decoded content of a part; for a mail inside the mail, the bytes as they came."""
    if part.get_content_maintype() == "message" and part.is_multipart():
        return _mail_inside(part)
    return part.content


def _mail_inside(part: Part) -> bytes:
    """Return the bytes of a part that the parser has split into a mail, or into the blocks of a report."""
    first, last = _inside(part)[0], _inside(part)[-1]
    source = part.raw[first.start : last.end - len(last.source_end)]
    try:
        match header(part, "content-transfer-encoding").lower():
            case "base64":
                # Some programs do this against the standard.
                return binascii.a2b_base64(source)
            case "quoted-printable":
                return quopri.decodestring(source)
    except binascii.Error:
        pass
    return source


def text_of(part: Part) -> str:
    return decoded(bytes_of(part), charset_of(part)).replace("\r\n", "\n").removeprefix("\ufeff")
