"""The verbs that change what a ticket is: edit, merge, split, connect."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.models import actor_columns
from tickets import events
from tickets.addresses import read_sender
from tickets.models import custom_values
from tickets.models.conversing import lock
from tickets.models.custom_field import CustomField
from tickets.models.message import Message
from tickets.models.moving import Kind, changed, full_name, move, status_of_kind
from tickets.models.noting import note_end, note_replies
from tickets.models.origins import keep_authors, origin_of, remaining_origin
from tickets.models.owing import first_response, joined, settle, unanswered_since
from tickets.models.rules import Choice, check_sender, check_subject, choose, customer_of
from tickets.models.ticket import Ticket, TicketChange

_MERGES = 7_311


def edit(
    actor: Actor,
    ticket: Ticket,
    faults: Sequence[Fault] = (),
    *,
    subject: str | None = None,
    sender: str | None = None,
    tags: Sequence[str] | None = None,
    custom_fields: Mapping[str, Any] | None = None,
    **chosen: Any,
) -> None:
    """Change what is given: see `rules.choose` for `chosen`. A change of status leaves a note in the conversation.

    Another sender brings their name along, and their customer where the ticket has none.
    """
    faults = list(faults)
    with transaction.atomic():
        ticket, now = lock(ticket), timezone.now()
        faults += check_subject(subject)
        origin = _read_origin(ticket, sender, faults)
        before = Choice(ticket.status, ticket.substatus, ticket.queue, ticket.category, ticket.agent, ticket.customer)
        if ticket.merged_into_id is not None:
            faults.append(Fault(ErrorCode.TICKET_MERGED, params={"ticket_id": ticket.merged_into_id}))
        choice = choose(chosen, before, faults)
        values, wrong = custom_values.read(CustomField.Owner.TICKET, custom_fields or {}, ticket.custom_fields)
        if faults := faults + wrong:
            raise Invalid(faults)
        assert choice.queue is not None
        assert choice.status is not None
        if origin and "customer_id" not in chosen:
            choice.customer = choice.customer or customer_of(origin["sender"])
        history = _differences(before, choice)
        given = {"subject": subject, **origin, "tags": None if tags is None else list(dict.fromkeys(tags))}
        columns = _columns(ticket, choice, {**given, "custom_fields": values}, history)
        if choice.queue != before.queue:
            note_replies(ticket)
            note_end(ticket)
        columns = settle(ticket, columns)
        moved, note = move(ticket, choice.status, choice.substatus, now)
        moved = settle(ticket, moved)
        if not history and not note:
            return
        _save(ticket, columns | moved, now)
        if note:
            _note(ticket, note, now)
            history["status"] = [full_name_of(before), full_name(choice.status, choice.substatus)]
        _log(actor, ticket, "edit", history)
        _tell(ticket)


def merge(actor: Actor, source: Ticket, target: Ticket) -> None:
    """Move the messages of one ticket to another and close it; later mail to it goes to the other."""
    if source.pk == target.pk:
        raise Invalid([Fault(ErrorCode.MERGE_WITH_ITSELF)])
    with transaction.atomic():
        _lock_for_merge(source, target)
        now, source, target = timezone.now(), lock(source), lock(target)
        for ticket in (source, target):
            if ticket.merged_into_id is not None:
                raise Invalid([Fault(ErrorCode.TICKET_MERGED, params={"ticket_id": ticket.merged_into_id})])
        note_replies(source)
        keep_authors(source)
        source.messages.update(ticket=target)
        source.merged.update(merged_into=target)
        responded = {ticket: {"first_agent_responded_at": first_response(ticket)} for ticket in (source, target)}
        owed = settle(target, {**responded[target], "awaiting_since": joined(source, target)})
        status = status_of_kind(Kind.MERGED)
        note = changed(full_name(source.status, source.substatus), status.name)
        closing = {"closed_at": source.closed_at or now, "closed_by": source.closed_by or source.agent}
        moved = {"status": status, "substatus": None, "merged_into": target}
        _save(source, {**moved, **closing, **responded[source]}, now)
        note_end(source)
        _note(source, note, now)
        _save(target, owed, now)
        _log(actor, source, "merge", {"merged_into": [None, target.pk]})
        _log(actor, target, "merge", {"merged": [None, source.pk]})
        _tell(source)
        _tell(target)


def lock_merges() -> None:
    """Let no other transaction merge tickets until this one ends: no ticket comes to lead to another meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_MERGES])


def _lock_for_merge(source: Ticket, target: Ticket) -> None:
    """Lock both, and those that lead to the source, in the order of their ids, as every transaction locks several."""
    lock_merges()
    together = Q(pk__in=[source.pk, target.pk]) | Q(merged_into=source)
    list(Ticket.objects.filter(together).select_for_update(no_key=True).order_by("id").values_list("pk"))


