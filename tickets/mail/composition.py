"""The composition of a reply as a mail: text and HTML, files, and the headers that keep a conversation together."""

import re
from collections.abc import Iterable, Mapping, Sequence
from email import encoders
from email.message import Message as EmailMessage
from email.mime.base import MIMEBase
from email.utils import formataddr, parseaddr
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.core.mail import EmailMultiAlternatives, SafeMIMEMultipart
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import translation
from django.utils.translation import gettext as _

from tickets import html
from tickets.addresses import needs_smtputf8, on_the_wire
from tickets.models import Dispatch, Message, ReceivedMail, StoredFile, Ticket
from tickets.placeholders import fill, has_placeholder, values_for
from tickets.rating_links import rating_url

# The number of earlier messages that a mail names, the first and the last ones. Servers limit it; RFC 5322 does not.
_REFERENCES = 20
_TAG = re.compile(r"\[#(\d{1,18})\]")
# The prefixes of answers. RFC 5256 ignores them, and a tag in brackets after them.
_ANSWER = re.compile(r"(?i)\A(?:\s*+(?:re|odp|aw|antw|sv|vs|r|ref|res|rv)\s*+(?:\[\d+\]\s*+)?:)++\s*+")
# The same, with labels such as [EXTERNAL] and the prefixes of forwarded mail.
_BEFORE_SUBJECT = re.compile(
    r"(?i)\A(?:\s*+(?:(?:re|odp|aw|antw|sv|vs|r|ref|res|rv|fwd?|pd|wg|tr|i|enc)\s*+(?:\[\d+\]\s*+)?:"
    r"|\[[^\[\]]{1,40}\]))++\s*+"
)
_MOST_TAGS = 10
_COMPARED = 400
_HEADER_ID = re.compile(r"[\x21-\x7e]{1,255}")
_CONTENT_ID = re.compile(r"cid:([^\"'\s>]+)")
_LINK_TAG = re.compile(r"(?i)(<a\b[^<>]*>|</a\s*>)")
_LINKED = re.compile(r"(?i)\bhref=[\"'](https?://[^\"'<>]+)[\"']")
_PARAGRAPH = re.compile(r"(?i)</p\s*>")
_PAGE = """<!DOCTYPE html>
<html lang="{language}"><head><meta charset="utf-8"></head>
<body>
{body}
</body></html>
"""


class _Mail(EmailMultiAlternatives):
    """A mail whose HTML has its images beside it (multipart/related). It goes to `addressees` only.

    Its headers may name more people.
    """

    images: Sequence[MIMEBase] = ()
    addressees: Sequence[str] = ()

    def recipients(self) -> list[str]:
        return list(self.addressees)

    def message(self, **kwargs: Any) -> Any:
        message: Any = super().message(**kwargs)
        if self.images:
            alternatives = message if message.get_content_subtype() == "alternative" else message.get_payload(0)
            related = SafeMIMEMultipart(_subtype="related", encoding=self.encoding, type="text/html")
            for part in (alternatives.get_payload().pop(), *self.images):
                related.attach(part)
            alternatives.attach(related)
        for name, addresses in (("To", self.to), ("Cc", self.cc)):
            if any(map(needs_smtputf8, addresses)):
                _write_unencoded(message, name, addresses)
        return message


def _write_unencoded(message: Any, name: str, addresses: Sequence[str]) -> None:
    """Replace a header by its addresses in UTF-8 (RFC 6532). Django would encode, and so change, their local parts."""
    wanted = ", ".join(map(on_the_wire, addresses)).encode().decode("ascii", "surrogateescape")
    del message[name]
    # The generator writes such text byte for byte; Django's own method would encode it again.
    EmailMessage.__setitem__(message, name, wanted)


def compose(dispatch: Dispatch, connection: BaseEmailBackend | None = None) -> EmailMultiAlternatives:
    """Compose the mail of a dispatch, with the same Message-ID at every attempt."""
    message = dispatch.message
    with translation.override(message.ticket.queue.language):
        markup = body_html(message)
        text = _text(message)
    mail = _Mail(
        subject=subject_of(message.ticket),
        body=text,
        from_email=sender_of(message.ticket),
        to=dispatch.recipients,
        cc=dispatch.copies,
        headers=_headers(dispatch),
        connection=connection,
    )
    mail.addressees = dispatch.addressees
    mail.attach_alternative(markup, "text/html")
    shown = set(_CONTENT_ID.findall(markup))
    files = list(message.files.all())
    mail.images = [_part(file, "inline") for file in files if _is_shown(file, shown)]
    for file in files:
        if not _is_shown(file, shown):
            mail.attach(_part(file, "attachment"))
    return mail


def subject_of(ticket: Ticket) -> str:
    """Return the subject of a reply, with the tag by which an answer finds its ticket if all other headers are lost.

    The tag is before the subject, where mail programs that group by subject ignore it.
    """
    return f"Re: [#{ticket.pk}] {_base_subject(ticket)}".strip()


def _base_subject(ticket: Ticket) -> str:
    return _ANSWER.sub("", _one_line(_TAG.sub(" ", ticket.subject)))


def tickets_of_subject(subject: str) -> list[int]:
    """Return the numbers of tickets that the tags in a subject name."""
    return [int(number) for number in dict.fromkeys(_TAG.findall(subject))][:_MOST_TAGS]


def are_of_one_subject(one: str, other: str) -> bool:
    """Return whether two subjects differ only in tags and in what mail programs put before the subject."""
    return _compared(one) == _compared(other)


