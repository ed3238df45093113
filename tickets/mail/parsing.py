"""The parsing of a raw mail: its people, text, files, and whether a person or a machine wrote it.

Mail from outside breaks every rule. The parser reads all that can be read; a part that cannot be read as text is a
file. Only a mail without headers, or beyond the limits, is Unreadable, for a person to look at.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext_noop as _

from tickets.mail import mime_parts
from tickets.mail.headers import Headers, header, read_headers
from tickets.mail.mime_parts import Attachment, Part, text_of
from tickets.mail.server_verdicts import is_called_spam, verdicts_of
from tickets.mail_ids import ids_in

# The subjects of notices about a delay or a success.
_SUBJECT = re.compile(
    r"(?i)\A(?:delayed mail\b|(?:mail |message )?delivery (?:is |has been |was )?delayed\b|(?:mail|message) delayed\b"
    r"|delivery status notification \((?:delay|success|relay)\w{0,10}\)|delivery delayed:|delayed:"
    r"|warning: (?:could not send message|message \S{1,60} delayed|mail delayed)|successful mail delivery report"
    r"|(?:zugestellt|verzögert|zustellung verzögert|opóźnienie|opóźnion\w{1,3}|dostarczono|delivered|relayed):?\b)"
)
# The sentences of such notices.
_TEXT = re.compile(
    r"(?i)this is a warning(?: message)? only|(?:you )?(?:do not|don't) need to resend (?:your|the) (?:message|mail)"
    r"|no action is required on your part|(?:will|still) (?:continue|keep|be) (?:to try|trying|being retried|retried)"
    r"|(?:it|delivery) will be retried|still being retried|delivery attempts will continue|has not yet been delivered"
    r"|has been delayed and is still|transient non-fatal errors|will keep trying until|we will retry for"
    r"|będzie(?:my)? ponawia(?:ć|na|ne)|nie musisz wysyłać (?:jej |go )?ponownie|próby dostarczenia będą"
    r"|wird weiterhin versucht|(?:zustell)?versuche werden fortgesetzt|les tentatives (?:de remise )?continue"
    r"|was successfully delivered"
)
# The end of the notice: the returned mail begins here.
_ORIGINAL = re.compile(
    r"(?im)^(?:[> \t]{0,5}(?:received|return-path|message-id|from|subject):|-{2,}[ \t]{0,5}(?:this is a copy|"
    r"original message|message header|the following is|begin|below|returned message|forwarded))"
)
_LONGEST = 4000


def says_no_failure(subject: str, text: str) -> bool:
    """Return whether the notice reports a delay or a success. The returned mail below it does not count."""
    if _SUBJECT.match(subject):
        return True
    notice = text[:_LONGEST]
    if (found := _ORIGINAL.search(notice)) is not None:
        notice = notice[: found.start()]
    return _TEXT.search(" ".join(notice.split())) is not None


_MESSAGE_ID = re.compile(r"<([^<>\s]{1,255})>")
_BARE_ID = re.compile(r"[^<>\s@]{1,200}@[^<>\s@]{1,54}\Z")
# The most recipients that are stored, and the most answered mails that are looked up.
MOST_RECIPIENTS = 2000
MOST_ANSWERED = 100

# Headers of mail servers, from the most certain.
_DELIVERED = ("x-original-to", "delivered-to", "envelope-to", "x-envelope-to", "x-delivered-to")
# Headers that name people.
_OF_PEOPLE = ("from", "sender", "reply-to", "return-path", "to", "cc", *_DELIVERED)
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


@dataclass(frozen=True, slots=True)
class Person:
    """A name and an address, as a header of a mail has them."""

    name: str = ""
    address: str = ""


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
    # The person who sent it, and the address for answers, if it is not the sender's.
    sender: str = ""
    sender_name: str = ""
    reply_to: str = ""
    # From is one of our own addresses: a form of a website sent it.
    is_form: bool = False
    # The digest of text and files, which tells apart the mails of a program that gives all of them one Message-ID.
    content_sha256: str = ""
    # What our receiving server says of its sender, and whether it calls it spam.
    verdicts: str = ""
    is_called_spam: bool = False
    # A mail server says that it could not deliver a mail, for this reason.
    is_bounce: bool = False
    bounce_reason: str = ""
    # The recipients that it names.
    bounced: list[str] = field(default_factory=list)
    # Our own Message-IDs that a machine's report names.
    reported_ids: list[str] = field(default_factory=list)

    def set_sender(self, *, is_form: bool) -> None:
        """Set the person who sent it: its author; of a form on a web site, the person in Reply-To who filled it in.

        Reply-To of any other mail says where answers go, and proves nothing of its author.
        """
        self.is_form = is_form
        person = self.answers_to[0] if is_form and self.answers_to else self.author
        self.sender, self.sender_name = person.address, person.name
        answered = [each.address for each in self.answers_to]
        is_among_them = self.sender.lower() in map(str.lower, answered)
        self.reply_to = answered[0] if answered and not is_among_them else ""


def parse(raw: bytes) -> Mail:
    """Parse a raw mail. Raises Unreadable."""
    if not raw.strip():
        raise Unreadable(_("it is empty"))
    if _is_too_much(raw):
        raise Unreadable(_("it has more lines, parts or parameters than can be read"))
    try:
        message = mime_parts.parse_mail(raw)
        if not message.keys():
            raise Unreadable(_("it has no headers"))
        content = mime_parts.read(message)
        body = content.body
    except RecursionError as error:
        raise Unreadable(_("its parts are nested too deeply")) from error
    headers = read_headers(message, _OF_PEOPLE)
    mail = _read_headers(headers)
    mail.body, mail.attachments = body, content.attachments
    mail.content_sha256 = _content_sha256(mail)
    _read_kind(message, headers.texts, mail)
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


def _content_sha256(mail: Mail) -> str:
    """Return a digest of the text and the files. Line ends do not count: mailboxes and pipes differ there."""
    digest = hashlib.sha256()
    text, kind = mail.body
    pieces = [kind.encode(), text.strip().encode()]
    for file in mail.attachments:
        pieces += [file.filename.encode(), file.content.replace(b"\r\n", b"\n").strip()]
    for piece in pieces:
        digest.update(b"%d:" % len(piece))
        digest.update(piece)
    return digest.hexdigest()


def _read_headers(headers: Headers) -> Mail:
    texts, people = headers.texts, headers.people
    mail = Mail(subject=_first(texts, "subject")[:500])
    # Beside an unreadable From, the other addresses may be a machine's, which must get no reply.
    names = ("from",) if any(texts["from"]) else ("sender", "reply-to", "return-path")
    authors = [Person(person[:200], address) for name in names for person, address in people[name][:1]]
    mail.author = authors[0] if authors else Person()
    mail.answers_to = [Person(person[:200], address) for person, address in people["reply-to"]]
    mail.recipients = _lower(headers, "to", "cc")
    mail.delivered_to = _lower(headers, *_DELIVERED)
    ids = _ids_of(_first(texts, "message-id"))
    mail.header_id = ids[0] if ids else ""
    answered = _ids_of(_first(texts, "in-reply-to"))
    answered += reversed(_ids_of(_first(texts, "references")))
    mail.answered_ids = list(dict.fromkeys(answered))[:MOST_ANSWERED]
    mail.set_sender(is_form=False)
    mail.verdicts, mail.is_called_spam = verdicts_of(texts), is_called_spam(texts)
    return mail


def _first(texts: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(texts[name]), "")


def _lower(headers: Headers, *names: str) -> list[str]:
    found = [address.lower() for name in names for _name, address in headers.people[name]]
    return list(dict.fromkeys(found))[:MOST_RECIPIENTS]


def _ids_of(value: str) -> list[str]:
    """Return the Message-IDs without their brackets, or a single one that came without brackets."""
    return _MESSAGE_ID.findall(value) or [each for each in value.split()[:1] if _BARE_ID.match(each)]


def _read_kind(message: Part, texts: Mapping[str, Sequence[str]], mail: Mail) -> None:
    is_of_server = bool(_BOUNCING.match(mail.author.address) or _first(texts, "x-failed-recipients"))
    is_report = message.get_content_type() == "multipart/report"
    # A person may still have written a mail that a list forwards.
    mail.is_of_list = any(name.startswith("list-") for name in texts) or _first(texts, "precedence").lower() == "list"
    # RFC 2369: in List-Post, a list that takes no mail says "NO" or nothing; a group names its address.
    mail.is_newsletter = bool(_first(texts, "list-unsubscribe")) and "<" not in _first(texts, "list-post")
    mail.is_automatic = is_of_server or is_report or _is_automatic(texts, mail)
    if not mail.is_automatic:
        return
    parts = [part for part in message.walk() if part is not message]
    mail.reported_ids = _reported(parts, mail.body[0])
    reports = [part for part in parts if part.get_content_type() == "message/delivery-status"]
    statuses = [_status_of(part) for part in reports]
    failed = [*texts["x-failed-recipients"], *(each for part in reports for each in _failed(part))]
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


def _is_automatic(texts: Mapping[str, Sequence[str]], mail: Mail) -> bool:
    precedence = _first(texts, "precedence").lower()
    submitted = _first(texts, "auto-submitted").lower()
    return any(
        (
            bool(submitted) and not submitted.startswith("no"),
            # Lists write "bulk" too.
            precedence in _AUTOMATIC_PRECEDENCE and not (precedence == "bulk" and mail.is_of_list),
            any(_first(texts, name) for name in ("x-autoreply", "x-autorespond", "x-mail-autoreply")),
            bool(_SUPPRESSED.search(_first(texts, "x-auto-response-suppress"))),
            "<>" in texts["return-path"],
            bool(_AUTOMATIC_SUBJECT.match(mail.subject)),
        )
    )


def _reported(parts: list[Part], body: str) -> list[str]:
    """Return our Message-IDs in the mails, headers and texts of a report."""
    found = ids_in(body)
    for part in parts:
        found += ids_in(header(part, "message-id"))
        if part.get_content_type() in ("text/rfc822-headers", "text/plain"):
            found += ids_in(text_of(part))
    return list(dict.fromkeys(found))[:MOST_ANSWERED]


def _failed(part: Part) -> list[str]:
    """Return the recipients that a delivery report calls failed."""
    blocks = part.get_payload() if part.is_multipart() else []
    blocks_of_fields = [read_headers(block).texts for block in blocks if isinstance(block, Part)]
    return [
        value
        for fields in blocks_of_fields
        if _first(fields, "action").lower() in ("failed", "")
        for name in ("original-recipient", "final-recipient")
        for value in fields[name]
    ]


def _status_of(part: Part) -> str:
    """Return the fields of a delivery report, which the parser reads as headers of mails."""
    blocks = part.get_payload() if part.is_multipart() else [part]
    lines = [f"{name}: {value}" for block in blocks if isinstance(block, Part) for name, value in block.raw_items()]
    return "\n".join(lines) if part.is_multipart() else text_of(part)
