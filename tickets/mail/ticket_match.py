"""The ticket to which a mail belongs, and the check whether the mail has come before."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Lower

from callcentre.core.statements import rows_of
from tickets.mail.composition import are_of_one_subject, tickets_of_subject
from tickets.mail.parsing import Mail
from tickets.mail.server_verdicts import is_failing
from tickets.mail_ids import ticket_of
from tickets.models import Dispatch, ReceivedMail, Ticket, TicketQueue

_CANDIDATES = "SELECT * FROM tickets_ticket WHERE id = ANY(%s)"
_KNOWN = """
SELECT header_id, ticket_id FROM (
  SELECT 1 AS rank, r.id, r.header_id, m.ticket_id
  FROM tickets_receivedmail r JOIN tickets_message m ON m.id = r.message_id
  WHERE r.header_id = ANY(%(ids)s) AND r.header_id <> ''
  UNION ALL
  SELECT 2, d.id, d.header_id, m.ticket_id
  FROM tickets_dispatch d JOIN tickets_message m ON m.id = d.message_id
  WHERE d.header_id = ANY(%(ids)s) AND d.header_id <> ''
) AS known ORDER BY rank, id
"""


def ticket_for(mail: Mail) -> Ticket | None:
    """Return the ticket that the mail answers, if its sender takes part there; or the ticket of a machine's report.

    Where our server says that the sender is perhaps another one, an address is no proof: only our own signed Message-ID
    leads to a ticket.
    """
    reported, is_doubtful = _of_ours(mail.reported_ids), is_failing(mail.verdicts)
    named = _of_ours(mail.answered_ids) if is_doubtful else _named(mail)
    # A tag is no proof. If answers do not go to From, the author of the mail may not have written the tag.
    tagged = [] if mail.reply_to or mail.is_form or is_doubtful else tickets_of_subject(mail.subject)
    candidates = list(dict.fromkeys([*reported, *named, *tagged]))
    found = {ticket.pk: ticket for ticket in Ticket.objects.raw(_CANDIDATES, [candidates])} if candidates else {}
    for ticket_id in candidates:
        ticket = found.get(ticket_id)
        if ticket is None:
            continue
        # A report names a Message-ID of ours, which is signed: its sender cannot have guessed it.
        if ticket_id in reported:
            return current(ticket)
        if (ticket_id in named or _has_subject(ticket, mail.subject)) and _takes_part(mail, ticket):
            return current(ticket)
    return None


def current(ticket: Ticket) -> Ticket:
    """Return the ticket, or the one that it was merged into."""
    while ticket.merged_into is not None:
        ticket = ticket.merged_into
    return ticket


def _named(mail: Mail) -> Sequence[int]:
    """Return the ids of the tickets of the mails that it answers, the surest first: our own mails before others'.

    A message may have moved since it was sent. Its present ticket counts, not the ticket in its signed id.
    """
    known = _known(mail.answered_ids)
    ours = _of_ours(mail.answered_ids, known)
    others = [known[each] for each in mail.answered_ids if each in known]
    return list(dict.fromkeys([*ours, *others]))


def _has_subject(ticket: Ticket, subject: str) -> bool:
    """Return whether the subject beside the tag is or was the ticket's: other help desks write the same tags."""
    if are_of_one_subject(subject, ticket.subject):
        return True
    earlier = ReceivedMail.objects.filter(message__ticket=ticket).order_by().values_list("subject", flat=True)
    return any(are_of_one_subject(subject, each) for each in earlier.distinct()[:100])


def _of_ours(header_ids: Sequence[str], known: Mapping[str, int] | None = None) -> list[int]:
    """Return the ids of the tickets of our own Message-IDs."""
    signed = {each: ticket_id for each in header_ids if (ticket_id := ticket_of(each)) is not None}
    known = _known(list(signed)) if known is None else known
    return [known.get(header_id, ticket_id) for header_id, ticket_id in signed.items()]


def _known(header_ids: Sequence[str]) -> dict[str, int]:
    """Return the present ticket of the message of each Message-ID. Our own mails win over received ones."""
    if not header_ids:
        return {}
    return dict(rows_of(_KNOWN, {"ids": list(header_ids)}))


def _takes_part(mail: Mail, ticket: Ticket) -> bool:
    """Return whether the sender, or the address for answers, has sent or received a message of the ticket."""
    addresses = {address.lower() for address in (mail.sender, mail.reply_to) if address}
    if not addresses:
        return False
    while True:
        if ticket.sender.lower() in addresses:
            return True
        if ticket.customer and addresses & {each.lower() for each in ticket.customer.emails}:
            return True
        if _wrote(addresses, ticket) or _was_written_to(addresses, ticket):
            return True
        if ticket.merged_into is None:
            return False
        ticket = ticket.merged_into