def _compared(subject: str) -> str:
    # The stored subject of a received mail was cut to a length, tag included.
    return _BEFORE_SUBJECT.sub("", _one_line(_TAG.sub(" ", subject)))[:_COMPARED].strip().casefold()


def sender_of(ticket: Ticket) -> str:
    name, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    return formataddr((_one_line(ticket.queue.sender_name) or name, ticket.queue.address or address))


def _one_line(text: str) -> str:
    """Return the text without line breaks and control characters, which could begin another header."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())


def body_html(message: Message) -> str:
    """Return the HTML page: the message in its queue's template, with the signatures and the link to rate it."""
    queue = message.ticket.queue
    values = values_for(message.ticket, message.agent)
    values["signature"] = _signatures(message, values)
    is_html = message.body_type == Message.BodyType.HTML
    values["body"] = message.body if is_html else f"<p>{html.from_text(message.body)}</p>"
    template = queue.template or "{{ body }}\n{{ signature }}"
    if not has_placeholder(template, "body"):
        template = "{{ body }}\n" + template
    values["signature" if has_placeholder(template, "signature") else "body"] += _rating_html(message)
    markup = fill(template, values)
    return markup if "<html" in markup.lower() else _PAGE.format(language=queue.language, body=markup)


def _signatures(message: Message, values: Mapping[str, str]) -> str:
    """Return the signature of the agent and that of the ticket queue, as HTML. An automatic mail has no agent's."""
    own = getattr(message.agent, "preferences", None)
    texts = (own.signature if own else "", message.ticket.queue.signature)
    return "\n".join(fill(text, values) for text in texts if text)


def _text(message: Message) -> str:
    url = _rating_url(message)
    if message.body_type == Message.BodyType.PLAIN:
        signature = html.as_text(_signatures(message, values_for(message.ticket, message.agent)))
        lines = [message.body, f"-- \n{signature}" if signature else ""]
        lines.append(f"{_question()}\n{url}" if url else "")
        return "\n\n".join(line for line in lines if line) + "\n"
    # Keep paragraphs apart in the text too.
    markup = _PARAGRAPH.sub("</p><br>", html.without_hidden(body_html(message)))
    return html.as_text(_with_addresses(markup)) + "\n"


def _with_addresses(markup: str) -> str:
    """Return the HTML with the address of each link after it, for readers of the plain text."""
    parts, name, url = [], [], ""
    for part in _LINK_TAG.split(markup):
        if not part.lower().startswith(("<a", "</a")) or not _LINK_TAG.fullmatch(part):
            name.append(part)
            continue
        parts.append(_spelled(url, "".join(name)))
        found = _LINKED.search(part)
        name, url = [], found[1] if found else ""
    return "".join([*parts, *name])


def _spelled(url: str, name: str) -> str:
    return name if not url or html.as_text(name) == url else f"{name} ({url})"


def _rating_url(message: Message) -> str:
    is_asked = message.ticket.queue.asks_for_rating and not message.is_automatic
    return rating_url(message) if is_asked else ""


def _rating_html(message: Message) -> str:
    if not (url := _rating_url(message)):
        return ""
    return f'\n<p><a href="{url}">{_question()}</a></p>'


def _question() -> str:
    return _("Are you satisfied with this answer?")


def _headers(dispatch: Dispatch) -> dict[str, str]:
    earlier = list(earlier_ids(dispatch.message))
    headers = {"Message-ID": f"<{dispatch.header_id}>"}
    if earlier:
        named = earlier if len(earlier) <= _REFERENCES else [earlier[0], *earlier[1 - _REFERENCES :]]
        headers["In-Reply-To"] = f"<{earlier[-1]}>"
        headers["References"] = " ".join(f"<{header_id}>" for header_id in named)
    if topic := _base_subject(dispatch.message.ticket):
        # Exchange groups by this header. Without it, it would group by the subject with our tag.
        headers["Thread-Topic"] = topic
    if dispatch.message.is_automatic:
        # RFC 3834: tells answering machines not to answer.
        headers |= {"Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All"}
    return headers


def earlier_ids(message: Message) -> Iterable[str]:
    """Return the Message-IDs of the conversation before this message, oldest first."""
    of_ticket = {"message__ticket": message.ticket_id, "message__id__lt": message.pk}
    received = ReceivedMail.objects.filter(**of_ticket).values_list("message_id", "header_id")
    sent = Dispatch.objects.filter(**of_ticket).values_list("message_id", "header_id")
    # An invalid id would spoil the others in the header.
    return [header_id for _pk, header_id in sorted([*received, *sent]) if _HEADER_ID.fullmatch(header_id)]


def _is_shown(file: StoredFile, shown: set[str]) -> bool:
    """Return whether the HTML shows the file: an image that it names by `cid:` and the token."""
    return file.token in shown and file.content_type.startswith("image/")


def _part(file: StoredFile, disposition: str) -> MIMEBase:
    """Return the file as a part, byte for byte; texts too, so that their line ends stay."""
    kind = "application/octet-stream" if file.content_type.startswith(("message/", "multipart/")) else file.content_type
    part = MIMEBase(*kind.split("/", 1))
    with default_storage.open(file.path) as content:
        part.set_payload(content.read())
    encoders.encode_base64(part)
    name: Any = file.filename if file.filename.isascii() else ("utf-8", "", file.filename)
    part.add_header("Content-Disposition", disposition, filename=name)
    if disposition == "inline":
        part.add_header("Content-ID", f"<{file.token}>")
    return part
