"""The intake of mail: save the raw mail, parse it, match it to its ticket, store the message; or quarantine the mail.

The raw mail is on the disk first. Then one transaction writes the message, its effects, and the mail's row. A worker
that dies in between leaves only a file, and the mail comes again: from its mailbox, or from the mail server, which got
no answer. A mail that comes again without a row may have killed its worker. So its row is written first, and after some
attempts it is quarantined.
"""

import base64
import binascii
import hashlib
import logging
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from typing import IO
from urllib.parse import unquote

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, Invalid
from tickets.file_storage import FOLDER, Stored, TooLong, store, write_through
from tickets.mail.mime_parts import MOST_FILES, Attachment
from tickets.mail.parsing import Mail, Unreadable, parse
from tickets.mail.quotations import split_quotation
from tickets.mail.ticket_match import current, screen, ticket_for
from tickets.mail_ids import ticket_of
from tickets.models import Dispatch, Message, ReceivedMail, StoredFile, Ticket, TicketQueue
from tickets.verbs.automatic_mail import acknowledge
from tickets.verbs.dispatches import record_bounce
from tickets.verbs.messages import receive_message
from tickets.verbs.tickets import open_ticket

logger = logging.getLogger(__name__)
_disk = ThreadPoolExecutor(max_workers=8, thread_name_prefix="raw-mail")

Outcome = ReceivedMail.Outcome
# The actor of what mail causes.
MAIL = Actor("system", None, "mail")
# Mails of one sender that a new queue takes within an hour. More than a person writes: another machine answers ours.
FLOOD = TicketQueue._meta.get_field("sender_limit").default
FLOOD_SPAN = timedelta(hours=1)
# Attempts at a mail that stops its worker.
MOST_ATTEMPTS = 3

# Reasons that say more after a colon.
_FLOODED = _("too many mails within an hour")
_BLOCKED = _("its sender is blocked")
_NOT_UNDERSTOOD = _("it is not understood")
_DEADLY = _("it has stopped its worker again and again")

_CONTENT_ID = re.compile(r"(?i)\bcid:([^\s\"'<>]+)")
_DATA_IMAGE = re.compile(r"(?i)(?<=src=[\"'])data:image/(png|jpe?g|gif|webp);base64,([a-z0-9+/=\s%]{1,40000000})")


class Quarantine(Exception):
    """The mail cannot become a message, for this reason. A person may try again."""


class Spam(Exception):
    """The mail is kept apart, for this reason. A person may restore it."""


class Ignored(Exception):
    """The mail need not become a message, for this reason."""

    def __init__(self, reason: str, message: Message | None = None) -> None:
        super().__init__(reason)
        self.message = message


@dataclass(frozen=True, slots=True)
class SavedMail:
    """A raw mail that is in the storage and in no row yet."""

    path: str
    sha256: str
    raw: bytes
    # False: a worker has saved this mail before, today, and may have died of it.
    is_first: bool
    # Done when the mail is on the disk. The mail is parsed meanwhile; its sender is answered afterwards.
    written: Future[None]


def take_in(
    stream: IO[bytes], queue: TicketQueue | None = None, *, place: tuple[int, int] | None = None
) -> ReceivedMail:
    """Save the raw mail, then store its message or the reason why there is none.

    `place` is the UIDVALIDITY and UID of the mail in the queue's mailbox. Raises TooLong, and the errors of the stores;
    nothing is lost then. The content of the mail raises nothing.
    """
    saved = save_raw(stream, settings.MAX_MAIL_MB * 1024 * 1024, queue.pk if queue else None)
    received = ReceivedMail(sha256=saved.sha256, queue=queue, path=saved.path, size=len(saved.raw))
    received.imap_validity, received.imap_uid = place or (None, None)
    if not saved.is_first:
        saved.written.result()
        return _take_in_again(received)
    try:
        _decide(received, saved.raw, saved.written.result)
    except IntegrityError:
        known = ReceivedMail.objects.filter(sha256=saved.sha256, queue=queue).first()
        if known is None:
            raise
        default_storage.delete(saved.path)
        return known
    return received


