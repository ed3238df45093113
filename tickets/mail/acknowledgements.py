"""Acknowledgements: the automatic answer to new mail, so that the customer knows that it has arrived.

Two machines must never answer each other. So a mail of a machine and an address that only a machine reads get no
acknowledgement, and any other address gets at most one an hour.
"""

import re
from datetime import timedelta

from django.utils import timezone

from tickets import html
from tickets.addresses import is_address
from tickets.models import AcknowledgedAddress, Message, Ticket, TicketQueue
from tickets.models.participants import recipients_of
from tickets.placeholders import fill, values_for
from tickets.verbs.conversation import send_automatically

SPAN = timedelta(hours=1)
# Local parts of addresses that a machine reads: by a word in them, or by their beginning.
_MACHINE = re.compile(
    r"(?i)(?:\A|[-_.+])(?:no|not|non|nie|do[-_.]?not|nao)[-_.]?(?:reply|respond|answer|odpowiadaj)(?:[-_.+]|\Z)"
    r"|\A(?:mailer-daemon|postmaster|bounces?|listserv|majordomo)(?:[-_.+=]|\Z)|\Aowner-"
    r"|-(?:request|owner|bounces?)(?:[-_.+=]|\Z)"
)


def acknowledge(ticket: Ticket) -> Message | None:
    """Acknowledge a ticket that a mail has opened, in its transaction, if no rule forbids it."""
    if not is_address(ticket.sender):
        return None
    address = recipients_of(ticket)[0]
    if any(_MACHINE.search(each.rpartition("@")[0]) for each in (ticket.sender, address)):
        return None
    if ticket.messages.filter(is_automatic=True).exists():
        return None
    if TicketQueue.objects.filter(address__iexact=address).exists():
        return None
    text = html.clean(fill(ticket.queue.acknowledgement, values_for(ticket)))
    if html.says_nothing(text) or not AcknowledgedAddress.take_turn(address, timezone.now(), SPAN):
        return None
    return send_automatically(ticket, str(text))
