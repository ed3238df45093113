"""Open, edit and connect tickets."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns
from callcentre.core.errors import ErrorCode, Fault, Invalid, check_lines
from tickets import events
from tickets.addresses import read_sender
from tickets.models import custom_field, rules
from tickets.models.agent_preferences import NoticeKind
from tickets.models.automation import Happening
from tickets.models.custom_field import CustomField
from tickets.models.file import StoredFile
from tickets.models.message import Message
from tickets.models.ticket import PRIORITIES, Priority, Source, Ticket
from tickets.models.ticket_queue import TicketQueue
from tickets.verbs.attachments import attach, lock_unused_files
from tickets.verbs.automation import EVERYTHING, after_change
from tickets.verbs.due_times import Kind, after_status, set_columns, status_of_kind
from tickets.verbs.edits import edit, offer_to_team
from tickets.verbs.notices import notify
from tickets.verbs.ticket_row import RowInsert, lock_ticket, log_ticket, mark_stored, save_ticket
from tickets.verbs.unknown_customers import customer_of_sender

_TICKET = RowInsert("ticket", Ticket)
_MESSAGE = RowInsert("message", Message, ticket_id="(SELECT id FROM ticket)")
_HISTORY = """history AS (
  INSERT INTO tickets_ticketchange (ticket_id, actor_kind, actor_id, actor_name, actor_address, action, changes)
  SELECT id, %(actor_kind)s, %(actor_id)s, %(actor_name)s, %(actor_address)s::inet, 'create', '{}' FROM ticket
)"""
_ADD = f"{_TICKET.query}, {_MESSAGE.query}, {_HISTORY}"
_IDS = "(SELECT ARRAY[ticket.id, message.id] FROM ticket, message)"


def open_ticket(
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    subject: str = "",
    body: str = "",
    body_type: str = Message.BodyType.PLAIN,
    sender: str = "",
    sender_name: str = "",
    reply_to: str = "",
    verdicts: str = "",
    source: str = Source.EMAIL,
    attachments: Sequence[str] = (),
    files: Sequence[StoredFile] = (),
    custom_fields: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    priority: str = "",
    at: datetime | None = None,
    quoted: str = "",
    is_automatic: bool = False,
    may_be_empty: bool = False,
    may_create_customer: bool = False,
    queue: TicketQueue | None = None,
    **chosen: Any,
) -> Message:
    """Open a ticket with its first message, from the customer or entered by an agent. Return the message. Send no mail.

    `chosen` is agent_login, customer_id, queue_id, category_id, type_id, team_id, status_id, substatus_id. A caller
    that has read the queue gives it as `queue` instead. Defaults are the first active queue, its team, the first status
    of new tickets, and the customer with the sender's address; with `may_create_customer` that may be a new one, if the
    settings say so.
    """
    faults = list(faults)
    kept, quoted = rules.cleaned(body, body_type), rules.cleaned(quoted, body_type)
    with transaction.atomic():
        faults += [] if may_be_empty else rules.check_body(body, kept, body_type)
        if attachments:
            files = [*files, *lock_unused_files(actor, attachments, faults)]
        ticket = _new_ticket(
            actor,
            faults,
            chosen,
            subject=subject,
            sender=sender,
            sender_name=sender_name,
            source=source,
            custom_fields=custom_fields or {},
            tags=tags,
            priority=priority,
            at=at,
            may_be_any_sender=may_be_empty,
            may_create_customer=may_create_customer,
            queue=queue,
        )
        message = Message(
            ticket=ticket,
            type=Message.Type.MAIL,
            author_name=ticket.sender_name,
            author_address=ticket.sender,
            reply_to=reply_to,
            verdicts=verdicts,
            body=kept,
            quoted=quoted,
            body_type=body_type,
            attachments=[file.token for file in files],
            is_automatic=is_automatic,
            created_at=ticket.created_at,
        )
        _add(ticket, message, actor)
        if files:
            attach(message, files)
        offer_to_team(ticket)
        notify(ticket, NoticeKind.ASSIGNED, f"opened-{ticket.pk}", actor)
        if not is_automatic:
            after_change(ticket, Happening.OPENED, changed=EVERYTHING)
    return message


def open_unwritten_ticket(actor: Actor, *, subject: str, sender: str, sender_name: str, **chosen: Any) -> Ticket:
    """Open a ticket without a message, for an agent who writes first. `chosen` is explained at `open_ticket`."""
    with transaction.atomic():
        ticket = _new_ticket(
            actor,
            [],
            chosen,
            subject=subject,
            sender=sender,
            sender_name=sender_name,
            source=Source.EMAIL,
            may_be_any_sender=True,
        )
        ticket.save(force_insert=True)
        log_ticket(ticket, actor, "create", {})
        events.ticket_created(ticket)
        offer_to_team(ticket)
        notify(ticket, NoticeKind.ASSIGNED, f"opened-{ticket.pk}", actor)
        after_change(ticket, Happening.OPENED, changed=EVERYTHING)
    return ticket


def _new_ticket(
    actor: Actor,
    faults: list[Fault],
    chosen: Mapping[str, Any],
    *,
    subject: str,
    sender: str,
    sender_name: str,
    source: str,
    custom_fields: Mapping[str, Any] = MappingProxyType({}),
    tags: Sequence[str] = (),
    priority: str = "",
    at: datetime | None = None,
    may_be_any_sender: bool = False,
    may_create_customer: bool = False,
    queue: TicketQueue | None = None,
) -> Ticket:
    """Return a ticket with these values, which is not stored yet. Raises Invalid with the given faults and its own."""
    now = timezone.now()
    choice = rules.choose(chosen, None, faults)
    queue = choice.queue or queue or TicketQueue.objects.active().order_by("id").first()
    if queue is None and not chosen.get("queue_id"):
        faults.append(Fault(ErrorCode.TICKET_QUEUE_MISSING, "queue_id"))
    elif queue is not None and not queue.is_active:
        faults.append(Fault(ErrorCode.TICKET_QUEUE_NOT_FOUND, "queue_id"))
    values, wrong = custom_field.read(CustomField.Owner.TICKET, custom_fields, {})
    faults += wrong
    faults += check_lines(subject=subject)
    faults += rules.check_sender(sender, source, may_be_any=may_be_any_sender)
    faults += check_lines(sender_name=sender_name)
    if queue is not None and choice.status is not None and choice.status.kind == Kind.CLOSED:
        faults += custom_field.check_required(values, queue.pk)
    if faults or queue is None:
        raise Invalid(faults)
    sender, sender_name = read_sender(sender, sender_name)
    customer = choice.customer
    if customer is None and may_create_customer:
        customer = customer_of_sender(actor, sender, sender_name)
    elif customer is None:
        customer = rules.customer_of(sender)
    status = choice.status or status_of_kind(Kind.NEW)
    is_closed = status.kind == Kind.CLOSED
    created_at = at or now
    ticket = Ticket(
        subject=subject,
        source=source,
        queue=queue,
        category=choice.category,
        type=choice.type,
        priority=PRIORITIES.get(priority, Priority.NORMAL),
        status=status,
        substatus=choice.substatus,
        team=choice.team if "team_id" in chosen else queue.active_team,
        agent=choice.agent,
        customer=customer,
        sender=sender,
        sender_name=sender_name,
        tags=list(dict.fromkeys(tags)),
        custom_fields=values,
        created_at=created_at,
        updated_at=now,
        closed_at=now if is_closed else None,
        closed_by=choice.agent if is_closed else None,
    )
    waiting = after_status(ticket, status, created_at) if not is_closed else {}
    ending = {"closed_at": now} if is_closed else {}
    set_columns(ticket, {"awaiting_since": created_at, **waiting, **ending})
    return ticket


def _add(ticket: Ticket, message: Message, actor: Actor) -> None:
    """Write the ticket, its first message, its history and its event, in one statement: mail comes in by it."""
    parameters = {**_TICKET.parameters(ticket), **_MESSAGE.parameters(message), **change_columns(actor)}
    ticket_id, message_id = events.ticket_created_by(_ADD, ticket, parameters, result=_IDS)
    mark_stored(ticket, ticket_id)
    message.ticket = ticket
    mark_stored(message, message_id)


def edit_ticket(ticket: Ticket, actor: Actor, faults: Sequence[Fault] = (), **values: Any) -> set[str]:
    """Change a ticket as `edits.edit` says, and run the rules. Return the names of the changed columns."""
    with transaction.atomic():
        ticket, columns = edit(ticket, actor, faults, **values)
        if columns:
            after_change(ticket, Happening.CHANGED, changed=columns)
    return columns


def connect_tickets(one: Ticket, other: Ticket, actor: Actor) -> None:
    """Connect two tickets. Nothing changes if they are connected already."""
    if one.pk == other.pk:
        raise Invalid([Fault(ErrorCode.MERGE_WITH_ITSELF)])
    with transaction.atomic():
        now = timezone.now()
        first, second = (lock_ticket(ticket) for ticket in sorted((one, other), key=lambda ticket: ticket.pk))
        for here, there in ((first, second), (second, first)):
            if there.pk not in here.connected_ids:
                save_ticket(here, {"connected_ids": [*here.connected_ids, there.pk]}, now)
                log_ticket(here, actor, "connect", {"connected": [None, there.pk]})
                events.ticket_updated(here)