def save_raw(stream: IO[bytes], limit: int, queue_id: int | None) -> SavedMail:
    """Write the raw mail to the storage. Raises TooLong beyond `limit` bytes, and leaves nothing then."""
    raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise TooLong
    sha256 = hashlib.sha256(raw).hexdigest()
    # A folder a day, as for files of messages: a search for files without a row looks at one day.
    wanted = f"{FOLDER}/{timezone.now():%Y/%m/%d}/{sha256}-{queue_id or 0}"
    path = default_storage.save(wanted, ContentFile(raw))
    return SavedMail(path, sha256, raw, path == wanted, _disk.submit(write_through, path))


def _take_in_again(received: ReceivedMail) -> ReceivedMail:
    """Take in a mail that was saved before. It may have killed its worker, so its row is written first.

    Its row may be there already: the mail is known then, or another worker is processing it.
    """
    values = {name: getattr(received, name) for name in ("path", "size", "imap_validity", "imap_uid")}
    known, is_new = ReceivedMail.objects.get_or_create(sha256=received.sha256, queue=received.queue, defaults=values)
    if not is_new:
        default_storage.delete(received.path)
    if known.outcome == Outcome.RECEIVED:
        process(known.pk)
        known.refresh_from_db()
    return known


def undecided_mails() -> list[int]:
    """Return the ids of mails that have a row and no outcome: their worker died."""
    since = timezone.now() - timedelta(minutes=2)
    waiting = ReceivedMail.objects.filter(outcome=Outcome.RECEIVED, received_at__lt=since)
    return list(waiting.order_by("id").values_list("pk", flat=True)[:1000])


def process(pk: int) -> None:
    """Store the message of a mail whose row is written, or quarantine the mail with the reason."""
    waiting = ReceivedMail.objects.filter(pk=pk, outcome=Outcome.RECEIVED)
    # Count the attempt first: a worker that dies cannot count it later.
    if not waiting.update(attempt_count=F("attempt_count") + 1):
        return
    with transaction.atomic():
        received = waiting.select_for_update(no_key=True, of=("self",)).select_related("queue").first()
        if received is None:
            return
        if received.attempt_count > MOST_ATTEMPTS:
            _quarantine(received, f"{_DEADLY}: {MOST_ATTEMPTS}")
            return
        try:
            with received.open_raw() as content:
                raw = content.read()
        except FileNotFoundError:
            _quarantine(received, _("its raw mail is gone"))
            return
        _decide(received, raw)


def _quarantine(received: ReceivedMail, reason: str) -> None:
    received.outcome, received.reason = Outcome.QUARANTINED, reason
    received.save(update_fields=["outcome", "reason"])


def _decide(received: ReceivedMail, raw: bytes, wait_until_saved: Callable[[], None] = lambda: None) -> None:
    """Write the message, its effects, and the outcome of the mail, in one transaction, after the files."""
    files: list[Stored] = []
    try:
        mail = parse(raw)
        received.header_id, received.sender, received.subject = mail.header_id, mail.sender, mail.subject
        received.recipients, received.content_sha256 = mail.recipients, mail.content_sha256
        # Before the transaction, which locks the mail's id: a bucket may be slow.
        body = _with_files(mail, files)
        with transaction.atomic():
            queue = _admit(received, mail)
            _store_message(received, mail, queue, body, files)
            wait_until_saved()
            received.save()
    except (OperationalError, InterfaceError, OSError, MemoryError, IntegrityError):
        # A store failed, or another worker took in the same mail: neither is the mail's fault.
        _discard(files)
        raise
    except Ignored as reason:
        _set(received, Outcome.IGNORED, str(reason), reason.message)
    except Spam as reason:
        _set(received, Outcome.SPAM, str(reason))
    except (Quarantine, Unreadable) as reason:
        _set(received, Outcome.QUARANTINED, str(reason))
    except Invalid as reason:
        _set(received, Outcome.QUARANTINED, "; ".join(reason.messages))
    except Exception as error:
        # The content of a mail must not stop its mailbox.
        logger.exception("mail not understood", extra={"sha256": received.sha256})
        _set(received, Outcome.QUARANTINED, f"{_NOT_UNDERSTOOD}: {type(error).__name__}: {error}")
    if received.outcome != Outcome.STORED:
        _discard(files)
        wait_until_saved()
        received.save()


