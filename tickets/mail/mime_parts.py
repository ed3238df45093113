"""The parts of a mail: some are its text, the others are files.

Of alternatives the HTML is the text, if there is one. Text parts that follow one another are all text, in their order.
A part that is neither plain text nor HTML is a file: a signature, an encrypted part, an invitation, a mail.
"""

import binascii
import quopri
from dataclasses import dataclass, field
from typing import Any

from callcentre.core.html_cleaning import LONGEST
from tickets import html
from tickets.file_storage import clean_name, extension_of
from tickets.mail import mime_parser, tnef, uuencoded
from tickets.mail.charsets import decoded, printable
from tickets.mail.flowed_text import reflowed
from tickets.mail.headers import charset_of, header, without_words
from tickets.mail.mime_parser import Part

# Above these limits the whole mail becomes one file.
MOST_FILES = 200
MOST_PARTS = 1000
DEEPEST = 50
# Characters of a plain body; a longer one is kept as a file as well.
LONGEST_TEXT = 1_000_000


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
    if is_text and not filename and not header(part, "Content-Disposition").lower().startswith("attachment"):
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
        content_id = header(part, "Content-ID").strip("<> ")[:255]
        declared = kind if "Content-Type" in part else ""
        name = filename or _name_for(part, declared, len(content.attachments) + 1)
        content.attachments.append(Attachment(name, data, content_id, declared))


def _attachment(file: tnef.File, number: int) -> Attachment:
    name = clean_name(printable(file.name))[:255] or f"part-{number}.bin"
    return Attachment(name, file.content or b"", printable(file.content_id)[:255])


def _add_plain(part: Part, content: Content) -> None:
    """Add the text of a part, and then the uuencoded files in that text."""
    text, files = uuencoded.parted(text_of(part))
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
            part.replace_header(name, header(part, name))
    try:
        name = part.get_filename() or ""
    except (ValueError, LookupError, TypeError, IndexError):  # RFC 2231 gone wrong
        return "attachment"
    name = clean_name(without_words(printable(name)))
    if len(name) > 255:
        stem, dot, extension = name.rpartition(".")
        name = f"{stem[: 250 - len(extension)]}.{extension}" if dot and len(extension) < 20 else name[:255]
    return name


def _name_for(part: Part, declared: str, number: int) -> str:
    if declared == "message/rfc822" and part.is_multipart():
        mail = _inside(part)[0]
        # An encoded mail must be decoded before it can be parsed.
        mail = mail if mail.keys() else mime_parser.read(bytes_of(part))
        subject = clean_name(header(mail, "Subject"))[:200]
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
        match header(part, "Content-Transfer-Encoding").lower():
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
