"""Mail becomes a message: kept whole first, then read, matched to its ticket, and stored; or put in quarantine.

Two steps, each a transaction. A mail whose row is committed is never lost: what a crash leaves as `received` is done
by the sweep, and a mail that comes again is the row that there is already.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from io import BytesIO
from typing import IO

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from callcentre.actor import Actor
from callcentre.errors import Invalid
from tickets.mail.acknowledging import acknowledge
from tickets.mail.composing import ticket_of_subject
from tickets.mail.folding import fold
from tickets.mail.parsing import Mail, Unreadable, parse
from tickets.mail_ids import ticket_of
from tickets.models import Dispatch, Message, ReceivedMail, StoredFile, Ticket, TicketQueue
from tickets.models.conversing import receive as receive_message
from tickets.models.opening import open_ticket
from tickets.storing import store, type_of

logger = logging.getLogger(__name__)

Outcome = ReceivedMail.Outcome
# The actor of what mail causes.
MAIL = Actor("system", None, "mail")
# More than a person writes: somebody's machine answers ours, or floods us.
FLOOD = 50
FLOOD_SPAN = timedelta(hours=1)


class Quarantine(Exception):
    """It cannot become a message; says why. A person may try again."""


class Needless(Exception):
    """Nobody misses it; says why."""


def take_in(stream: IO[bytes], queue: TicketQueue | None = None, *, decide: bool = True) -> ReceivedMail:
    """Keep the mail, then make of it what it is. Raises TooLong, and nothing else for what is in it."""
    stored = store(stream, settings.MAX_MAIL_MB * 1024 * 1024)
    with transaction.atomic():
        mail, is_new = ReceivedMail.objects.get_or_create(
            sha256=stored.sha256, queue=queue, defaults={"path": stored.path, "size": stored.size}
        )
    if not is_new:
        stored.discard()
    if decide and mail.outcome == Outcome.RECEIVED:
        process(mail.pk)
        mail.refresh_from_db()
    return mail


def left_over() -> list[int]:
    """Mails that were kept and not decided on: a worker died in between."""
    since = timezone.now() - timedelta(minutes=2)
    waiting = ReceivedMail.objects.filter(outcome=Outcome.RECEIVED, received_at__lt=since)
    return list(waiting.order_by("id").values_list("pk", flat=True)[:1000])


def process(pk: int) -> None:
    """Make a message of a mail that is kept; whatever goes wrong puts it in quarantine, with the reason."""
    try:
        with transaction.atomic():
            mail = ReceivedMail.objects.select_for_update(of=("self",)).select_related("queue").get(pk=pk)
            if mail.outcome in (Outcome.STORED, Outcome.IGNORED):
                return
            _process(mail)
    except Needless as reason:
        _decide(pk, Outcome.IGNORED, str(reason))
    except (Quarantine, Unreadable, Invalid) as reason:
        message = "; ".join(reason.messages) if isinstance(reason, Invalid) else str(reason)
        _decide(pk, Outcome.QUARANTINED, message)
    except Exception as error:
        # One mail never stops the mailbox, whatever is in it.
        logger.exception("mail not understood", extra={"received_mail": pk})
        _decide(pk, Outcome.QUARANTINED, f"{type(error).__name__}: {error}")


def _decide(pk: int, outcome: str, reason: str) -> None:
    ReceivedMail.objects.filter(pk=pk).update(outcome=outcome, reason=reason.replace("\0", "")[:500])


def _process(received: ReceivedMail) -> None:
    with default_storage.open(received.path) as content:
        mail = parse(content.read())
    received.header_id, received.sender, received.subject = mail.header_id, mail.sender, mail.subject
    ReceivedMail.objects.filter(pk=received.pk).update(
        header_id=mail.header_id, sender=mail.sender, subject=mail.subject, recipients=mail.recipients
    )
    if ticket_of(mail.header_id) is not None:
        raise Needless("it is a mail of our own")
    queue = received.queue or _queue_of(mail)
    if TicketQueue.objects.filter(address__iexact=mail.sender).exclude(address="").exists():
        raise Quarantine("it says that it comes from one of our own addresses")
    _refuse_floods(received, mail)
    message = _of_bounce(mail) if mail.is_bounce else None
    if message is None:
        message = _store(mail, queue)
    _attach(message, mail)
    ReceivedMail.objects.filter(pk=received.pk).update(outcome=Outcome.STORED, reason="", message=message)


def _queue_of(mail: Mail) -> TicketQueue:
    """The queue whose address it was sent to; else the first."""
    active = TicketQueue.objects.active().order_by("id")
    for queue in active.exclude(address=""):
        if queue.address.lower() in mail.recipients:
            return queue
    first = active.first()
    if first is None:
        raise Quarantine("there is no ticket queue")
    return first


def _refuse_floods(received: ReceivedMail, mail: Mail) -> None:
    if not mail.sender:
        return
    others = ReceivedMail.objects.filter(sender=mail.sender, received_at__gt=received.received_at - FLOOD_SPAN)
    if others.exclude(pk=received.pk).exclude(outcome=Outcome.QUARANTINED).count() >= FLOOD:
        raise Quarantine(f"{mail.sender} sent more than {FLOOD} mails within an hour")


def _of_bounce(mail: Mail) -> Message | None:
    """The mail that did not arrive says so, and its ticket has the bounce as a message."""
    bounced = Dispatch.objects.filter(header_id__in=mail.bounced_ids).exclude(header_id="")
    dispatch = bounced.select_related("message__ticket").first()
    if dispatch is None:
        raise Quarantine("a bounce of no mail of ours")
    dispatch.bounce(MAIL, mail.subject)
    return _reply(_current(dispatch.message.ticket), mail)


def _store(mail: Mail, queue: TicketQueue) -> Message:
    if (ticket := _ticket_of(mail)) is not None:
        return _reply(ticket, mail)
    body, body_type = mail.body
    body, quoted = fold(body, body_type)
    ticket = open_ticket(
        MAIL,
        subject=mail.subject or "(no subject)",
        body=body,
        body_type=body_type,
        quoted=quoted,
        sender=mail.sender,
        sender_name=mail.sender_name,
        queue_id=queue.pk,
        is_automatic=mail.is_automatic,
    )
    message = ticket.messages.get()
    acknowledge(ticket)
    return message


def _reply(ticket: Ticket, mail: Mail) -> Message:
    body, body_type = mail.body
    body, quoted = fold(body, body_type)
    return receive_message(
        MAIL,
        ticket,
        body=body,
        body_type=body_type,
        quoted=quoted,
        from_name=mail.sender_name,
        from_address=mail.sender,
        is_automatic=mail.is_automatic,
        may_be_empty=True,
    )


def _ticket_of(mail: Mail) -> Ticket | None:
    """The ticket that the mail answers, if its sender takes part there."""
    for ticket_id in _candidates(mail):
        ticket = Ticket.objects.select_related("customer").filter(pk=ticket_id).first()
        if ticket is not None and _takes_part(mail.sender, ticket):
            return _current(ticket)
    return None


def _candidates(mail: Mail) -> Sequence[int]:
    """Ids of tickets, the surest first: our own signed Message-ID, then any that we know, then the subject's tag."""
    ours = [ticket_id for header_id in mail.answered_ids if (ticket_id := ticket_of(header_id)) is not None]
    known = {
        header_id: ticket_id
        for model in (Dispatch, ReceivedMail)
        for header_id, ticket_id in model.objects.filter(
            header_id__in=mail.answered_ids, message__isnull=False
        ).values_list("header_id", "message__ticket")
    }
    answered = [known[header_id] for header_id in mail.answered_ids if header_id in known]
    tagged = ticket_of_subject(mail.subject)
    return list(dict.fromkeys([*ours, *answered, *([tagged] if tagged else [])]))


def _takes_part(address: str, ticket: Ticket) -> bool:
    if not address:
        return False
    if address.lower() in (ticket.sender.lower(), ticket.customer.email.lower() if ticket.customer else ""):
        return True
    if ticket.messages.filter(author_address__iexact=address).exists():
        return True
    sent_to = Q(recipients__contains=[address]) | Q(copies__contains=[address])
    return Dispatch.objects.filter(sent_to, message__ticket=ticket).exists()


def _current(ticket: Ticket) -> Ticket:
    """The ticket, or the one that it was merged into."""
    return ticket.merged_into or ticket


def _attach(message: Message, mail: Mail) -> None:
    tokens = []
    for attachment in mail.attachments:
        stored = store(BytesIO(attachment.content), len(attachment.content))
        StoredFile.objects.create(
            token=stored.token,
            filename=attachment.filename,
            content_type=type_of(attachment.filename),
            size=stored.size,
            sha256=stored.sha256,
            path=stored.path,
            message=message,
            content_id=attachment.content_id,
        )
        tokens.append(stored.token)
    if tokens:
        message.attachments = [*message.attachments, *tokens]
        message.save(update_fields=["attachments"])