def _set(received: ReceivedMail, outcome: str, reason: str, message: Message | None = None) -> None:
    received.outcome, received.reason, received.message = outcome, reason.replace("\0", "")[:500], message


def _discard(files: list[Stored]) -> None:
    for file in files:
        file.discard()


def _admit(received: ReceivedMail, mail: Mail) -> TicketQueue:
    """Return the queue of the mail. Raise Quarantine or Ignored for a mail that must not become a message."""
    queue = received.queue or _queue_of(mail)
    known = screen(mail, received, received.received_at - FLOOD_SPAN, queue.sender_limit or 0)
    if ticket_of(mail.header_id) is not None:
        # A program of the customer may copy the Message-ID of our mail into its answer.
        mail.answered_ids.insert(0, mail.header_id)
        if known.is_ours or ticket_for(mail) is None:
            raise Ignored(_("it is a mail of our own"))
    elif known.is_ours:
        raise Quarantine(_("it says that it comes from one of our own addresses"))
    if known.is_of_form:
        mail.set_sender(is_form=True)
        received.sender = mail.sender
    if known.copy_id is not None:
        raise Ignored(_("it has come before, by another way"), Message.objects.get(pk=known.copy_id))
    # If a person has decided on the mail, it was to let it in.
    if not received.decided_by:
        _keep_spam_apart(mail, known.blocked_by)
    if not received.decided_by and not queue.may_send_more(mail.sender, known.recent):
        raise Quarantine(f"{_FLOODED}: {mail.sender}")
    # A ticket that cannot be answered needs a person's decision.
    if not mail.author.address and not mail.is_automatic and not received.decided_by:
        raise Quarantine(_("it has no address of a sender"))
    return queue


def _keep_spam_apart(mail: Mail, blocked_by: str | None) -> None:
    """Raise Spam for mail of a blocked sender, and for what our server calls spam unless it answers a mail of ours."""
    if blocked_by:
        raise Spam(f"{_BLOCKED}: {blocked_by}")
    if mail.is_called_spam and not any(ticket_of(each) for each in (*mail.answered_ids, *mail.reported_ids)):
        raise Spam(_("our mail server calls it spam"))


def _with_files(mail: Mail, files: list[Stored]) -> str:
    """Store the files of the mail. Return its body, which names images by the files' tokens."""
    body, body_type = mail.body
    if body_type == Message.BodyType.HTML:
        body = _with_own_images(body, mail)
    files += [store(BytesIO(each.content), len(each.content)) for each in mail.attachments]
    if files and body_type == Message.BodyType.HTML:
        tokens = {each.content_id: file.token for each, file in zip(mail.attachments, files, strict=True)}
        # RFC 2392: the id in an address may be percent-encoded.
        body = _CONTENT_ID.sub(lambda found: f"cid:{tokens.get(unquote(found[1]), found[1])}", body)
    return body


def _store_message(received: ReceivedMail, mail: Mail, queue: TicketQueue, body: str, files: list[Stored]) -> None:
    body, quoted = split_quotation(body, mail.body[1], mail.subject)
    ticket = _of_bounce(mail) if mail.is_bounce else ticket_for(mail)
    message = _add(mail, ticket, body, quoted) if ticket else None
    if message is None:
        message = _open(mail, queue, body, quoted)
    _attach(message, mail.attachments, files)
    received.outcome, received.reason, received.message = Outcome.STORED, "", message


