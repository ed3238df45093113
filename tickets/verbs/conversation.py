"""The texts of a ticket: a reply to the customer, an automatic mail, a comment for other agents.

Each function locks the ticket. In one transaction it writes the message, changes the status, attaches files and records
the events; or it raises all faults and changes nothing. The verbs (`messages.py`) and rules call them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import ErrorCode, Fault, Invalid
from tickets import events
from tickets.addresses import check_addresses
from tickets.mail_ids import new_header_id
from tickets.models.agent_preferences import NoticeKind
from tickets.models.dispatch import Dispatch
from tickets.models.file import StoredFile
from tickets.models.message import Message
from tickets.models.participants import recipients_of
from tickets.models.rules import active_agent, check_body, check_not_merged, cleaned
from tickets.models.ticket import MARKETPLACES, REPLY_SOURCES, Source, Ticket
from tickets.verbs.attachments import attach, lock_unused_files
from tickets.verbs.due_times import (
    Kind,
    after_reply,
    change_status,
    end_target,
    set_columns,
    status_of_kind,
)
from tickets.verbs.notices import logins_in, notify
from tickets.verbs.ticket_row import lock_ticket, save_ticket


def reply_to(
    ticket: Ticket,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    agent_login: str = "",
    body: str = "",
    body_type: str = Message.BodyType.HTML,
    at: datetime | None = None,
    attachments: Sequence[str] = (),
    recipients: Sequence[str] = (),
    copies: Sequence[str] = (),
    may_be_mail: bool = False,
) -> Message:
    """Write an agent's reply to the customer, which a worker then sends to `recipients` (default: `recipients_of`).

    With `may_be_mail` the reply to a ticket that came by phone, SMS, chat or form is a mail. A ticket that is new or in
    progress waits for the customer from then on. The first reply is its first response.
    """
    faults, kept = list(faults), cleaned(body, body_type)
    with transaction.atomic(savepoint=False):
        ticket, now = lock_ticket(ticket), timezone.now()
        agent = active_agent(agent_login, faults)
        _check_ticket(ticket, at, now, faults)
        faults += check_body(body, kept, body_type)
        is_mail = ticket.source == Source.EMAIL or (may_be_mail and ticket.source not in MARKETPLACES)
        if ticket.source not in REPLY_SOURCES and not is_mail:
            faults.append(Fault(ErrorCode.REPLY_UNSUPPORTED, params={"source": ticket.source}))
        elif ticket.source in MARKETPLACES and body_type != Message.BodyType.PLAIN:
            faults.append(Fault(ErrorCode.PLAIN_ONLY, "body_type", {"source": ticket.source}))
        to = list(recipients) or recipients_of(ticket)
        if is_mail and not to:
            faults.append(Fault(ErrorCode.RECIPIENT_UNKNOWN))
        faults += check_addresses(recipients, "recipients") + check_addresses(copies, "copies")
        files = lock_unused_files(actor, attachments, faults)
        if faults:
            raise Invalid(faults)
        columns: dict[str, Any] = {}
        system_comment = ""
        # A given time has minutes only, so it can lie before the creation.
        at = max(at or now, ticket.created_at)
        if ticket.status.meaning.is_open:
            columns, system_comment = change_status(ticket, status_of_kind(Kind.WAITING_FOR_CUSTOMER), None, now)
        if ticket.first_agent_responded_at is None:
            columns["first_agent_responded_at"] = at
        columns |= after_reply(ticket, at)
        message = write(
            ticket,
            now,
            columns,
            files,
            type=Message.Type.REPLY,
            agent=agent,
            author_name=agent.full_name if agent else "",
            body=kept,
            body_type=body_type,
            system_comment=system_comment,
            created_at=at,
        )
        _queue(message, to, copies, now)
        events.agent_responded(ticket, agent_login, message_id=message.pk)
        if system_comment:
            events.ticket_updated(ticket)
        key = f"reply-{message.pk}"
        notify(ticket, None, key, actor, author=agent, to_followers=NoticeKind.FOLLOWED)
    return message


def send_automatically(ticket: Ticket, text: str) -> Message:
    """Send a mail to the customer that no agent has written. Status and due times stay as they are."""
    with transaction.atomic(savepoint=False):
        ticket, now = lock_ticket(ticket), timezone.now()
        if ticket.source != Source.EMAIL:
            raise Invalid([Fault(ErrorCode.REPLY_UNSUPPORTED, params={"source": ticket.source})])
        if not recipients_of(ticket):
            raise Invalid([Fault(ErrorCode.RECIPIENT_UNKNOWN)])
        message = write(ticket, now, {}, [], type=Message.Type.REPLY, body=text, is_automatic=True, created_at=now)
        _queue(message, recipients_of(ticket), [], now)
    return message


def comment_on(
    ticket: Ticket,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    agent_login: str = "",
    text: str = "",
    text_type: str = Message.BodyType.HTML,
    attachments: Sequence[str] = (),
    is_answer: bool = False,
) -> Message:
    """Add an agent's comment for other agents. The status stays.

    A comment that `is_answer` says what the customer was told another way; it ends the response target.
    """
    faults, kept = list(faults), cleaned(text, text_type)
    with transaction.atomic(savepoint=False):
        ticket, now = lock_ticket(ticket), timezone.now()
        agent = active_agent(agent_login, faults)
        faults += check_not_merged(ticket)
        faults += check_body(text, kept, text_type, "comment")
        files = lock_unused_files(actor, attachments, faults)
        if faults:
            raise Invalid(faults)
        message = write(
            ticket,
            now,
            {},
            files,
            type=Message.Type.COMMENT,
            agent=agent,
            author_name=agent.full_name if agent else actor.name,
            comment=kept,
            body_type=text_type,
            is_answer=is_answer,
            created_at=now,
        )
        if is_answer:
            end_target(ticket, actor, "comment", now)
        events.ticket_commented(ticket, agent_login, message_id=message.pk)
        key, logins = f"comment-{message.pk}", logins_in(kept, text_type)
        notify(ticket, None, key, actor, author=agent, to_followers=NoticeKind.FOLLOWED, logins=logins)
    return message


def write(
    ticket: Ticket, now: datetime, columns: dict[str, Any], files: Sequence[StoredFile], **values: Any
) -> Message:
    message = Message.objects.create(ticket=ticket, attachments=[file.token for file in files], **values)
    if files:
        attach(message, files)
    save_ticket(ticket, set_columns(ticket, columns), now)
    return message


def _queue(message: Message, recipients: Sequence[str], copies: Sequence[str], now: datetime) -> None:
    """Queue the message for a worker, which sends it to the marketplace that the ticket came from, or by mail."""
    source = message.ticket.source if message.ticket.source in MARKETPLACES else Source.EMAIL
    dispatch = Dispatch.objects.create(
        message=message,
        source=source,
        recipients=list(recipients),
        copies=list(copies),
        header_id=new_header_id(message) if source == Source.EMAIL else "",
        queued_at=now,
        next_attempt_at=now,
    )
    enqueue("tickets.dispatch", dispatch.pk)


def _check_ticket(ticket: Ticket, at: datetime | None, now: datetime, faults: list[Fault]) -> None:
    faults += check_not_merged(ticket)
    check_date(at, ticket.created_at, now, faults)


def check_date(at: datetime | None, began_at: datetime, now: datetime, faults: list[Fault]) -> None:
    # A given time has minutes only, so the minute of the creation is valid.
    if at is not None and not began_at.replace(second=0, microsecond=0) <= at <= now:
        faults.append(Fault(ErrorCode.DATE_OUTSIDE, "at"))
