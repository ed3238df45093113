"""The reading of the mailboxes of ticket queues, by one process at a time: a worker that polls, or the watch.

The queue's row says how far its mailbox is read. It is written after the mails. If the worker dies in between, or the
server numbers its mails anew, mails come again and are known by their bytes: none is lost, none is doubled. A mail that
the server withholds is quarantined without its text, and the poll goes on.
"""

import imaplib
import logging
import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from errno import ENOSPC
from io import BytesIO
from os import strerror
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import gettext_noop as _
from imap_tools.mailbox import BaseMailBox
from imap_tools.query import AND

from callcentre.core.advisory_locks import try_lock
from callcentre.core.enqueue import enqueue
from callcentre.core.free_space import is_full
from tickets.file_storage import TooLong
from tickets.mail.headers import read_headers
from tickets.mail.intake import take_in
from tickets.mail.mailbox_connection import in_words, open_mailbox
from tickets.mail.mime_parts import parse_mail
from tickets.models import ReceivedMail, TicketQueue

logger = logging.getLogger(__name__)

# The first key of the advisory lock on a mailbox; the second key is the queue.
LOCK_SPACE = 7_310
# The limit for a whole poll, however slowly the server sends.
LONGEST_SECONDS = 300
# After this time a turn ends, so that others get the worker; another one goes on.
TURN_SECONDS = 50
# Mails after which the place in the mailbox is saved.
BATCH = 25
# Polls that may fail at one mail before it is skipped.
MOST_TRIES = 3
# The pause before the next attempt is as long as the mailbox has failed already, up to this.
LONGEST_PAUSE = timedelta(minutes=15)

# Reasons to leave a mail in the mailbox.
_TOO_LARGE = _("too large to be taken in")
_PASSED_OVER = _("the mailbox could not be read past it")
_WITHHELD = _("the server does not give it out")

_UID = re.compile(rb"\bUID (\d+)")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d+)")


def poll(queue_id: int) -> int:
    """Take in the new mails of the queue's mailbox; return their number. Do nothing if another process has it, or
    during the pause after a failure.
    """
    with try_lock(LOCK_SPACE, queue_id) as is_locked:
        queue = TicketQueue.objects.polled().filter(pk=queue_id).first() if is_locked else None
        if queue is None or not _is_due(queue):
            return 0
        turn = read(queue, lambda: open_mailbox(queue, LONGEST_SECONDS))
        if turn.has_more:
            enqueue("tickets.poll_mailbox", queue.pk)
        return turn.count


def read(queue: TicketQueue, opened: Callable[[], AbstractContextManager[BaseMailBox]]) -> "Turn":
    """Take in the new mails of a mailbox that is locked by this process, and save success or failure at the queue."""
    turn = Turn(queue)
    try:
        if is_full():  # a mail that cannot be kept would count as one that cannot be read
            raise OSError(ENOSPC, strerror(ENOSPC))
        with opened() as mailbox:
            turn.read(mailbox)
    except DatabaseError:
        raise
    except Exception as problem:  # noqa: BLE001  (the errors of a server's answers)
        # A person sees it in the admin, and a later turn tries again.
        turn.has_failed = True
        save_failure(queue, turn, problem)
    else:
        _save_success(queue)
    return turn


def _is_due(queue: TicketQueue) -> bool:
    """Return whether the mailbox may be polled now. After failures the pause grows, or its server would lock us out;
    a change of the queue by a person ends it.
    """
    if queue.failing_since is None or queue.polled_at is None or queue.updated_at > queue.polled_at:
        return True
    return timezone.now() >= queue.polled_at + min(queue.polled_at - queue.failing_since, LONGEST_PAUSE)


def _save_success(queue: TicketQueue) -> None:
    now = timezone.now()
    if queue.failing_since is not None:
        logger.info("mailbox is read again", extra={"queue": queue.pk})
    TicketQueue.objects.filter(pk=queue.pk).update(
        polled_at=now, read_at=now, failing_since=None, poll_error="", imap_stuck_uid=None, imap_stuck_count=0
    )


