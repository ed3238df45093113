"""A reply as a mail: text beside HTML, its attachments, and the headers by which mail programs keep a conversation."""

import re
from collections.abc import Iterable
from email.utils import formataddr

from django.conf import settings
from django.core.files.storage import default_storage
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend

from tickets import html
from tickets.models import Dispatch, Message, ReceivedMail, StoredFile, Ticket

# How many earlier messages a mail names, the first one and the last ones: RFC 5322 sets no limit, servers do.
_REFERENCES = 20
_PLACE = re.compile(r"\{\{\s*(body|signature)\s*\}\}")
_TAG = re.compile(r"\[#(\d{1,18})\]")


def compose(dispatch: Dispatch, connection: BaseEmailBackend | None = None) -> EmailMultiAlternatives:
    """The mail of this dispatch, the same at every attempt."""
    message = dispatch.message
    ticket = message.ticket
    markup = body_html(message)
    mail = EmailMultiAlternatives(
        subject=subject_of(ticket),
        body=_text(message),
        from_email=sender_of(ticket),
        to=dispatch.recipients,
        cc=dispatch.copies,
        headers=_headers(dispatch),
        connection=connection,
    )
    mail.attach_alternative(markup, "text/html")
    for file in message.files.all():
        mail.attach(file.filename, _content(file), file.content_type)
    return mail


def subject_of(ticket: Ticket) -> str:
    """With the tag that leads an answer back, whatever becomes of the other headers."""
    subject = " ".join(_TAG.sub("", ticket.subject).split())
    prefix = "" if subject.lower().startswith("re:") else "Re: "
    return f"{prefix}{subject} [#{ticket.pk}]"


def ticket_of_subject(subject: str) -> int | None:
    found = _TAG.search(subject)
    return int(found.group(1)) if found else None


def sender_of(ticket: Ticket) -> str:
    address = ticket.queue.address or settings.DEFAULT_FROM_EMAIL
    return formataddr((ticket.queue.sender_name, address)) if ticket.queue.sender_name else address


def body_html(message: Message) -> str:
    queue = message.ticket.queue
    is_html = message.body_type == Message.BodyType.HTML
    body = message.body if is_html else f"<p>{html.from_text(message.body)}</p>"
    # Not a template of Django's: what an agent wrote is put in, never run.
    parts = {"body": body, "signature": queue.signature}
    return _PLACE.sub(lambda place: parts[place.group(1)], queue.template or "{{ body }}\n{{ signature }}")


def _text(message: Message) -> str:
    if message.body_type == Message.BodyType.PLAIN:
        signature = html.as_text(message.ticket.queue.signature)
        return f"{message.body}\n\n-- \n{signature}\n" if signature else f"{message.body}\n"
    return html.as_text(body_html(message)) + "\n"


def _headers(dispatch: Dispatch) -> dict[str, str]:
    earlier = list(earlier_ids(dispatch.message))
    headers = {"Message-ID": f"<{dispatch.header_id}>"}
    if earlier:
        named = earlier if len(earlier) <= _REFERENCES else [earlier[0], *earlier[1 - _REFERENCES :]]
        headers["In-Reply-To"] = f"<{earlier[-1]}>"
        headers["References"] = " ".join(f"<{header_id}>" for header_id in named)
    if dispatch.message.is_automatic:
        # RFC 3834: so that no answering machine answers this one.
        headers |= {"Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All"}
    return headers


def earlier_ids(message: Message) -> Iterable[str]:
    """Message-IDs of the conversation before this message, oldest first; the customer's last mail is the last."""
    of_ticket = {"message__ticket": message.ticket_id, "message__id__lt": message.pk}
    received = ReceivedMail.objects.filter(**of_ticket).exclude(header_id="").values_list("message_id", "header_id")
    sent = Dispatch.objects.filter(**of_ticket).exclude(header_id="").values_list("message_id", "header_id")
    return [header_id for _pk, header_id in sorted([*received, *sent])]


def _content(file: StoredFile) -> bytes:
    with default_storage.open(file.path) as content:
        data: bytes = content.read()
    return data
