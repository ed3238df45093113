"""Acknowledgements, and the guard of all automatic mails: replies of rules are such mails too.

Two machines must never answer each other. So an address that only a machine reads gets no automatic mail, and any other
address gets at most one an hour.
"""

import re
from datetime import timedelta

from django.utils import timezone

from tickets import html
from tickets.addresses import is_address
from tickets.models.mail import AcknowledgedAddress
from tickets.models.message import Message
from tickets.models.participants import recipients_of
from tickets.models.ticket import Ticket
from tickets.models.ticket_queue import TicketQueue
from tickets.placeholders import fill, values_for
from tickets.verbs.conversation import send_automatically

SPAN = timedelta(hours=1)
# Local parts of addresses that a machine reads: by a word in them, or by their beginning.
_MACHINE = re.compile(
    r"(?i)(?:\A|[-_.+])(?:no|not|non|nie|do[-_.]?not|nao)[-_.]?(?:reply|respond|answer|odpowiadaj)(?:[-_.+]|\Z)"
    r"|\A(?:mailer-daemon|postmaster|bounces?|listserv|majordomo)(?:[-_.+=]|\Z)|\Aowner-"
    r"|-(?:request|owner|bounces?)(?:[-_.+=]|\Z)"
)


def may_be_answered(ticket: Ticket) -> bool:
    """Return whether a person may read an automatic mail to the customer of the ticket."""
    if not is_address(ticket.sender) or not (recipients := recipients_of(ticket)):
        return False
    address = recipients[0]
    if any(_MACHINE.search(each.rpartition("@")[0]) for each in (ticket.sender, address)):
        return False
    return not TicketQueue.objects.filter(address__iexact=address).exists()


def take_turn(ticket: Ticket) -> bool:
    """Return whether the customer may get an automatic mail now; none more within the hour."""
    return AcknowledgedAddress.take_turn(recipients_of(ticket)[0], timezone.now(), SPAN)


def acknowledge(ticket: Ticket) -> Message | None:
    """Acknowledge a ticket that a mail has opened, in its transaction, if no rule forbids it."""
    if not may_be_answered(ticket) or ticket.messages.filter(is_automatic=True).exists():
        return None
    text = html.clean(fill(ticket.queue.acknowledgement, values_for(ticket)))
    if html.says_nothing(text) or not take_turn(ticket):
        return None
    return send_automatically(ticket, str(text))
