"""The parsing of a raw mail: its people, text, files, and whether a person or a machine wrote it.

Mail from outside breaks every rule. The parser reads all that can be read; a part that cannot be read as text is a
file. Only a mail without headers, or beyond the limits, is Unreadable, for a person to look at.
"""

import re
from dataclasses import dataclass, field

from django.utils.translation import gettext_noop as _

from tickets.mail import mime_parser, mime_parts
from tickets.mail.bounce_notices import says_no_failure
from tickets.mail.headers import addresses, header, headers
from tickets.mail.mime_parser import Part
from tickets.mail.mime_parts import Attachment, text_of
from tickets.mail.sender_identity import Person, answers_elsewhere, sender_of
from tickets.mail_ids import ids_in

_MESSAGE_ID = re.compile(r"<([^<>\s]{1,255})>")
_BARE_ID = re.compile(r"[^<>\s@]{1,200}@[^<>\s@]{1,54}\Z")
# The most recipients that are stored, and the most answered mails that are looked up.
MOST_RECIPIENTS = 2000
MOST_ANSWERED = 100

# Headers of mail servers, from the most certain.
_DELIVERED = ("X-Original-To", "Delivered-To", "Envelope-To", "X-Envelope-To", "X-Delivered-To")
# The senders of bounces.
_BOUNCING = re.compile(r"(?i)\A(mailer-daemon|postmaster)@")
_AUTOMATIC_PRECEDENCE = ("bulk", "junk", "auto_reply", "auto-reply")
# The subjects of answering machines that set no header.
_AUTOMATIC_SUBJECT = re.compile(
    r"(?i)\A(?:automatic reply|auto(?:matyczna)?[ -]?odpowied[zź]|odpowied[zź] automatyczna|out of office|"
    r"automatische antwort|abwesenheitsnotiz|réponse automatique|respuesta automática)\b"
)
_SUPPRESSED = re.compile(r"(?i)\b(?:all|oof|autoreply)\b")
# Fields of RFC 3464, one for each recipient.
_ACTION = re.compile(r"(?im)^action:\s*([a-z]+)")
_DIAGNOSTIC = re.compile(r"(?im)^diagnostic-code:\s*+(?:[\w-]++;\s*+)?(.++(?:\n[ \t].++)*+)")
_RECIPIENT = re.compile(r"(?i)\A(?:rfc822;)?\s*<?([^<>\s;,@]{1,64}@[^<>\s;,@]{1,255})>?\s*\Z")
_STATUS = re.compile(r"(?im)^status:\s*([245]\.\d{1,3}\.\d{1,3})")


# Limits on the work that parsing a mail may cost. Python's parser looks at each line once for each multipart around it,
# and makes a message of each part and of each block of a delivery report.
MOST_LINES = 2_000_000
MOST_LINES_OF_MULTIPARTS = 20_000_000
MOST_PARTS = 100_000
LONGEST_TYPE = 100_000
# The headers whose parameters it reads in quadratic time.
_TYPE = re.compile(rb"(?im)^content-(?:type|disposition):[^\n]*+(?:\n[ \t][^\n]*+)*+")


class Unreadable(Exception):
    """No ticket can be made of this mail, for this reason."""


