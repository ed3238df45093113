"""The verbs of mail that became no message: try again, discard; block a sender, delete old spam."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext_noop

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import still_there, store
from callcentre.core.deletions import forget_log_entries
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.file_removals import FileRemoval
from callcentre.core.personal_data import without_held
from tickets.models.mail_senders import BlockedSender
from tickets.models.received_mail import ReceivedMail
from tickets.models.ticket_queue import TicketQueue

Outcome = ReceivedMail.Outcome
# Mails that one transaction deletes.
BATCH = 500


def retry_mail(mail: ReceivedMail, actor: Actor) -> None:
    """Process a mail of the quarantine again, or restore spam: at once, or with the next poll if the mail is only in
    its mailbox.
    """
    with transaction.atomic():
        locked = _lock_quarantined(mail)
        outcome, reason = Outcome.RECEIVED, ""
        if not locked.path:
            _fetch_again(locked)
            outcome, reason = Outcome.IGNORED, gettext_noop("it is fetched again")
        store(locked, outcome=outcome, reason=reason, attempt_count=0, decided_by=actor.name[:150])
        record(actor, AuditAction.RETRY_MAIL, mail)
        if locked.path:
            enqueue("tickets.process_mail", mail.pk)
    mail.refresh_from_db()


def discard_mail(mail: ReceivedMail, actor: Actor, reason: str) -> None:
    """Mark the mail as needing no message, for this reason. The mail itself is kept."""
    if not (reason := reason.strip()[:500]):
        raise Invalid([Fault(ErrorCode.EMPTY, "reason")])
    with transaction.atomic():
        store(_lock_quarantined(mail), outcome=Outcome.IGNORED, reason=reason, decided_by=actor.name[:150])
        record(actor, AuditAction.DISCARD_MAIL, mail, changes={"reason": [None, reason]})
    mail.refresh_from_db()


def block_sender(entry: str, actor: Actor) -> tuple[BlockedSender, bool]:
    """Block an address, or a domain: what it sends from now on is kept apart as spam. Return also whether it is new."""
    blocked = BlockedSender(entry=entry, blocked_by=actor.name[:150])
    try:
        blocked.clean()
    except ValidationError:
        raise Invalid([Fault(ErrorCode.SENDER_MALFORMED, "entry")]) from None
    return BlockedSender.objects.get_or_create(entry=blocked.entry, defaults={"blocked_by": blocked.blocked_by})


def delete_expired_spam() -> int:
    """Delete spam that has been kept apart long enough, and return the number of mails."""
    count = 0
    while True:
        with transaction.atomic():
            expired = without_held(ReceivedMail.objects.expired_spam())
            expired = expired.select_for_update(skip_locked=True, of=("self",))
            mails = dict(expired.order_by("id").values_list("pk", "path")[:BATCH])
            FileRemoval.add([path for path in mails.values() if path])
            forget_log_entries(ReceivedMail, list(mails))
            ReceivedMail.objects.filter(pk__in=mails).delete()
        count += len(mails)
        if len(mails) < BATCH:
            return count


def _lock_quarantined(mail: ReceivedMail) -> ReceivedMail:
    """Lock the row until the transaction ends. Raise Conflict if the mail is no longer in quarantine or apart."""
    locked = still_there(ReceivedMail.objects.select_for_update(no_key=True, of=("self",)).filter(pk=mail.pk))
    if locked.outcome not in (Outcome.QUARANTINED, Outcome.SPAM):
        raise Conflict(ErrorCode.MAIL_NOT_QUARANTINED)
    return locked


def _fetch_again(mail: ReceivedMail) -> None:
    queue = TicketQueue.objects.select_for_update(no_key=True, of=("self",)).get(received_mails=mail)
    if queue.imap_validity != mail.imap_validity or mail.imap_uid is None:
        raise Conflict(ErrorCode.MAIL_OUT_OF_REACH)
    store(queue, imap_pending=sorted({*queue.imap_pending, mail.imap_uid}))
