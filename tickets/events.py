"""The events of tickets, customers and chats: each function records one with its payload."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from webhooks import outbox
from webhooks.event_types import EventType

if TYPE_CHECKING:
    from tickets.models import Chat, Customer, CustomerNote, Ticket


# The event of a row that the same statement adds.
_TICKET_ADDED = """
SELECT 'ticket:' || id, %(payload)s::jsonb || jsonb_build_object('ticket_id', id::text) FROM ticket
"""
_CUSTOMER_ADDED = """
SELECT 'customer:' || id, %(payload)s::jsonb || jsonb_build_object('customer_id', id) FROM customer
"""


def _ticket(event: EventType, ticket: "Ticket", agent_login: str, **fields: Any) -> None:
    ids = {"ticket_id": str(ticket.pk), "customer_id": ticket.customer_id}
    outbox.record(event, f"ticket:{ticket.pk}", {**ids, "agent_login": agent_login or None, **fields})


def ticket_created(ticket: "Ticket") -> None:
    login = ticket.agent_login
    _ticket(EventType.TICKET_CREATED, ticket, login, direction=_direction(login))


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
    status = {"status_id": str(ticket.status_id), "substatus_id": ticket.substatus_id and str(ticket.substatus_id)}
    _ticket(EventType.TICKET_UPDATED, ticket, ticket.agent_login, **status)


def message_received(ticket: "Ticket", message_id: int) -> None:
    _ticket(EventType.TICKET_MESSAGE_RECEIVED, ticket, ticket.agent_login, message_id=message_id)


def agent_responded(ticket: "Ticket", agent_login: str, message_id: int) -> None:
    _ticket(EventType.TICKET_AGENT_RESPONDED, ticket, agent_login, message_id=message_id)


def ticket_commented(ticket: "Ticket", agent_login: str, message_id: int) -> None:
    _ticket(EventType.TICKET_COMMENTED, ticket, agent_login, message_id=message_id)


def ticket_deleted(ticket: "Ticket") -> None:
    _ticket(EventType.TICKET_DELETED, ticket, ticket.agent_login)


def _customer(event: EventType, customer: "Customer") -> None:
    outbox.record(event, f"customer:{customer.pk}", {"customer_id": customer.pk, "company_id": customer.company_id})


def customer_created_by(changes: str, customer: "Customer", parameters: Mapping[str, Any], *, result: str) -> Any:
    """Add the customer by WITH queries, of which `customer` returns its id; otherwise like `ticket_created_by`."""
    values = {**parameters, "payload": orjson.dumps({"company_id": customer.company_id}).decode()}
    return outbox.record_from_query(EventType.CUSTOMER_CREATED, _CUSTOMER_ADDED, values, changes=changes, result=result)


def customer_updated(customer: "Customer") -> None:
    _customer(EventType.CUSTOMER_UPDATED, customer)


def customer_deleted(customer: "Customer") -> None:
    _customer(EventType.CUSTOMER_DELETED, customer)


def person_erased(erasure_id: int, customer_ids: Sequence[int]) -> None:
    outbox.record(
        EventType.PERSON_ERASED,
        f"person:{erasure_id}",
        {"erasure_id": erasure_id, "customer_ids": list(customer_ids)},
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
