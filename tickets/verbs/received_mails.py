"""The verbs of a mail in quarantine: try again, discard."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import still_there
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from tickets.models.received_mail import ReceivedMail
from tickets.models.ticket_queue import TicketQueue

Outcome = ReceivedMail.Outcome


def retry_mail(mail: ReceivedMail, actor: Actor) -> None:
    """Process the mail again: at once, or with the next poll if it is only in its mailbox."""
    with transaction.atomic():
        locked = _lock_quarantined(mail)
        outcome, reason = Outcome.RECEIVED, ""
        if not locked.path:
            _fetch_again(locked)
            outcome, reason = Outcome.IGNORED, gettext_noop("it is fetched again")
        _decide(locked, actor, outcome=outcome, reason=reason, attempt_count=0)
        record(actor, AuditAction.RETRY_MAIL, mail)
        if locked.path:
            enqueue("tickets.process_mail", mail.pk)
    mail.refresh_from_db()


def discard_mail(mail: ReceivedMail, actor: Actor, reason: str, faults: Sequence[Fault] = ()) -> None:
    """Mark the mail as needing no message, for this reason. The mail itself is kept."""
    faults = list(faults)
    if not reason.strip():
        faults.append(Fault(ErrorCode.EMPTY, "reason"))
    if faults:
        raise Invalid(faults)
    with transaction.atomic():
        _decide(_lock_quarantined(mail), actor, outcome=Outcome.IGNORED, reason=reason.strip()[:500])
        record(actor, AuditAction.DISCARD_MAIL, mail, changes={"reason": [None, reason.strip()[:500]]})
    mail.refresh_from_db()


def _lock_quarantined(mail: ReceivedMail) -> ReceivedMail:
    """Lock the row until the transaction ends. Raise Conflict if the mail is no longer in quarantine."""
    locked = still_there(ReceivedMail.objects.select_for_update(no_key=True, of=("self",)).filter(pk=mail.pk))
    if locked.outcome != Outcome.QUARANTINED:
        raise Conflict(ErrorCode.MAIL_NOT_QUARANTINED)
    return locked


def _fetch_again(mail: ReceivedMail) -> None:
    queue = TicketQueue.objects.select_for_update(no_key=True, of=("self",)).get(received_mails=mail)
    if queue.imap_validity != mail.imap_validity or mail.imap_uid is None:
        raise Conflict(ErrorCode.MAIL_OUT_OF_REACH)
    queue.imap_pending = sorted({*queue.imap_pending, mail.imap_uid})
    queue.save(update_fields=["imap_pending"])


def _decide(mail: ReceivedMail, actor: Actor, **values: Any) -> None:
    values["decided_by"] = actor.name[:150]
    for name, value in values.items():
        setattr(mail, name, value)
    mail.save(update_fields=list(values))