@dataclass(slots=True)
class Mail:
    """A parsed mail."""

    header_id: str = ""
    # From, and Reply-To.
    author: Person = field(default_factory=Person)
    answers_to: list[Person] = field(default_factory=list)
    # Lower-cased addresses of To and Cc.
    recipients: list[str] = field(default_factory=list)
    # Lower-cased addresses to which mail servers say that they delivered it.
    delivered_to: list[str] = field(default_factory=list)
    subject: str = ""
    # In-Reply-To first, then References from the newest.
    answered_ids: list[str] = field(default_factory=list)
    # The text, and its type: HTML or PLAIN.
    body: tuple[str, str] = ("", "PLAIN")
    attachments: list[Attachment] = field(default_factory=list)
    # A machine wrote it: an answering machine or a mail server.
    is_automatic: bool = False
    # A mailing list forwarded it: an automatic answer would go to the whole list.
    is_of_list: bool = False
    # A list forwarded it to which members cannot write.
    is_newsletter: bool = False
    # From is one of our own addresses: a form of a website sent it.
    is_form: bool = False
    # A mail server says that it could not deliver a mail, for this reason.
    is_bounce: bool = False
    bounce_reason: str = ""
    # The recipients that it names.
    bounced: list[str] = field(default_factory=list)
    # Our own Message-IDs that a machine's report names.
    reported_ids: list[str] = field(default_factory=list)

    @property
    def _person(self) -> Person:
        return sender_of(self.author, self.answers_to, is_own=self.is_form)

    @property
    def sender(self) -> str:
        """The address of the person who sent it."""
        return self._person.address

    @property
    def sender_name(self) -> str:
        """The name of the person who sent it."""
        return self._person.name

    @property
    def reply_to(self) -> str:
        """The address for answers, if it is not the sender's."""
        elsewhere = answers_elsewhere(self._person, self.answers_to)
        return elsewhere.address if elsewhere else ""


def parse(raw: bytes) -> Mail:
    """Parse a raw mail. Raises Unreadable."""
    if not raw.strip():
        raise Unreadable(_("it is empty"))
    if _is_too_much(raw):
        raise Unreadable(_("it has more lines, parts or parameters than can be read"))
    try:
        message = mime_parser.read(raw)
        if not message.keys():
            raise Unreadable(_("it has no headers"))
        mail = _read_headers(message)
        content = mime_parts.read(message)
    except RecursionError as error:
        raise Unreadable(_("its parts are nested too deeply")) from error
    mail.body, mail.attachments = content.body, content.attachments
    _read_kind(message, mail)
    return mail


def _is_too_much(raw: bytes) -> bool:
    lines, lower = raw.count(b"\n"), raw.lower()
    multiparts = lower.count(b"multipart/")
    parts = raw.count(b"\n--") if multiparts else 0
    # The search for pairs counts only each second of several empty lines in a row.
    blocks = 2 * (raw.count(b"\n\n") + raw.count(b"\n\r\n")) if b"/delivery-status" in lower else 0
    return (
        lines > MOST_LINES
        or lines * multiparts > MOST_LINES_OF_MULTIPARTS
        or max(parts, blocks) > MOST_PARTS
        or any(len(found[0]) > LONGEST_TYPE for found in _TYPE.finditer(raw))
    )


def _read_headers(message: Part) -> Mail:
    mail = Mail(subject=header(message, "Subject")[:500])
    # Beside an unreadable From, the other addresses may be a machine's, which must get no reply.
    names = ("From",) if any(headers(message, "From")) else ("Sender", "Reply-To", "Return-Path")
    authors = (_people(message, name) for name in names)
    mail.author = next((people[0] for people in authors if people), Person())
    mail.answers_to = _people(message, "Reply-To")
    mail.recipients = _lower(message, "To", "Cc")
    mail.delivered_to = _lower(message, *_DELIVERED)
    ids = ids_of(header(message, "Message-ID"))
    mail.header_id = ids[0] if ids else ""
    answered = ids_of(header(message, "In-Reply-To"))
    answered += reversed(ids_of(header(message, "References")))
    mail.answered_ids = list(dict.fromkeys(answered))[:MOST_ANSWERED]
    return mail


def _people(message: Part, name: str) -> list[Person]:
    return [Person(person[:200], address) for person, address in addresses(message, name)]


def _lower(message: Part, *names: str) -> list[str]:
    found = [address.lower() for name in names for _name, address in addresses(message, name)]
    return list(dict.fromkeys(found))[:MOST_RECIPIENTS]


def ids_of(value: str) -> list[str]:
    """Return the Message-IDs without their brackets, or a single one that came without brackets."""
    return _MESSAGE_ID.findall(value) or [each for each in value.split()[:1] if _BARE_ID.match(each)]