def _wrote(addresses: set[str], ticket: Ticket) -> bool:
    wrote = Q()
    for address in addresses:
        wrote |= Q(author_address__iexact=address)
    return ticket.messages.filter(wrote).exists()


def _was_written_to(addresses: set[str], ticket: Ticket) -> bool:
    """Return whether one of them got a mail of ours, or is in To or Cc of a received mail. Our own addresses are not
    counted there.
    """
    ours = TicketQueue.objects.annotate(lower=Lower("address")).filter(lower__in=addresses).values_list("lower")
    others = addresses - {address for (address,) in ours}
    received = ReceivedMail.objects.filter(message__ticket=ticket, recipients__overlap=list(others))
    if others and received.exists():
        return True
    sent_to = Q()
    for address in addresses:
        sent_to |= Q(recipients__icontains=address) | Q(copies__icontains=address)
    sent = Dispatch.objects.filter(sent_to, message__ticket=ticket).values_list("recipients", "copies")
    return any(addresses & {each.lower() for each in [*recipients, *copies]} for recipients, copies in sent)


@dataclass(frozen=True, slots=True)
class Screening:
    """Facts about a mail that decide whether it becomes a message."""

    # Answers to it go to one of our queues.
    is_ours: bool
    # A form of a website sent it with the address of one of our queues, and answers go elsewhere.
    is_of_form: bool
    # The number of recent mails of its sender, counted up to the limit.
    recent: int
    # The message of the same mail, if it came before by another way.
    copy_id: int | None
    # The entry that blocks its sender.
    blocked_by: str | None


_SCREENING = """
WITH own AS (SELECT lower(address) AS address FROM tickets_ticketqueue WHERE address <> ''),
     form AS (SELECT EXISTS (SELECT 1 FROM own WHERE address = lower(%(author)s)) AS is_own),
     person AS (SELECT CASE WHEN is_own THEN %(answers)s ELSE %(author)s END AS sender FROM form),
     reached AS (
       DELETE FROM tickets_bouncedaddress WHERE %(is_of_person)s AND address = (SELECT lower(sender) FROM person)
     )
SELECT EXISTS (SELECT 1 FROM own WHERE address = lower(%(answers)s)),
       (SELECT is_own FROM form),
       (SELECT count(*) FROM (
          SELECT 1 FROM tickets_receivedmail
          WHERE %(author)s <> '' AND sender = (SELECT sender FROM person) AND received_at > %(since)s
            AND outcome NOT IN ('quarantined', 'ignored', 'spam') AND id IS DISTINCT FROM %(pk)s
          LIMIT %(limit)s
        ) AS recent),
       (SELECT message_id FROM tickets_receivedmail
        WHERE header_id <> '' AND header_id = %(header_id)s AND sender = (SELECT sender FROM person)
          AND subject = %(subject)s AND content_sha256 = %(content)s AND message_id IS NOT NULL
        ORDER BY id LIMIT 1),
       (SELECT entry FROM tickets_blockedsender WHERE entry = ANY(%(names)s) LIMIT 1)
"""
_DOT = re.compile(r"\.")
# Two of our mailboxes may get one mail at the same time. The lock is a statement of its own, so that the next statement
# sees the rows of the other transaction.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def screen(mail: Mail, received: ReceivedMail, since: datetime, limit: int) -> Screening:
    """Return the facts about the mail, and lock its Message-ID until the transaction ends. A person's mail proves that
    mail reaches the person's address.

    One statement finds them: three queries of the ORM cost as much as parsing the mail.
    """
    values: dict[str, Any] = {
        "author": mail.author.address,
        "answers": mail.answers_to[0].address if mail.answers_to else mail.author.address,
        "since": since,
        "limit": limit,
        "pk": received.pk,
        "header_id": mail.header_id,
        "subject": mail.subject,
        "content": received.content_sha256,
        "is_of_person": not mail.is_automatic,
        "names": _names_of(mail),
    }
    with connection.cursor() as cursor:
        if mail.header_id:
            cursor.execute(_LOCK, [mail.header_id])
        cursor.execute(_SCREENING, values)
        return Screening(*cursor.fetchone())


def _names_of(mail: Mail) -> list[str]:
    """Return what may block the sender: the addresses of the mail, their domains, and the domains above these."""
    names = []
    for person in (mail.author, *mail.answers_to[:1]):
        address = person.address.lower()
        domain = address.rpartition("@")[2]
        names += [address, *(domain[at:] for at in _starts(domain))]
    return names


def _starts(domain: str) -> list[int]:
    """Return where the domain, and each of the nearest domains above it, begins."""
    return [0, *(found.end() for found in _DOT.finditer(domain))][-6:]
