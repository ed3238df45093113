"""A mail as it came, read: who wrote what to whom, with which files, and whether a person wrote it.

Mail from outside is wrong in every way there is. Whatever can be read is; a part that cannot be read as text is a
file; only what has no headers at all is given up (Unreadable), for a person to look at.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import policy
from email.message import Message
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from typing import Any

from tickets.storing import clean_name

# What mail programs declare is often an older name, or a subset, of what they mean.
_MEANT = {
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "unicode-1-1-utf-7": "utf-7",
}
_MESSAGE_ID = re.compile(r"<([^<>\s]{1,255})>")
# Of a bounce: RFC 3464's report, and older ones that say so by their sender.
_BOUNCING = re.compile(r"(?i)\A(mailer-daemon|postmaster)@")
_AUTOMATIC_PRECEDENCE = ("bulk", "junk", "auto_reply", "list")


class Unreadable(Exception):
    """There is nothing in it that a ticket could be made of; says why."""


@dataclass(slots=True)
class Attachment:
    filename: str
    content: bytes
    content_id: str = ""


@dataclass(slots=True)
class Mail:
    header_id: str = ""
    sender: str = ""
    sender_name: str = ""
    # Lower-cased addresses of To and Cc.
    recipients: list[str] = field(default_factory=list)
    subject: str = ""
    date: datetime | None = None
    # In-Reply-To first, then References from the newest.
    answered_ids: list[str] = field(default_factory=list)
    html: str = ""
    text: str = ""
    attachments: list[Attachment] = field(default_factory=list)
    # Written by a machine: an answering machine, a list, a bounce.
    is_automatic: bool = False
    is_bounce: bool = False
    # Message-IDs named inside a bounce.
    bounced_ids: list[str] = field(default_factory=list)

    @property
    def body(self) -> tuple[str, str]:
        """The body and its type as messages have it."""
        return (self.html, "HTML") if self.html.strip() else (self.text, "PLAIN")


def parse(raw: bytes) -> Mail:
    """Raises Unreadable."""
    try:
        message: Any = BytesParser(policy=policy.default).parsebytes(raw)
        mail = _read_headers(message)
    except Exception:  # noqa: BLE001  (the strict parser gives up on headers that the old one reads past)
        message = BytesParser(policy=policy.compat32).parsebytes(raw)
        mail = _read_headers(message)
    if not message.keys():
        raise Unreadable("it has no headers")
    for part in _parts(message):
        _read_part(part, mail)
    _read_kind(message, mail)
    return mail


def _header(message: Message, name: str) -> str:
    try:
        value = message.get(name)
        return "" if value is None else " ".join(_printable(str(value)).split())
    except Exception:  # noqa: BLE001  (malformed in a way that the header's own parser did not foresee)
        raw = dict(message.raw_items()).get(name, "")
        return " ".join(_printable(str(raw)).split())


def _printable(text: str) -> str:
    """Without what PostgreSQL does not take, and bytes that were no text shown as such."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "")


def _read_headers(message: Message) -> Mail:
    mail = Mail(subject=_header(message, "Subject")[:500])
    senders = _addresses(message, "From") or _addresses(message, "Sender") or _addresses(message, "Return-Path")
    reply_to = _addresses(message, "Reply-To")
    if senders:
        mail.sender_name, mail.sender = senders[0][0][:200], senders[0][1][:320]
    if reply_to and "@" in reply_to[0][1]:
        mail.sender = reply_to[0][1][:320]
    mail.recipients = [address.lower() for name in ("To", "Cc") for _name, address in _addresses(message, name)]
    ids = _MESSAGE_ID.findall(_header(message, "Message-ID"))
    mail.header_id = ids[0] if ids else ""
    answered = _MESSAGE_ID.findall(_header(message, "In-Reply-To"))
    answered += reversed(_MESSAGE_ID.findall(_header(message, "References")))
    mail.answered_ids = list(dict.fromkeys(answered))[:100]
    try:
        date = parsedate_to_datetime(_header(message, "Date"))
        mail.date = date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        mail.date = None
    return mail


