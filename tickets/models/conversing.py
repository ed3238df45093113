"""The verbs of a conversation: a reply to the customer, a message from him, a comment among agents.

Each locks the ticket, so that of two at once the second sees what the first did; writes the message, moves the
status, attaches files and records the events in one transaction; or raises every fault and leaves nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import ErrorCode, Fault, Invalid, check_lines
from callcentre.models import still_there
from telephony.models import Agent
from telephony.verbs import ledger_changes
from tickets import events
from tickets.addresses import check_addresses, is_address
from tickets.mail_ids import new_header_id
from tickets.models.attaching import attach, find_unused
from tickets.models.dispatch import Dispatch
from tickets.models.file import StoredFile
from tickets.models.message import Message
from tickets.models.moving import Kind, move, status_of_kind
from tickets.models.owing import after_reply, awaited_since, settle
from tickets.models.rules import check_body, cleaned
from tickets.models.ticket import Source, Ticket

MARKETPLACES = (Source.MARKETPLACE_MESSAGE, Source.MARKETPLACE_DISPUTE)
REPLYING = (Source.EMAIL, *MARKETPLACES)


def lock(ticket: Ticket) -> Ticket:
    """Return the ticket as it is now, locked until the transaction ends. Raises Conflict where it was deleted.

    Its row alone is locked first: of two at once, the second would find no row at all where the first has changed what
    was joined to it, such as the status.
    """
    still_there(Ticket.objects.select_for_update(no_key=True).only("pk").filter(pk=ticket.pk))
    return Ticket.objects.select_related("status", "substatus", "queue", "agent", "customer").get(pk=ticket.pk)


def reply(
    actor: Actor,
    ticket: Ticket,
    faults: Sequence[Fault] = (),
    *,
    agent_login: str = "",
    body: str = "",
    body_type: str = Message.BodyType.HTML,
    at: datetime | None = None,
    attachments: Sequence[str] = (),
    recipients: Sequence[str] = (),
    copies: Sequence[str] = (),
) -> Message:
    """An agent answers the customer; a worker sends it. `recipients`: instead of whom the ticket came from; a reply to
    all has those of `answering.everybody`.

    Moves a ticket that is new or in progress to waiting for the customer, and sets the first response once.
    """
    faults, kept = list(faults), cleaned(body, body_type)
    with transaction.atomic():
        ticket, now = lock(ticket), timezone.now()
        agent = _agent(agent_login, faults)
        _check_ticket(ticket, at, now, faults)
        faults += check_body(body, kept, body_type)
        if ticket.source not in REPLYING:
            faults.append(Fault(ErrorCode.REPLY_UNSUPPORTED, params={"source": ticket.source}))
        elif ticket.source in MARKETPLACES and body_type != Message.BodyType.PLAIN:
            faults.append(Fault(ErrorCode.PLAIN_ONLY, "body_type", {"source": ticket.source}))
        to = list(recipients) or recipients_of(ticket)
        if ticket.source == Source.EMAIL and not to:
            faults.append(Fault(ErrorCode.RECIPIENT_UNKNOWN))
        faults += check_addresses(recipients, "recipients") + check_addresses(copies, "copies")
        files = find_unused(actor, attachments, faults)
        if faults:
            raise Invalid(faults)
        columns: dict[str, Any] = {}
        note = ""
        # The minute of the creation began before it; the reply did not.
        at = max(at or now, ticket.created_at)
        if ticket.status.kind in (Kind.NEW, Kind.IN_PROGRESS):
            columns, note = move(ticket, status_of_kind(Kind.WAITING_FOR_CUSTOMER), None, now)
        if ticket.first_agent_responded_at is None:
            columns["first_agent_responded_at"] = at
        columns |= after_reply(ticket, at)
        message = _write(
            ticket,
            now,
            columns,
            files,
            type=Message.Type.REPLY,
            agent=agent,
            author_name=agent.full_name if agent else "",
            body=kept,
            body_type=body_type,
            system_comment=note,
            created_at=at,
        )
        if agent:
            ledger_changes.record(agent.pk, message.created_at, message.created_at)
        _queue(message, to, copies, now)
        events.agent_responded(ticket.pk, ticket.customer_id, agent_login, message.pk)
        _tell_of_status(ticket, note)
    return message


def acknowledge(ticket: Ticket, text: str) -> Message:
    """The service itself tells the customer that his mail has come. It is no reply: status and targets stay."""
    with transaction.atomic():
        ticket, now = lock(ticket), timezone.now()
        message = _write(ticket, now, {}, [], type=Message.Type.REPLY, body=text, is_automatic=True, created_at=now)
        _queue(message, recipients_of(ticket), [], now)
    return message


def receive(
    actor: Actor,
    ticket: Ticket,
    faults: Sequence[Fault] = (),
    *,
    body: str = "",
    body_type: str = Message.BodyType.HTML,
    at: datetime | None = None,
    from_name: str = "",
    from_address: str = "",
    reply_to: str = "",
    quoted: str = "",
    is_automatic: bool = False,
    may_be_empty: bool = False,
) -> Message:
    """A message of the customer: any ticket becomes new again, a closed one too. An automatic one moves nothing.

    One that was merged leads to the ticket that goes on: the customer need not know of that.
    """
    given, began_at = list(faults), timezone.now()
    kept, quoted = cleaned(body, body_type), cleaned(quoted, body_type)
    while True:
        try:
            with transaction.atomic():
                faults, ticket, now = list(given), lock(ticket), timezone.now()
                began_at = min(began_at, ticket.created_at)
                if ticket.merged_into is not None:
                    raise _Merged(ticket.merged_into)
                _check_date(at, began_at, now, faults)
                faults += [] if may_be_empty else check_body(body, kept, body_type)
                faults += check_lines(from_name=from_name)
                if faults:
                    raise Invalid(faults)
                columns, note = ({}, "") if is_automatic else move(ticket, status_of_kind(Kind.NEW), None, now)
                created_at = max(at or now, began_at)
                is_reopened = "targets_began_at" in columns
                if not is_automatic and (is_reopened or awaited_since(ticket) is None):
                    columns["awaiting_since"] = created_at
                message = _write(
                    ticket,
                    now,
                    columns,
                    [],
                    type=Message.Type.MAIL,
                    author_name=from_name,
                    author_address=from_address,
                    reply_to=reply_to,
                    body=kept,
                    quoted=quoted,
                    body_type=body_type,
                    system_comment=note,
                    created_at=created_at,
                    is_automatic=is_automatic,
                )
                events.message_received(ticket.pk, ticket.customer_id, _login(ticket), message.pk)
                _tell_of_status(ticket, note)
                return message
        except _Merged as merged:
            ticket = merged.into


class _Merged(Exception):
    """It goes on elsewhere. Raised out of the transaction, which so lets go of this ticket: whoever merges the other
    one further holds that, and waits for those that lead to it.
    """

    def __init__(self, into: Ticket) -> None:
        super().__init__(into.pk)
        self.into = into


def comment(
    actor: Actor,
    ticket: Ticket,
    faults: Sequence[Fault] = (),
    *,
    agent_login: str = "",
    text: str = "",
    text_type: str = Message.BodyType.HTML,
    attachments: Sequence[str] = (),
) -> Message:
    """An agent notes something for his colleagues. The status stays."""
    faults, kept = list(faults), cleaned(text, text_type)
    with transaction.atomic():
        now = timezone.now()
        ticket = _lock_for_comment(ticket)
        agent = _agent(agent_login, faults)
        _check_ticket(ticket, None, now, faults)
        faults += check_body(text, kept, text_type, "comment")
        files = find_unused(actor, attachments, faults)
        if faults:
            raise Invalid(faults)
        message = _write(
            ticket,
            now,
            {},
            files,
            type=Message.Type.COMMENT,
            agent=agent,
            author_name=agent.full_name if agent else actor.name,
            comment=kept,
            body_type=text_type,
            created_at=now,
        )
        events.ticket_commented(ticket.pk, ticket.customer_id, agent_login, message.pk)
    return message


def _write(
    ticket: Ticket, now: datetime, columns: dict[str, Any], files: Sequence[StoredFile], **values: Any
) -> Message:
    message = Message.objects.create(ticket=ticket, attachments=[file.token for file in files], **values)
    attach(message, files)
    columns = settle(ticket, columns)
    ticket.updated_at = now
    ticket.save(update_fields=[*columns, "updated_at"])
    return message


def _queue(message: Message, recipients: Sequence[str], copies: Sequence[str], now: datetime) -> None:
    """A worker sends it, by the way that the ticket came."""
    source = message.ticket.source
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


def _tell_of_status(ticket: Ticket, note: str) -> None:
    if note:
        events.ticket_updated(ticket.pk, ticket.customer_id, _login(ticket), ticket.status_id, ticket.substatus_id)


def _lock_for_comment(ticket: Ticket) -> Ticket:
    """As much of it as a comment needs to know."""
    columns = ("created_at", "customer_id", "merged_into_id")
    return still_there(Ticket.objects.select_for_update(no_key=True).only(*columns).filter(pk=ticket.pk))


def _login(ticket: Ticket) -> str:
    return ticket.agent.login if ticket.agent else ""


def _agent(login: str, faults: list[Fault]) -> Agent | None:
    """The active agent of this login; what is missing was said by the reader."""
    if not login:
        return None
    agent = Agent.objects.active().filter(login=login).first()
    if agent is None:
        faults.append(Fault(ErrorCode.AGENT_NOT_FOUND, "agent_login"))
    return agent


def _check_ticket(ticket: Ticket, at: datetime | None, now: datetime, faults: list[Fault]) -> None:
    if ticket.merged_into_id is not None:
        faults.append(Fault(ErrorCode.TICKET_MERGED, params={"ticket_id": ticket.merged_into_id}))
    _check_date(at, ticket.created_at, now, faults)


def _check_date(at: datetime | None, began_at: datetime, now: datetime, faults: list[Fault]) -> None:
    # A time has minutes only: that of the creation is not before it.
    if at is not None and not began_at.replace(second=0, microsecond=0) <= at <= now:
        faults.append(Fault(ErrorCode.DATE_OUTSIDE, "at"))


def recipients_of(ticket: Ticket) -> list[str]:
    """Return whom a reply goes to: where the ticket's sender wants answers, else the sender, else the customer.

    The sender's first message says where: anybody can put another Reply-To into a later one.
    """
    first = ticket.messages.filter(type=Message.Type.MAIL, author_address=ticket.sender).exclude(author_address="")
    wanted = first.order_by("created_at", "id").values_list("reply_to", flat=True).first() or ""
    addresses = (wanted, ticket.sender, ticket.customer.email if ticket.customer else "")
    return [address for address in addresses if is_address(address)][:1]
