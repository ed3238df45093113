"""The edit of a ticket's columns. The verb `edit_ticket` and rules call it."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import differences
from callcentre.core.errors import ErrorCode, Fault, Invalid
from tickets import events
from tickets.addresses import read_sender
from tickets.models import custom_field, rules
from tickets.models.custom_field import CustomField
from tickets.models.ticket import LONGEST_TAG, PRIORITIES, Ticket
from tickets.verbs.due_times import Kind, change_status, set_columns
from tickets.verbs.ticket_row import add_system_comment, lock_ticket, log_ticket, save_ticket


def edit(
    ticket: Ticket,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    subject: str | None = None,
    sender: str | None = None,
    tags: Sequence[str] | None = None,
    priority: str | None = None,
    custom_fields: Mapping[str, Any] | None = None,
    **chosen: Any,
) -> tuple[Ticket, set[str]]:
    """Change the given fields; `chosen` is explained at `rules.choose`. A change of status leaves a system comment.

    A new sender also sets the sender's name, and the customer if the ticket has none. Return the locked ticket and the
    names of the changed columns.
    """
    faults = list(faults)
    with transaction.atomic(savepoint=False):
        ticket, now = lock_ticket(ticket), timezone.now()
        faults += rules.check_subject(subject)
        origin = _read_origin(ticket, sender, faults)
        before = ticket.full_status_name
        faults += rules.check_not_merged(ticket)
        choice = rules.choose(chosen, ticket, faults)
        values, wrong = custom_field.read(CustomField.Owner.TICKET, custom_fields or {}, ticket.custom_fields)
        assert choice.status is not None
        assert choice.queue is not None
        if choice.status.kind == Kind.CLOSED and ticket.closed_at is None:
            faults += custom_field.check_required(values, choice.queue.pk)
        tags = None if tags is None else list(dict.fromkeys(tags))
        if any(len(tag) > LONGEST_TAG for tag in tags or ()):
            faults.append(Fault(ErrorCode.TOO_LONG, "tags", {"limit": LONGEST_TAG}))
        if faults := faults + wrong:
            raise Invalid(faults)
        if origin and "customer_id" not in chosen:
            choice.customer = choice.customer or rules.customer_of(origin["sender"])
        rank = PRIORITIES.get(priority or "")
        given = {"subject": subject, **origin, "tags": tags, "priority": rank, "custom_fields": values}
        names = ("queue", "category", "type", "agent", "customer")
        after: dict[str, Any] = {name: getattr(choice, name) for name in names}
        after |= {name: value for name, value in given.items() if value is not None}
        history = differences(ticket, after)
        columns = {name: after[name] for name in history}
        for name, value in columns.items():
            setattr(ticket, name, value)
        moved, comment = change_status(ticket, choice.status, choice.substatus, now)
        columns = set_columns(ticket, columns | moved)
        if not history and not comment:
            return ticket, set()
        save_ticket(ticket, columns, now)
        if comment:
            add_system_comment(ticket, comment, now)
            history["status"] = [before, ticket.full_status_name]
        log_ticket(ticket, actor, "edit", history)
        events.ticket_updated(ticket)
        return ticket, set(history)


def _read_origin(ticket: Ticket, sender: str | None, faults: list[Fault]) -> dict[str, str]:
    """Return the columns that a new sender sets, and add its faults. The unchanged sender is not checked again."""
    if sender is None or sender == ticket.sender:
        return {}
    faults += rules.check_sender(sender, ticket.source)
    address, name = read_sender(sender)
    is_same = address.lower() == ticket.sender.lower()
    return {"sender": address, "sender_name": name or (ticket.sender_name if is_same else "")}
