"""The sender and the customer of a ticket whose messages were merged or split."""

from typing import Any

from tickets.models.customer import Customer
from tickets.models.message import Message
from tickets.models.ticket import Ticket


def keep_authors(ticket: Ticket) -> None:
    """Write the ticket's sender into its messages without an author's address, before they move to another ticket.

    Such a message is from the sender of its ticket. In another ticket it would be from the sender of that one.
    """
    if ticket.sender:
        ticket.messages.filter(type=Message.Type.MAIL, author_address="").update(author_address=ticket.sender)


def origin_of(messages: list[Message], ticket: Ticket) -> dict[str, Any]:
    """Return source, sender, sender_name and customer of a ticket with these messages, which are or were in `ticket`.

    The first message of a customer decides. If it is from the sender of `ticket`, or of a ticket that was merged into
    it, that ticket's own columns are returned: a person may have chosen the customer.
    """
    author = next(iter(_from_customers(messages)), None)
    if author is None or _is_of(ticket, author.author_address):
        return _columns(ticket)
    merged = ticket.merged.filter(sender__iexact=author.author_address).select_related("customer").order_by("id")
    if (earlier := merged.first()) is not None:
        return _columns(earlier)
    return {
        "source": ticket.source,
        "sender": author.author_address,
        "sender_name": author.author_name,
        "customer": Customer.objects.hold_of_email(author.author_address),
    }


def remaining_origin(messages: list[Message], ticket: Ticket) -> dict[str, Any]:
    """Return the columns of a ticket that keeps only these messages: its own, unless none of them is from its sender
    or its customer.
    """
    mails = [each for each in messages if each.type == Message.Type.MAIL]
    if any(not each.author_address or _is_of(ticket, each.author_address) for each in mails):
        return {}
    return origin_of(mails, ticket) if mails else {}


def _from_customers(messages: list[Message]) -> list[Message]:
    """Return the messages with a customer's address; automatic ones come last."""
    found = [each for each in messages if each.type == Message.Type.MAIL and each.author_address]
    return sorted(found, key=lambda message: message.is_automatic)


def _is_of(ticket: Ticket, address: str) -> bool:
    emails = ticket.customer.emails if ticket.customer else []
    return address.lower() in {each.lower() for each in (ticket.sender, *emails)}


def _columns(ticket: Ticket) -> dict[str, Any]:
    return {name: getattr(ticket, name) for name in ("source", "sender", "sender_name", "customer")}
