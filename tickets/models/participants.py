"""The people whom replies to a ticket go to."""

from tickets.addresses import is_address
from tickets.models.message import Message
from tickets.models.received_mail import ReceivedMail
from tickets.models.ticket import Ticket
from tickets.models.ticket_queue import TicketQueue


def recipients_of(ticket: Ticket) -> list[str]:
    """Return the address that a reply goes to: Reply-To of the sender's first message, or the sender, or the customer.

    Later messages do not count, because any sender can put another Reply-To into them.
    """
    first = ticket.messages.filter(type=Message.Type.MAIL, author_address=ticket.sender).exclude(author_address="")
    wanted = first.order_by("created_at", "id").values_list("reply_to", flat=True).first() or ""
    addresses = (wanted, ticket.sender, ticket.customer.email if ticket.customer else "")
    return [address for address in addresses if is_address(address)][:1]


def participants_of(ticket: Ticket) -> tuple[list[str], list[str]]:
    """Return recipients and copies of a reply to all: the last mail's sender, and its recipients without our queues."""
    mails = ReceivedMail.objects.filter(message__ticket=ticket, message__is_automatic=False).order_by("-id")
    last = mails.values_list("sender", "message__reply_to", "recipients").first()
    sender, reply_to, others = last or (ticket.sender, "", [])
    sender = reply_to or sender
    ours = {address.lower() for address in TicketQueue.objects.exclude(address="").values_list("address", flat=True)}
    copies = [address for address in dict.fromkeys(others) if address not in ours | {sender.lower()}]
    return [address for address in [sender] if is_address(address)], [each for each in copies if is_address(each)]
