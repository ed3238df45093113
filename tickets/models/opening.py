"""A ticket begins: with its first message, from the customer or entered by an agent on his behalf."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid, check_lines
from callcentre.models import actor_columns
from tickets import events
from tickets.addresses import read_sender
from tickets.models import custom_values
from tickets.models.attaching import attach, find_unused
from tickets.models.custom_field import CustomField
from tickets.models.file import StoredFile
from tickets.models.message import Message
from tickets.models.moving import Kind, status_of_kind
from tickets.models.noting import note_end
from tickets.models.owing import after_status, settle
from tickets.models.rules import Choice, check_body, check_sender, choose, cleaned, customer_of
from tickets.models.ticket import Source, Ticket, TicketChange
from tickets.models.ticket_queue import TicketQueue
from tickets.models.unknown import customer_of_sender


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
    source: str = Source.EMAIL,
    attachments: Sequence[str] = (),
    files: Sequence[StoredFile] = (),
    custom_fields: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    at: datetime | None = None,
    quoted: str = "",
    is_automatic: bool = False,
    may_be_empty: bool = False,
    may_create_customer: bool = False,
    **chosen: Any,
) -> Ticket:
    """Open a ticket with its first message. `chosen`: agent_login, customer_id, queue_id, category_id, status_id,
    substatus_id; what is not given is the first active queue, the first status of new tickets, the customer of the
    sender's address (a new one with `may_create_customer`, where the settings say so). Sends no mail. Raises Invalid
    with every fault.
    """
    faults = list(faults)
    kept, quoted = cleaned(body, body_type), cleaned(quoted, body_type)
    with transaction.atomic():
        now = timezone.now()
        choice = choose(chosen, Choice(), faults)
        queue = choice.queue or TicketQueue.objects.active().order_by("id").first()
        if queue is None and not chosen.get("queue_id"):
            faults.append(Fault(ErrorCode.TICKET_QUEUE_MISSING, "queue_id"))
        values, wrong = custom_values.read(CustomField.Owner.TICKET, custom_fields or {}, {})
        faults += wrong
        faults += [] if may_be_empty else check_body(body, kept, body_type)
        faults += check_lines(subject=subject)
        faults += check_sender(sender, source, may_be_any=may_be_empty)
        faults += check_lines(sender_name=sender_name)
        sender, sender_name = read_sender(sender, sender_name)
        files = [*files, *find_unused(actor, attachments, faults)]
        if faults or queue is None:
            raise Invalid(faults)
        customer = choice.customer
        if customer is None and may_create_customer:
            customer = customer_of_sender(actor, sender, sender_name)
        elif customer is None:
            customer = customer_of(sender)
        status = choice.status or status_of_kind(Kind.NEW)
        is_closed = status.kind == Kind.CLOSED
        created_at = at or now
        ticket = Ticket(
            subject=subject,
            source=source,
            queue=queue,
            category=choice.category,
            status=status,
            substatus=choice.substatus,
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
        settle(ticket, {"awaiting_since": created_at, **waiting})
        ticket.save(force_insert=True)
        note_end(ticket)
        message = Message.objects.create(
            ticket=ticket,
            type=Message.Type.MAIL,
            author_name=sender_name,
            author_address=sender,
            reply_to=reply_to,
            body=kept,
            quoted=quoted,
            body_type=body_type,
            attachments=[file.token for file in files],
            is_automatic=is_automatic,
            created_at=created_at,
        )
        attach(message, files)
        TicketChange.objects.create(ticket=ticket, action="create", **actor_columns(actor))
        login = choice.agent.login if choice.agent else ""
        events.ticket_created(ticket.pk, ticket.customer_id, login, "in_behalf_of" if login else "in")
    return ticket
