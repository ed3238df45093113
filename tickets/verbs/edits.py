"""The edit of a ticket's columns. The verb `edit_ticket` and rules call it."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import differences
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import ErrorCode, Fault, Invalid
from telephony.models import Agent
from tickets import events
from tickets.addresses import read_sender
from tickets.models import custom_field, rules
from tickets.models.agent_preferences import NoticeKind
from tickets.models.custom_field import CustomField
from tickets.models.ticket import LONGEST_TAG, PRIORITIES, Ticket
from tickets.verbs.due_times import Kind, change_status, set_columns, status_of_kind
from tickets.verbs.notices import close_outdated, notify
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
    author: Agent | None = None,
    **chosen: Any,
) -> tuple[Ticket, set[str]]:
    """Change the given fields; `chosen` is explained at `rules.choose`. A change of status leaves a system comment.

    `postponed_until` in it postpones the ticket until then, or, as None, without an end. A new sender also sets the
    sender's name, and the customer if the ticket has none. The `author` is the agent for whom the actor does it, and
    gets no notice. Return the locked ticket and the names of the changed columns.
    """
    faults = list(faults)
    with transaction.atomic(savepoint=False):
        ticket, now = lock_ticket(ticket), timezone.now()
        faults += rules.check_subject(subject)
        origin = _read_origin(ticket, sender, faults)
        before = ticket.full_status_name
        faults += rules.check_not_merged(ticket)
        choice = rules.choose(chosen, ticket, faults)
        is_dated, until = "postponed_until" in chosen, chosen.get("postponed_until")
        if until:
            is_status_given = "status_id" in chosen or "substatus_id" in chosen
            _postpone(choice, is_status_given=is_status_given, is_over=until <= now, faults=faults)
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
        names = ("queue", "category", "type", "team", "agent", "customer")
        after: dict[str, Any] = {name: getattr(choice, name) for name in names}
        after |= {name: value for name, value in given.items() if value is not None}
        if is_dated:
            after["postponed_until"] = until
        history = differences(ticket, after)
        columns = {name: after[name] for name in history}
        for name, value in columns.items():
            setattr(ticket, name, value)
        moved, comment = change_status(ticket, choice.status, choice.substatus, now)
        columns = set_columns(ticket, moved | columns)
        if not history and not comment:
            return ticket, set()
        save_ticket(ticket, columns, now)
        if comment:
            add_system_comment(ticket, comment, now)
            history["status"] = [before, ticket.full_status_name]
        change_id = log_ticket(ticket, actor, "edit", history)
        events.ticket_updated(ticket)
        offer_to_team(ticket)
        _tell(ticket, history, f"change-{change_id}", actor, author)
        return ticket, set(history)


def offer_to_team(ticket: Ticket) -> None:
    """Have a worker give a ticket without an agent to a member of its team."""
    if ticket.team_id and ticket.agent_id is None and ticket.closed_at is None:
        enqueue("tickets.assign_waiting", ticket.team_id)


def _tell(ticket: Ticket, history: Mapping[str, Any], key: str, actor: Actor, author: Agent | None) -> None:
    """Tell a new assignee, and the followers of a change of the assignee or the status."""
    if "agent" in history or "status" in history:
        if ticket.closed_at or history.get("agent", [None])[0]:
            close_outdated(ticket)
        kind = NoticeKind.ASSIGNED if "agent" in history else None
        notify(ticket, kind, key, actor, author=author, to_followers=NoticeKind.FOLLOWED)


def _postpone(choice: rules.Choice, *, is_status_given: bool, is_over: bool, faults: list[Fault]) -> None:
    """Choose the status of postponed tickets, unless the ticket has one of them, or gets one by the same change."""
    is_postponed = choice.status is not None and choice.status.kind == Kind.POSTPONED
    if is_over:
        faults.append(Fault(ErrorCode.POSTPONED_UNTIL, "postponed_until"))
    elif is_status_given and not is_postponed:
        faults.append(Fault(ErrorCode.POSTPONED_STATUS, "postponed_until"))
    elif not is_postponed:
        choice.status, choice.substatus = status_of_kind(Kind.POSTPONED), None


def _read_origin(ticket: Ticket, sender: str | None, faults: list[Fault]) -> dict[str, str]:
    """Return the columns that a new sender sets, and add its faults. The unchanged sender is not checked again."""
    if sender is None or sender == ticket.sender:
        return {}
    faults += rules.check_sender(sender, ticket.source)
    address, name = read_sender(sender)
    is_same = address.lower() == ticket.sender.lower()
    return {"sender": address, "sender_name": name or (ticket.sender_name if is_same else "")}
