"""Reading the mailboxes of ticket queues: each by one worker at a time, each mail kept before it is passed over."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

from django.conf import settings
from django.db import connection
from django.utils import timezone
from imap_tools.errors import ImapToolsError
from imap_tools.mailbox import BaseMailBox, MailBox, MailBoxUnencrypted

from tickets.mail.receiving import take_in
from tickets.models import ReceivedMail, TicketQueue

logger = logging.getLogger(__name__)

# Advisory locks of ours take one number each; the second key is the queue.
_LOCK = 7_310
TIMEOUT_SECONDS = 30


def poll(queue_id: int) -> int:
    """Take in what is new in the queue's mailbox; how many mails. Nothing where another worker is at it."""
    with _alone(queue_id) as is_alone:
        queue = TicketQueue.objects.polled().filter(pk=queue_id).first() if is_alone else None
        if queue is None:
            return 0
        try:
            with _open(queue) as mailbox:
                count, error = _read(queue, mailbox), ""
        except (ImapToolsError, OSError) as problem:
            # A person sees it in the admin; the next poll tries again.
            count, error = 0, f"{type(problem).__name__}: {problem}"[:500]
            logger.warning("mailbox not read", extra={"queue": queue_id, "error": error})
        TicketQueue.objects.filter(pk=queue_id).update(polled_at=timezone.now(), poll_error=error)
        return count


@contextmanager
def _alone(queue_id: int) -> Iterator[bool]:
    """Whether nobody else reads this mailbox now; a worker that dies lets go of it with its connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s::int, %s::int)", [_LOCK, queue_id])
        (is_alone,) = cursor.fetchone()
    try:
        yield is_alone
    finally:
        if is_alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [_LOCK, queue_id])


def _open(queue: TicketQueue) -> BaseMailBox:
    kind = MailBox if queue.imap_uses_tls else MailBoxUnencrypted
    mailbox: BaseMailBox = kind(queue.imap_host, queue.imap_port, timeout=TIMEOUT_SECONDS)
    return mailbox.login(queue.imap_user, queue.imap_password, initial_folder=queue.imap_folder)


def _read(queue: TicketQueue, mailbox: BaseMailBox) -> int:
    validity = int(mailbox.folder.status(queue.imap_folder, ["UIDVALIDITY"])["UIDVALIDITY"])
    if queue.imap_validity is None:
        # The first time: what somebody has read already is no news.
        unseen = [int(uid) for uid in mailbox.uids("UNSEEN")]
        newest = max((int(uid) for uid in mailbox.uids("ALL")), default=0)
        _remember(queue, validity, min(unseen, default=newest + 1) - 1)
    elif queue.imap_validity != validity:
        # The server counts anew: all are looked at again, and those we have are known by their bytes.
        _remember(queue, validity, 0)
    count = 0
    new = [uid for uid in map(int, mailbox.uids(f"UID {queue.imap_last_uid + 1}:*")) if uid > queue.imap_last_uid]
    for uid in sorted(new):
        _take(queue, mailbox, uid)
        _remember(queue, validity, uid)
        count += 1
    return count


def _take(queue: TicketQueue, mailbox: BaseMailBox, uid: int) -> None:
    limit = settings.MAX_MAIL_MB * 1024 * 1024
    size = mailbox.client.uid("fetch", str(uid), "(RFC822.SIZE)")[1]
    octets = int(bytes(size[0]).rpartition(b"RFC822.SIZE ")[2].rstrip(b")") or 0) if size and size[0] else 0
    if octets > limit:
        headers = _fetch(mailbox, uid, "(BODY.PEEK[HEADER])")
        received = take_in(BytesIO(headers), queue, decide=False)
        ReceivedMail.objects.filter(pk=received.pk).update(
            outcome=ReceivedMail.Outcome.QUARANTINED,
            reason=f"it has {octets:,} bytes: only its headers were read, the mail is in the mailbox",
        )
        return
    if raw := _fetch(mailbox, uid, "(BODY.PEEK[])"):
        take_in(BytesIO(raw), queue)
        mailbox.flag(str(uid), ["\\Seen"], True)


def _fetch(mailbox: BaseMailBox, uid: int, what: str) -> bytes:
    """Nothing where the mail was removed meanwhile."""
    parts = mailbox.client.uid("fetch", str(uid), what)[1]
    return next((bytes(part[1]) for part in parts if isinstance(part, tuple)), b"")


def _remember(queue: TicketQueue, validity: int, uid: int) -> None:
    queue.imap_validity, queue.imap_last_uid = validity, uid
    queue.save(update_fields=["imap_validity", "imap_last_uid"])