def save_failure(queue: TicketQueue, turn: "Turn", problem: Exception) -> None:
    """Save since when and why the mailbox is not read, and the mail at which it failed."""
    error = in_words(problem)[:500]
    # Log a failure once, not every minute.
    if queue.failing_since is None or queue.poll_error != error:
        logger.warning("mailbox not read", extra={"queue": queue.pk, "error": error})
    now, count = timezone.now(), 0
    if turn.fetching is not None:
        count = queue.imap_stuck_count + 1 if queue.imap_stuck_uid == turn.fetching else 1
    TicketQueue.objects.filter(pk=queue.pk).update(
        polled_at=now,
        failing_since=queue.failing_since or now,
        poll_error=error,
        imap_stuck_uid=turn.fetching,
        imap_stuck_count=count,
    )


class Turn:
    """One reading of one mailbox."""

    def __init__(self, queue: TicketQueue) -> None:
        self.queue = queue
        self.count = 0
        self.has_failed = False
        # Mails are left for another turn.
        self.has_more = False
        # The mail that is being fetched.
        self.fetching: int | None = None
        self._last_uid, self._pending = queue.imap_last_uid, list(queue.imap_pending)

    def read(self, mailbox: BaseMailBox) -> None:
        started = time.monotonic()
        validity = self._find_place(mailbox)
        new = [int(uid) for uid in mailbox.uids(f"UID {self._last_uid + 1}:*")]
        # The server also gives the last mail if its UID is below that range.
        waiting = [*self._pending, *sorted(uid for uid in new if uid > self._last_uid)]
        while waiting and not self.has_more:
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            self._take_batch(mailbox, validity, batch)
            self.has_more = bool(waiting) and time.monotonic() - started > TURN_SECONDS

    def _find_place(self, mailbox: BaseMailBox) -> int:
        """Find the place where reading goes on; return the mailbox's UIDVALIDITY.

        In a new mailbox, the unread mails are pending. If the server numbers its mails anew, the unread mails are
        pending too, with all mails since the day before the last poll.
        """
        status = mailbox.folder.status(self.queue.imap_folder, ["UIDVALIDITY", "UIDNEXT"])
        validity = int(status["UIDVALIDITY"])
        if self.queue.imap_validity != validity:
            pending = {int(uid) for uid in mailbox.uids("UNSEEN")}
            if self.queue.imap_validity is not None and self.queue.read_at is not None:
                since = self.queue.read_at.date() - timedelta(days=1)
                pending |= {int(uid) for uid in mailbox.uids(AND(date_gte=since))}
            self._last_uid = int(status["UIDNEXT"]) - 1
            self._pending = sorted(uid for uid in pending if uid <= self._last_uid)
            self.queue.imap_validity = validity
            self._save_place()
        return validity

    def _take_batch(self, mailbox: BaseMailBox, validity: int, uids: Sequence[int]) -> None:
        passed, taken = [], []
        try:
            sizes = self._sizes(mailbox, uids)
            for uid in uids:
                if self._take(mailbox, validity, uid, sizes.get(uid)):
                    taken.append(uid)
                passed.append(uid)
                self.fetching = None
        finally:
            # After a failure too: mails that were taken in must not be fetched again.
            self.count += len(taken)
            self._pending = [uid for uid in self._pending if uid not in set(passed)]
            self._last_uid = max([self._last_uid, *passed])
            self._save_place()
        if taken:
            # Mark them as read for people, if the server allows it. `mailbox.flag()` would also remove the mails that
            # others have marked as deleted.
            mailbox.client.uid("store", ",".join(str(uid) for uid in taken), "+FLAGS", "(\\Seen)")

    def _save_place(self) -> None:
        """Save how far the mailbox is read. Mails that a person has meanwhile asked to fetch again stay pending."""
        with transaction.atomic():
            row = TicketQueue.objects.select_for_update(no_key=True).get(pk=self.queue.pk)
            wanted = set(row.imap_pending) - set(self.queue.imap_pending)
            row.imap_pending = [
                *self._pending,
                *(sorted(wanted) if row.imap_validity == self.queue.imap_validity else []),
            ]
            row.imap_validity, row.imap_last_uid = self.queue.imap_validity, self._last_uid
            row.save(update_fields=["imap_validity", "imap_last_uid", "imap_pending"])
        self.queue.imap_pending = list(self._pending)

    def _take(self, mailbox: BaseMailBox, validity: int, uid: int, size: int | None) -> bool:
        """Take in one mail; return False if it is gone, or was quarantined."""
        limit = settings.MAX_MAIL_MB * 1024 * 1024
        tries = self.queue.imap_stuck_count if self.queue.imap_stuck_uid == uid else 0
        if tries >= MOST_TRIES:
            self._leave(uid, validity, size, f"{_PASSED_OVER}: {self.queue.poll_error}")
            return False
        self.fetching = uid
        if size is not None and size > limit:
            headers = self._fetch(mailbox, uid, "(BODY.PEEK[HEADER])")
            self._leave(uid, validity, size, f"{_TOO_LARGE}: {size:,} B", headers)
            return False
        try:
            raw = self._fetch(mailbox, uid, "(BODY.PEEK[])")
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            self._leave(uid, validity, size, f"{_WITHHELD}: {in_words(error)}")
            return False
        if not raw:
            if size:
                self._leave(uid, validity, size, _WITHHELD)
            return False
        # Failures after this are not the server's.
        self.fetching = None
        try:
            take_in(BytesIO(raw), self.queue, place=(validity, uid))
        except TooLong:
            self._leave(uid, validity, len(raw), f"{_TOO_LARGE}: {len(raw):,} B", raw[:100_000])
            return False
        return True

    def _leave(self, uid: int, validity: int, size: int | None, reason: str, headers: bytes = b"") -> None:
        """Leave the mail in the mailbox, and quarantine it for a person, who can have it fetched again."""
        read = read_headers(parse_mail(headers), ["from"])
        senders, subjects = read.people["from"], read.texts["subject"]
        ReceivedMail.objects.update_or_create(
            sha256=f"uid:{validity}:{uid}",
            queue=self.queue,
            defaults={
                "size": size or 0,
                "sender": senders[0][1] if senders else "",
                "subject": subjects[0][:500] if subjects else "",
                "imap_validity": validity,
                "imap_uid": uid,
                "outcome": ReceivedMail.Outcome.QUARANTINED,
                "reason": reason[:500],
            },
        )

    def _sizes(self, mailbox: BaseMailBox, uids: Sequence[int]) -> dict[int, int]:
        """Return the size of each mail that is there. Servers also send other changes, which have no size."""
        wanted = ",".join(str(uid) for uid in uids)
        sizes = {}
        for item in self._ask(mailbox, wanted, "(UID RFC822.SIZE)"):
            line = item[0] if isinstance(item, tuple) else item
            if line and (size := _SIZE.search(line)) and (uid := _UID.search(line)):
                sizes[int(uid[1])] = int(size[1])
        return sizes

    def _fetch(self, mailbox: BaseMailBox, uid: int, what: str) -> bytes:
        """Fetch one item of a mail; return no bytes if the mail was removed meanwhile."""
        parts = self._ask(mailbox, str(uid), what)
        return next((bytes(part[1]) for part in parts if isinstance(part, tuple) and b"BODY[" in part[0].upper()), b"")

    def _ask(self, mailbox: BaseMailBox, uids: str, what: str) -> list[Any]:
        state, answer = mailbox.client.uid("fetch", uids, what)
        if state != "OK":
            raise imaplib.IMAP4.error(b" ".join(bytes(each) for each in answer if each).decode("utf-8", "replace"))
        return answer
