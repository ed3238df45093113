"""What a reply is begun with: whom it goes to, and the text that stands in it already."""

from telephony.models import Agent
from tickets import html
from tickets.addresses import is_address
from tickets.filling import fill, values_for
from tickets.models.mail import CannedReply
from tickets.models.message import Message
from tickets.models.received_mail import ReceivedMail
from tickets.models.ticket import Ticket
from tickets.models.ticket_queue import TicketQueue


def everybody(ticket: Ticket) -> tuple[list[str], list[str]]:
    """Recipients and copies of a reply to all: who wrote last, and all to whom he wrote, without ourselves."""
    mails = ReceivedMail.objects.filter(message__ticket=ticket, message__is_automatic=False).order_by("-id")
    last = mails.values_list("sender", "message__reply_to", "recipients").first()
    sender, reply_to, others = last or (ticket.sender, "", [])
    sender = reply_to or sender
    ours = {address.lower() for address in TicketQueue.objects.exclude(address="").values_list("address", flat=True)}
    copies = [address for address in dict.fromkeys(others) if address not in ours | {sender.lower()}]
    return [address for address in [sender] if is_address(address)], [each for each in copies if is_address(each)]


def text_of(canned: CannedReply, ticket: Ticket, agent: Agent | None, body_type: str = Message.BodyType.HTML) -> str:
    """The canned reply with its places filled, to be read and changed before it is sent; as text for a marketplace."""
    markup = html.clean(fill(canned.body, values_for(ticket, agent)))
    return markup if body_type == Message.BodyType.HTML else html.as_text(markup)