def _read_kind(message: Part, mail: Mail) -> None:
    is_of_server = bool(_BOUNCING.match(mail.author.address) or header(message, "X-Failed-Recipients"))
    is_report = message.get_content_type() == "multipart/report"
    mail.is_of_list = _is_of_list(message)
    # RFC 2369: in List-Post, a list that takes no mail says "NO" or nothing; a group names its address.
    mail.is_newsletter = bool(header(message, "List-Unsubscribe")) and "<" not in header(message, "List-Post")
    mail.is_automatic = is_of_server or is_report or _is_automatic(message, mail)
    if not mail.is_automatic:
        return
    parts = [part for part in message.walk() if part is not message]
    mail.reported_ids = _reported(parts, mail.body[0])
    reports = [part for part in parts if part.get_content_type() == "message/delivery-status"]
    statuses = [status_of(part) for part in reports]
    failed = [*headers(message, "X-Failed-Recipients"), *(each for part in reports for each in _failed(part))]
    mail.bounced = [found[1] for each in failed for one in each.split(",") if (found := _RECIPIENT.match(one.strip()))]
    if statuses:
        status = "\n".join(statuses)
        actions = {action.lower() for action in _ACTION.findall(status)}
        mail.is_bounce = "failed" in actions or not actions
        reasons = _DIAGNOSTIC.findall(status) or _STATUS.findall(status)
        mail.bounce_reason = " ".join("; ".join(dict.fromkeys(reasons)).split())[:500]
    else:
        # Older servers send a text, and the mail itself.
        mail.is_bounce = is_of_server and not says_no_failure(mail.subject, mail.body[0])
    mail.bounce_reason = mail.bounce_reason or mail.subject


def _is_of_list(message: Part) -> bool:
    """Return whether a mailing list forwarded it. A person may still have written it."""
    names = (name.lower() for name in message.keys())  # noqa: SIM118  (a mail is no mapping)
    return any(name.startswith("list-") for name in names) or header(message, "Precedence").lower() == "list"


def _is_automatic(message: Part, mail: Mail) -> bool:
    precedence = header(message, "Precedence").lower()
    submitted = header(message, "Auto-Submitted").lower()
    return any(
        (
            bool(submitted) and not submitted.startswith("no"),
            # Lists write "bulk" too.
            precedence in _AUTOMATIC_PRECEDENCE and not (precedence == "bulk" and mail.is_of_list),
            any(header(message, name) for name in ("X-Autoreply", "X-Autorespond", "X-Mail-Autoreply")),
            bool(_SUPPRESSED.search(header(message, "X-Auto-Response-Suppress"))),
            "<>" in headers(message, "Return-Path"),
            bool(_AUTOMATIC_SUBJECT.match(mail.subject)),
        )
    )


def _reported(parts: list[Part], body: str) -> list[str]:
    """Return our Message-IDs in the mails, headers and texts of a report."""
    found = ids_in(body)
    for part in parts:
        found += ids_in(header(part, "Message-ID"))
        if part.get_content_type() in ("text/rfc822-headers", "text/plain"):
            found += ids_in(text_of(part))
    return list(dict.fromkeys(found))[:MOST_ANSWERED]


def _failed(part: Part) -> list[str]:
    """Return the recipients that a delivery report calls failed."""
    blocks = part.get_payload() if part.is_multipart() else []
    return [
        value
        for block in blocks
        if isinstance(block, Part) and header(block, "Action").lower() in ("failed", "")
        for name in ("Original-Recipient", "Final-Recipient")
        for value in headers(block, name)
    ]


def status_of(part: Part) -> str:
    """Return the fields of a delivery report, which the parser reads as headers of mails."""
    blocks = part.get_payload() if part.is_multipart() else [part]
    lines = [f"{name}: {value}" for block in blocks if isinstance(block, Part) for name, value in block.raw_items()]
    return "\n".join(lines) if part.is_multipart() else text_of(part)
