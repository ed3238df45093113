"""The verbs that change what a ticket is: edit, merge, split, connect."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Min, Q
from django.utils import timezone

from callcentre.actor import Actor
from callcentre.errors import ErrorCode, Fault, Invalid
from callcentre.models import actor_columns
from tickets import events
from tickets.models import custom_values
from tickets.models.conversing import lock
from tickets.models.custom_field import CustomField
from tickets.models.message import Message
from tickets.models.moving import Kind, changed, full_name, move, status_of_kind, targets
from tickets.models.noting import note_end, note_replies
from tickets.models.rules import Choice, check_subject, choose
from tickets.models.ticket import Ticket, TicketChange

_MERGES = 7_311


def edit(
    actor: Actor,
    ticket: Ticket,
    faults: Sequence[Fault] = (),
    *,
    subject: str | None = None,
    tags: Sequence[str] | None = None,
    custom_fields: Mapping[str, Any] | None = None,
    **chosen: Any,
) -> None:
    """Change what is given: see `rules.choose` for `chosen`. A change of status leaves a note in the conversation."""
    faults = list(faults)
    with transaction.atomic():
        ticket, now = lock(ticket), timezone.now()
        faults += check_subject(subject)
        before = Choice(ticket.status, ticket.substatus, ticket.queue, ticket.category, ticket.agent, ticket.customer)
        if ticket.merged_into_id is not None:
            faults.append(Fault(ErrorCode.TICKET_MERGED, params={"ticket_id": ticket.merged_into_id}))
        choice = choose(chosen, before, faults)
        values, wrong = custom_values.read(CustomField.Owner.TICKET, custom_fields or {}, ticket.custom_fields)
        if faults := faults + wrong:
            raise Invalid(faults)
        assert choice.queue is not None
        assert choice.status is not None
        history = _differences(before, choice)
        columns: dict[str, Any] = {
            "queue": choice.queue,
            "category": choice.category,
            "agent": choice.agent,
            "customer": choice.customer,
        }
        given = {"subject": subject, "tags": None if tags is None else list(dict.fromkeys(tags))}
        for name, value in {**given, "custom_fields": values}.items():
            if value is not None and value != getattr(ticket, name):
                history[name] = [getattr(ticket, name), value]
                columns[name] = value
        if choice.queue != before.queue:
            note_replies(ticket)
            note_end(ticket)
            columns |= targets(choice.queue, ticket.created_at)
        for name, value in columns.items():
            setattr(ticket, name, value)
        moved, note = move(ticket, choice.status, choice.substatus, now)
        if not history and not note:
            return
        _save(ticket, columns | moved, now)
        if note:
            _note(ticket, note, now)
        if note:
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
        source.messages.update(ticket=target)
        source.merged.update(merged_into=target)
        responded = {ticket: {"first_agent_responded_at": first_response(ticket)} for ticket in (source, target)}
        status = status_of_kind(Kind.MERGED)
        note = changed(full_name(source.status, source.substatus), status.name)
        closing = {"closed_at": source.closed_at or now, "closed_by": source.closed_by or source.agent}
        moved = {"status": status, "substatus": None, "merged_into": target}
        _save(source, {**moved, **closing, **responded[source]}, now)
        note_end(source)
        _note(source, note, now)
        _save(target, responded[target], now)
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
    """Move some messages into a ticket of their own, connected with this one."""
    with transaction.atomic():
        ticket, now = lock(ticket), timezone.now()
        moved = list(ticket.messages.filter(pk__in=messages).order_by("created_at", "id"))
        if not moved or len(moved) == ticket.messages.count():
            raise Invalid([Fault(ErrorCode.SPLIT_NEEDS_SOME, "messages")])
        other = Ticket.objects.create(
            subject=subject or ticket.subject,
            source=ticket.source,
            queue=ticket.queue,
            category=ticket.category,
            status=status_of_kind(Kind.NEW),
            agent=ticket.agent,
            customer=ticket.customer,
            sender=ticket.sender,
            sender_name=ticket.sender_name,
            created_at=moved[0].created_at,
            updated_at=now,
            connected_ids=[ticket.pk],
            **targets(ticket.queue, moved[0].created_at),
        )
        Message.objects.filter(pk__in=[message.pk for message in moved]).update(ticket=other)
        note_replies(other)
        _save(other, {"first_agent_responded_at": first_response(other)}, now)
        responded = first_response(ticket)
        connected = [*ticket.connected_ids, other.pk]
        _save(ticket, {"connected_ids": connected, "first_agent_responded_at": responded}, now)
        _log(actor, ticket, "split", {"split": [None, other.pk]})
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


def first_response(ticket: Ticket) -> datetime | None:
    """When an agent first replied, by the messages that the ticket has now."""
    replies = ticket.messages.filter(type=Message.Type.REPLY, agent__isnull=False, is_automatic=False)
    first: datetime | None = replies.aggregate(at=Min("created_at"))["at"]
    return first


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
