"""The events of tickets, customers and chats: each function records one with its payload."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from callcentre.core.times import minute
from webhooks import outbox
from webhooks.event_types import EventType

if TYPE_CHECKING:
    from tickets.models import Chat, Customer, CustomerNote, Ticket


# The event of a row that the same statement adds.
_TICKET_ADDED = """
SELECT 'ticket:' || id, %(payload)s::jsonb || jsonb_build_object('ticket_id', id::text) FROM ticket
"""


def _ticket(event: EventType, ticket: "Ticket", agent_login: str | None = None, **fields: Any) -> None:
    """Record an event of the ticket, by default with its agent."""
    agent_login = ticket.agent_login if agent_login is None else agent_login
    ids = {"ticket_id": str(ticket.pk), "customer_id": ticket.customer_id}
    outbox.record(event, f"ticket:{ticket.pk}", {**ids, "agent_login": agent_login or None, **fields})


def ticket_created(ticket: "Ticket") -> None:
    _ticket(EventType.TICKET_CREATED, ticket, direction=_direction(ticket.agent_login))


def ticket_created_by(changes: str, ticket: "Ticket", parameters: Mapping[str, Any], *, result: str) -> Any:
    """Add the ticket by WITH queries, of which `ticket` returns its id, and record its event in the same statement.

    Return the value of the expression `result`, which may read these queries too.
    """
    login = ticket.agent_login or None
    payload = {"customer_id": ticket.customer_id, "agent_login": login, "direction": _direction(login)}
    values = {**parameters, "payload": orjson.dumps(payload).decode()}
    return outbox.record_from_query(EventType.TICKET_CREATED, _TICKET_ADDED, values, changes=changes, result=result)


def _direction(agent_login: str | None) -> str:
    """Return the direction of a new ticket. A ticket with an agent was entered on the customer's behalf."""
    return "in_behalf_of" if agent_login else "in"


def ticket_updated(ticket: "Ticket") -> None:
    substatus = ticket.substatus_id and str(ticket.substatus_id)
    _ticket(EventType.TICKET_UPDATED, ticket, status_id=str(ticket.status_id), substatus_id=substatus)


message_received = partial(_ticket, EventType.TICKET_MESSAGE_RECEIVED)
agent_responded = partial(_ticket, EventType.TICKET_AGENT_RESPONDED)
ticket_commented = partial(_ticket, EventType.TICKET_COMMENTED)


def _deadline(event: EventType, ticket: "Ticket", deadline: str, due_at: datetime) -> None:
    """Record that the response or the resolution is due soon, or was missed."""
    _ticket(event, ticket, deadline=deadline, due_at=minute(due_at))


deadline_soon = partial(_deadline, EventType.TICKET_DEADLINE_SOON)
deadline_missed = partial(_deadline, EventType.TICKET_DEADLINE_MISSED)
ticket_deleted = partial(_ticket, EventType.TICKET_DELETED)


def _customer(event: EventType, customer: "Customer") -> None:
    outbox.record(event, f"customer:{customer.pk}", {"customer_id": customer.pk, "company_id": customer.company_id})


customer_created = partial(_customer, EventType.CUSTOMER_CREATED)
customer_updated = partial(_customer, EventType.CUSTOMER_UPDATED)
customer_deleted = partial(_customer, EventType.CUSTOMER_DELETED)


def person_erased(erasure_id: int, customer_id: int | None) -> None:
    """Record the erasure of a person; without a customer, of one who was known by numbers and addresses alone."""
    outbox.record(
        EventType.PERSON_ERASED,
        f"person:{erasure_id}",
        {"erasure_id": erasure_id, "customer_id": customer_id},
    )


def note_added(note: "CustomerNote", agent_login: str) -> None:
    payload = {"customer_id": note.customer_id, "note_id": note.pk, "agent_login": agent_login or None}
    outbox.record(EventType.CUSTOMER_NOTE_ADDED, f"customer:{note.customer_id}", payload)


def _chat(event: EventType, chat: "Chat", **fields: Any) -> None:
    outbox.record(event, f"chat:{chat.pk}", {"conversation_id": str(chat.pk), **fields})


def chat_created(chat: "Chat") -> None:
    client = {"client_name": chat.client_name, "client_email": chat.client_email or None}
    _chat(EventType.CHAT_CONVERSATION_CREATED, chat, **client, chat_queue_id=chat.queue_id)


def chat_assigned(chat: "Chat", agent_login: str) -> None:
    _chat(EventType.CHAT_AGENT_ASSIGNED, chat, agent_login=agent_login, chat_queue_id=chat.queue_id)


def chat_message_added(chat: "Chat", message_id: int, agent_login: str) -> None:
    """Record a message; `agent_login` is empty if the client wrote it."""
    _chat(EventType.CHAT_MESSAGE_ADDED, chat, message_id=message_id, agent_login=agent_login or None)


def chat_closed(chat: "Chat") -> None:
    _chat(EventType.CHAT_CONVERSATION_CLOSED, chat, chat_queue_id=chat.queue_id)


def chat_deleted(chat: "Chat") -> None:
    """Record the deletion, and blank the client's name and address in earlier events of the chat."""
    outbox.redact([f"chat:{chat.pk}"], {"client_name": "", "client_email": None})
    _chat(EventType.CHAT_CONVERSATION_DELETED, chat, chat_queue_id=chat.queue_id)
