"""To which ticket a mail belongs, and whether it has come before."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q

from tickets.mail.composing import ticket_of_subject
from tickets.mail.folding import fold
from tickets.mail.parsing import Mail
from tickets.mail_ids import ticket_of
from tickets.models import Dispatch, Message, ReceivedMail, Ticket, TicketQueue

_CONTENT_ID = re.compile(r"cid:[^\s\"'<>]+")


def ticket_for(mail: Mail) -> Ticket | None:
    """The ticket that the mail answers, if its sender takes part there; or that a machine reports of."""
    reported = _of_ours(mail.reported_ids)
    candidates = [*reported, *_candidates(mail)]
    if not candidates:
        return None
    found = Ticket.objects.in_bulk(candidates)
    for ticket_id in candidates:
        ticket = found.get(ticket_id)
        # Whoever names a Message-ID of ours that he was not sent has not guessed it: it is signed.
        if ticket is not None and (ticket_id in reported or _takes_part(mail, ticket)):
            return current(ticket)
    return None


def current(ticket: Ticket) -> Ticket:
    """The ticket, or the one that it was merged into."""
    while ticket.merged_into is not None:
        ticket = ticket.merged_into
    return ticket


def _candidates(mail: Mail) -> Sequence[int]:
    """Ids of tickets, the surest first: those of the mails that it answers, then that of the subject's tag.

    Our own come before others'. A message may have gone into another ticket since it was sent: where it is now counts
    before the ticket that its id is signed with.
    """
    known = _known(mail.answered_ids, ReceivedMail, Dispatch)
    ours = _of_ours(mail.answered_ids, known)
    others = [known[each] for each in mail.answered_ids if each in known]
    tagged = ticket_of_subject(mail.subject)
    return list(dict.fromkeys([*ours, *others, *([tagged] if tagged else [])]))


def _of_ours(header_ids: Sequence[str], known: Mapping[str, int] | None = None) -> list[int]:
    """Ids of the tickets that Message-IDs of our own lead to."""
    signed = {each: ticket_id for each in header_ids if (ticket_id := ticket_of(each)) is not None}
    known = _known(list(signed), Dispatch) if known is None else known
    return [known.get(header_id, ticket_id) for header_id, ticket_id in signed.items()]


def _known(header_ids: Sequence[str], *models: type[ReceivedMail] | type[Dispatch]) -> dict[str, int]:
    """Message-ID -> the ticket in which its message is now."""
    known: dict[str, int] = {}
    for model in models if header_ids else ():
        with_messages = model.objects.filter(header_id__in=header_ids, message__isnull=False)
        known |= with_messages.values_list("header_id", "message__ticket")
    return known


def _takes_part(mail: Mail, ticket: Ticket) -> bool:
    """Whether whoever sent it, or wants the answers, has written in the ticket or was written to."""
    addresses = {address.lower() for address in (mail.author, mail.sender) if address}
    if not addresses:
        return False
    while True:
        if addresses & {ticket.sender.lower(), ticket.customer.email.lower() if ticket.customer else ""}:
            return True
        wrote, sent_to = Q(), Q()
        for address in addresses:
            wrote |= Q(author_address__iexact=address)
            sent_to |= Q(recipients__icontains=address) | Q(copies__icontains=address)
        if ticket.messages.filter(wrote).exists():
            return True
        for recipients, copies in Dispatch.objects.filter(sent_to, message__ticket=ticket).values_list(
            "recipients", "copies"
        ):
            if addresses & {address.lower() for address in [*recipients, *copies]}:
                return True
        if ticket.merged_into is None:
            return False
        ticket = ticket.merged_into


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a mail before it is read any further."""

    # Its sender is one of our queues.
    is_ours: bool
    # Mails of its sender since some instant, as far as they were counted.
    recent: int
    # There is a mail with its id, from its sender, with its subject, in its queue.
    may_be_copy: bool


_STANDING = """
SELECT EXISTS (SELECT 1 FROM tickets_ticketqueue WHERE address <> '' AND lower(address) IN (%(author)s, %(answers)s)),
       (SELECT count(*) FROM (
          SELECT 1 FROM tickets_receivedmail
          WHERE %(sender)s <> '' AND sender = %(sender)s AND received_at > %(since)s AND outcome <> 'quarantined'
            AND id IS DISTINCT FROM %(pk)s
          LIMIT %(limit)s
        ) AS recent),
       EXISTS (
         SELECT 1 FROM tickets_receivedmail
         WHERE header_id <> '' AND header_id = %(header_id)s AND sender = %(sender)s AND subject = %(subject)s
           AND queue_id IS NOT DISTINCT FROM %(queue)s AND message_id IS NOT NULL
       )
"""


def standing_of(mail: Mail, received: ReceivedMail, since: datetime, limit: int) -> Standing:
    """In one statement: three of the mapper's cost as much as reading the mail."""
    values: dict[str, Any] = {
        "author": mail.author.lower(),
        "answers": mail.sender.lower(),
        "sender": mail.sender,
        "since": since,
        "limit": limit,
        "pk": received.pk,
        "header_id": mail.header_id,
        "subject": mail.subject,
        "queue": received.queue_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, values)
        return Standing(*cursor.fetchone())


def copy_of(mail: Mail, queue: TicketQueue | None) -> Message | None:
    """The message that this mail became when it came by another way: with the same id, from the same sender to the same
    queue, saying the same. Programs that give all their mails one id lose none by it.
    """
    earlier = ReceivedMail.objects.filter(
        header_id=mail.header_id, sender=mail.sender, subject=mail.subject, queue=queue, message__isnull=False
    ).select_related("message")
    return next((each.message for each in earlier[:10] if each.message and _says_the_same(mail, each.message)), None)


def _says_the_same(mail: Mail, message: Message) -> bool:
    text, kind = mail.body
    body, _quoted = fold(text, kind)
    return _CONTENT_ID.sub("cid:", body) == _CONTENT_ID.sub("cid:", message.body)