def split(actor: Actor, ticket: Ticket, messages: Sequence[int], subject: str) -> Ticket:
    """Move some messages into a ticket of their own, connected with this one. The messages decide whose it is."""
    with transaction.atomic():
        ticket, now = lock(ticket), timezone.now()
        every = list(ticket.messages.order_by("created_at", "id"))
        moved = [message for message in every if message.pk in messages]
        kept = [message for message in every if message.pk not in messages]
        if not moved or not kept:
            raise Invalid([Fault(ErrorCode.SPLIT_NEEDS_SOME, "messages")])
        other = Ticket(
            subject=subject or ticket.subject,
            queue=ticket.queue,
            category=ticket.category,
            status=status_of_kind(Kind.NEW),
            agent=ticket.agent,
            **origin_of(moved, ticket),
            created_at=moved[0].created_at,
            updated_at=now,
            connected_ids=[ticket.pk],
        )
        other.save(force_insert=True)
        own = remaining_origin(kept, ticket)
        Message.objects.filter(pk__in=[message.pk for message in moved]).update(ticket=other)
        note_replies(other)
        _save(other, _owed_by_messages(other), now)
        connected = [*ticket.connected_ids, other.pk]
        changes = {name: [str(getattr(ticket, name) or ""), str(value or "")] for name, value in own.items()}
        changes = {name: pair for name, pair in changes.items() if pair[0] != pair[1]}
        _save(ticket, {**own, "connected_ids": connected, **_owed_by_messages(ticket)}, now)
        _log(actor, ticket, "split", {"split": [None, other.pk], **changes})
        _log(actor, other, "create", {"split_from": [None, ticket.pk]})
        login = ticket.agent.login if ticket.agent else ""
        events.ticket_created(other.pk, other.customer_id, login, "in_behalf_of" if login else "in")
        _tell(ticket)
    return other


def connect(actor: Actor, one: Ticket, other: Ticket) -> None:
    """Let two tickets know of each other. Again: nothing."""
    if one.pk == other.pk:
        raise Invalid([Fault(ErrorCode.MERGE_WITH_ITSELF)])
    with transaction.atomic():
        now = timezone.now()
        first, second = (lock(ticket) for ticket in sorted((one, other), key=lambda ticket: ticket.pk))
        for here, there in ((first, second), (second, first)):
            if there.pk not in here.connected_ids:
                _save(here, {"connected_ids": [*here.connected_ids, there.pk]}, now)
                _log(actor, here, "connect", {"connected": [None, there.pk]})
                _tell(here)


def _owed_by_messages(ticket: Ticket) -> dict[str, Any]:
    """Return what the messages that the ticket has now say of its responses, and the due times that follow."""
    said = {"first_agent_responded_at": first_response(ticket), "awaiting_since": unanswered_since(ticket)}
    return settle(ticket, said)


def _columns(ticket: Ticket, choice: Choice, given: Mapping[str, Any], history: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the columns that a choice and given values change; add the values to the history."""
    chosen = {"queue": choice.queue, "category": choice.category, "agent": choice.agent, "customer": choice.customer}
    columns: dict[str, Any] = {name: row for name, row in chosen.items() if row != getattr(ticket, name)}
    for name, value in given.items():
        if value is not None and value != getattr(ticket, name):
            history[name] = [getattr(ticket, name), value]
            columns[name] = value
    return columns


def _read_origin(ticket: Ticket, sender: str | None, faults: list[Fault]) -> dict[str, str]:
    """Return the columns that another sender sets; add its faults. The ticket's own sender, written back, has none."""
    if sender is None or sender == ticket.sender:
        return {}
    faults += check_sender(sender, ticket.source)
    address, name = read_sender(sender)
    is_same = address.lower() == ticket.sender.lower()
    return {"sender": address, "sender_name": name or (ticket.sender_name if is_same else "")}


def full_name_of(choice: Choice) -> str:
    return full_name(choice.status, choice.substatus) if choice.status else ""


def _differences(before: Choice, after: Choice) -> dict[str, list[Any]]:
    """For the history, by names that people know."""
    names: dict[str, tuple[Any, Any]] = {
        "queue": (before.queue, after.queue),
        "category": (before.category, after.category),
        "agent": (before.agent, after.agent),
        "customer": (before.customer, after.customer),
    }
    return {name: [old and str(old), new and str(new)] for name, (old, new) in names.items() if old != new}


def _save(ticket: Ticket, columns: Mapping[str, Any], now: Any) -> None:
    for name, value in columns.items():
        setattr(ticket, name, value)
    ticket.updated_at = now
    ticket.save(update_fields=[*columns, "updated_at"])


def _note(ticket: Ticket, note: str, now: Any) -> None:
    Message.objects.create(ticket=ticket, type=Message.Type.COMMENT, system_comment=note, created_at=now)


def _log(actor: Actor, ticket: Ticket, action: str, changes: dict[str, Any]) -> None:
    TicketChange.objects.create(ticket=ticket, action=action, changes=changes, **actor_columns(actor))


def _tell(ticket: Ticket) -> None:
    login = ticket.agent.login if ticket.agent else ""
    events.ticket_updated(ticket.pk, ticket.customer_id, login, ticket.status_id, ticket.substatus_id)
