"""Merge two tickets, or split one."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid
from tickets import events
from tickets.models.agent_preferences import NoticeKind, TicketDraft
from tickets.models.automation import Happening
from tickets.models.customer import Customer
from tickets.models.message import Message
from tickets.models.rules import check_not_merged
from tickets.models.ticket import Ticket
from tickets.verbs.automation import EVERYTHING, after_change
from tickets.verbs.due_times import (
    Kind,
    awaited_after_merge,
    first_response,
    set_columns,
    status_comment,
    status_of_kind,
    unanswered_since,
)
from tickets.verbs.notices import move_followers, notify
from tickets.verbs.ticket_row import add_system_comment, lock_merges, lock_ticket, log_ticket, save_ticket


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


def merge_tickets(source: Ticket, target: Ticket, actor: Actor) -> None:
    """Move the messages of `source` to `target` and close `source`. Later mail to it goes to `target`."""
    if source.pk == target.pk:
        raise Invalid([Fault(ErrorCode.MERGE_WITH_ITSELF)])
    with transaction.atomic():
        _lock_for_merge(source, target)
        now, source, target = timezone.now(), lock_ticket(source), lock_ticket(target)
        for ticket in (source, target):
            if faults := check_not_merged(ticket):
                raise Invalid(faults)
        keep_authors(source)
        source.messages.update(ticket=target)
        source.merged.update(merged_into=target)
        move_followers(source, target)
        written = TicketDraft.objects.filter(ticket=target).values("user")
        source.drafts.exclude(user__in=written).update(ticket=target)
        responded = {ticket: {"first_agent_responded_at": first_response(ticket)} for ticket in (source, target)}
        owed = set_columns(target, {**responded[target], "awaiting_since": awaited_after_merge(source, target)})
        status = status_of_kind(Kind.MERGED)
        comment = status_comment(source.full_status_name, status.name)
        closing = {"closed_at": source.closed_at or now, "closed_by": source.closed_by or source.agent}
        moved = {"status": status, "substatus": None, "merged_into": target}
        # Its answers are those of the target.
        closing |= {"first_response_met": None, "resolution_met": None}
        save_ticket(source, {**moved, **closing, **responded[source]}, now)
        add_system_comment(source, comment, now)
        save_ticket(target, owed, now)
        log_ticket(source, actor, "merge", {"merged_into": [None, target.pk]})
        log_ticket(target, actor, "merge", {"merged": [None, source.pk]})
        notify(target, None, f"change-{source.pk}-{target.pk}", actor, to_followers=NoticeKind.FOLLOWED)
        events.ticket_updated(source)
        events.ticket_updated(target)


def _lock_for_merge(source: Ticket, target: Ticket) -> None:
    """Lock both tickets and those merged into the source. All transactions lock several tickets in the order of ids."""
    lock_merges()
    together = Q(pk__in=[source.pk, target.pk]) | Q(merged_into=source)
    list(Ticket.objects.filter(together).select_for_update(no_key=True).order_by("id").values_list("pk"))


def split_ticket(ticket: Ticket, actor: Actor, messages: Sequence[int], subject: str) -> Ticket:
    """Move some messages into a new ticket, connected with this one. They decide its sender and customer."""
    with transaction.atomic():
        ticket, now = lock_ticket(ticket), timezone.now()
        every = list(ticket.messages.order_by("created_at", "id"))
        moved = [message for message in every if message.pk in messages]
        kept = [message for message in every if message.pk not in messages]
        if not moved or not kept:
            raise Invalid([Fault(ErrorCode.SPLIT_NEEDS_SOME, "messages")])
        other = Ticket(
            subject=subject or ticket.subject,
            queue=ticket.queue,
            category=ticket.category,
            type=ticket.type,
            priority=ticket.priority,
            status=status_of_kind(Kind.NEW),
            team=ticket.team,
            agent=ticket.agent,
            **origin_of(moved, ticket),
            created_at=moved[0].created_at,
            updated_at=now,
            connected_ids=[ticket.pk],
        )
        other.save(force_insert=True)
        own = remaining_origin(kept, ticket)
        Message.objects.filter(pk__in=[message.pk for message in moved]).update(ticket=other)
        save_ticket(other, _owed_by_messages(other), now)
        connected = [*ticket.connected_ids, other.pk]
        changes = {name: [str(getattr(ticket, name) or ""), str(value or "")] for name, value in own.items()}
        changes = {name: pair for name, pair in changes.items() if pair[0] != pair[1]}
        save_ticket(ticket, {"connected_ids": connected, **_owed_by_messages(ticket, **own)}, now)
        log_ticket(ticket, actor, "split", {"split": [None, other.pk], **changes})
        log_ticket(other, actor, "create", {"split_from": [None, ticket.pk]})
        events.ticket_created(other)
        notify(other, NoticeKind.ASSIGNED, f"opened-{other.pk}", actor)
        after_change(other, Happening.OPENED, changed=EVERYTHING)
        events.ticket_updated(ticket)
    return other


def _owed_by_messages(ticket: Ticket, **own: Any) -> dict[str, Any]:
    """Return the columns about responses that follow from the ticket's messages, with the due times."""
    columns = {**own, "first_agent_responded_at": first_response(ticket), "awaiting_since": unanswered_since(ticket)}
    return set_columns(ticket, columns)