def _addresses(message: Message, name: str) -> list[tuple[str, str]]:
    try:
        values = [str(value) for value in message.get_all(name, [])]
    except Exception:  # noqa: BLE001  (see _header)
        values = [_header(message, name)]
    return [
        (" ".join(_printable(person).split()), _printable(address).strip())
        for person, address in getaddresses(values)
        if address
    ]


def _parts(message: Message) -> Iterator[Message]:
    """The leaves, in order; a message inside it is one leaf. Of alternatives all are given."""
    if message.is_multipart() and message.get_content_maintype() != "message":
        for part in message.get_payload():
            if isinstance(part, Message):
                yield from _parts(part)
    else:
        yield message


def _read_part(part: Message, mail: Mail) -> None:
    kind = part.get_content_type()
    filename = _filename(part)
    disposition = str(part.get("Content-Disposition", "")).strip().lower()
    is_file = disposition.startswith("attachment") or bool(filename)
    if kind in ("text/plain", "text/html") and not is_file:
        text = _text(part)
        if kind == "text/html":
            mail.html += text
        else:
            mail.text += f"\n{text}" if mail.text else text
        return
    content = _content(part)
    if content or filename:
        content_id = str(part.get("Content-ID", "")).strip().strip("<>")[:255]
        mail.attachments.append(Attachment(filename or _name_for(part, len(mail.attachments)), content, content_id))


def _filename(part: Message) -> str:
    try:
        return clean_name(_printable(part.get_filename() or ""))[:255]
    except Exception:  # noqa: BLE001  (RFC 2231 gone wrong)
        return "attachment"


def _name_for(part: Message, position: int) -> str:
    if part.get_content_maintype() == "message":
        inner: Any = part.get_payload(0) if part.is_multipart() else {}
        subject = inner.get("Subject", "")
        return (clean_name(_printable(str(subject)))[:200] or f"message-{position + 1}") + ".eml"
    extension = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "application/pdf": ".pdf"}
    return f"part-{position + 1}{extension.get(part.get_content_type(), '.bin')}"


def _content(part: Message) -> bytes:
    if part.get_content_maintype() == "message" and part.is_multipart():
        inner: Any = part.get_payload(0)
        try:
            return bytes(inner.as_bytes(policy=policy.compat32))
        except Exception:  # noqa: BLE001  (headers that cannot be written as they were read)
            return str(inner.get_payload()).encode("utf-8", "replace")
    try:
        payload = part.get_payload(decode=True)
    except Exception:  # noqa: BLE001  (an encoding that is none)
        payload = str(part.get_payload()).encode("utf-8", "surrogateescape")
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message) -> str:
    """As declared if that works; else as UTF-8 if it is; else as what is common where nothing better is known."""
    raw = _content(part)
    declared = str(part.get_content_charset() or "utf-8").lower()
    for charset in (_MEANT.get(declared, declared), "utf-8", "cp1250"):
        try:
            return _printable(raw.decode(charset))
        except (UnicodeDecodeError, LookupError):
            continue
    return _printable(raw.decode("cp1252", "replace"))


def _read_kind(message: Message, mail: Mail) -> None:
    is_report = message.get_content_type() == "multipart/report"
    mail.is_bounce = is_report or bool(_BOUNCING.match(mail.sender))
    submitted = _header(message, "Auto-Submitted").lower()
    mail.is_automatic = mail.is_bounce or any(
        (
            bool(submitted) and not submitted.startswith("no"),
            _header(message, "Precedence").lower() in _AUTOMATIC_PRECEDENCE,
            bool(_header(message, "X-Autoreply") or _header(message, "X-Autorespond")),
            bool(_header(message, "List-Id")),
            _header(message, "Return-Path") == "<>",
        )
    )
    if mail.is_bounce:
        named = [part for part in message.walk() if part is not message]
        found = [identifier for part in named for identifier in _MESSAGE_ID.findall(_header(part, "Message-ID"))]
        found += [
            identifier
            for part in named
            if part.get_content_type() == "text/rfc822-headers"
            for identifier in re.findall(r"(?im)^message-id:\s*<([^<>\s]+)>", _text(part))
        ]
        mail.bounced_ids = list(dict.fromkeys(found))