def _with_own_images(body: str, mail: Mail) -> str:
    """Turn images that are written into the HTML into files, and name them there by `cid:`, as other mails do."""

    def to_file(found: re.Match[str]) -> str:
        if len(mail.attachments) >= MOST_FILES:
            return found[0]
        try:
            content = base64.b64decode(found[2].replace("%2B", "+").replace("%2F", "/").replace("%3D", "="))
        except binascii.Error:
            return found[0]
        number = len(mail.attachments) + 1
        name = f"image-{number}.{found[1].lower().replace('jpeg', 'jpg')}"
        mail.attachments.append(Attachment(name, content, f"data-{number}"))
        return f"cid:data-{number}"

    return _DATA_IMAGE.sub(to_file, body) if "data:image/" in body else body


def _of_bounce(mail: Mail) -> Ticket:
    """Mark the mail that did not arrive as bounced, and return its ticket."""
    bounced = Dispatch.objects.filter(header_id__in=mail.reported_ids).exclude(header_id="")
    dispatches = list(bounced.select_related("message__ticket__merged_into"))
    if not dispatches:
        raise Quarantine(_("it is a bounce of no mail of ours"))
    for dispatch in dispatches:
        record_bounce(dispatch, MAIL, mail.bounce_reason, mail.bounced)
    return current(dispatches[0].message.ticket)


def _queue_of(mail: Mail) -> TicketQueue:
    """Return the queue to whose address the mail was delivered or sent; without one, the first queue."""
    queues = list(TicketQueue.objects.active().order_by("id"))
    if not queues:
        raise Quarantine(_("there is no ticket queue"))
    by_address = {queue.address.lower(): queue for queue in reversed(queues) if queue.address}
    reached = (by_address.get(address) for address in (*mail.delivered_to, *mail.recipients))
    return next((queue for queue in reached if queue is not None), queues[0])


def _add(mail: Mail, ticket: Ticket, body: str, quoted: str) -> Message | None:
    """Add the mail to its ticket; return None if a person has just deleted the ticket."""
    try:
        return receive_message(
            ticket,
            MAIL,
            body=body,
            body_type=mail.body[1],
            quoted=quoted,
            from_name=mail.sender_name,
            from_address=mail.sender,
            reply_to=mail.reply_to,
            verdicts=mail.verdicts,
            is_automatic=mail.is_automatic,
            may_be_empty=True,
        )
    except Conflict:
        return None


def _open(mail: Mail, queue: TicketQueue, body: str, quoted: str) -> Message:
    message = open_ticket(
        MAIL,
        subject=mail.subject or "(no subject)",
        body=body,
        body_type=mail.body[1],
        quoted=quoted,
        sender=mail.sender,
        sender_name=mail.sender_name,
        reply_to=mail.reply_to,
        verdicts=mail.verdicts,
        queue=queue,
        is_automatic=mail.is_automatic,
        may_be_empty=True,
        # The sender of a newsletter and an answering machine are no customers.
        may_create_customer=not (mail.is_automatic or mail.is_newsletter),
    )
    if queue.acknowledges and not mail.is_of_list:
        acknowledge(message.ticket)
    return message


def _attach(message: Message, attachments: list[Attachment], files: list[Stored]) -> None:
    if not files:
        return
    StoredFile.objects.bulk_create(
        # The message's HTML names the file by its token.
        StoredFile.of(
            stored,
            attachment.filename,
            attachment.content_type,
            message=message,
            content_id=stored.token if attachment.content_id else "",
        )
        for attachment, stored in zip(attachments, files, strict=True)
    )
    message.attachments = [*message.attachments, *(stored.token for stored in files)]
    message.save(update_fields=["attachments"])
