"""Acknowledgements: the automatic answer to new mail, so that the customer knows that it has arrived."""

from tickets import html
from tickets.models import Message, Ticket
from tickets.placeholders import fill, values_for
from tickets.verbs.automatic_mail import may_be_answered, take_turn
from tickets.verbs.conversation import send_automatically


def acknowledge(ticket: Ticket) -> Message | None:
    """Acknowledge a ticket that a mail has opened, in its transaction, if no rule forbids it."""
    if not may_be_answered(ticket) or ticket.messages.filter(is_automatic=True).exists():
        return None
    text = html.clean(fill(ticket.queue.acknowledgement, values_for(ticket)))
    if html.says_nothing(text) or not take_turn(ticket):
        return None
    return send_automatically(ticket, str(text))
