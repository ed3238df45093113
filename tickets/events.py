"""What others may hear of tickets, customers and chats: the payload and the recording of each event."""

from typing import Any

from webhooks import outbox
from webhooks.event_types import EventType


def _ticket(event: EventType, ticket_id: int, customer_id: int | None, agent_login: str, **fields: Any) -> None:
    payload = {"ticket_id": str(ticket_id), "customer_id": customer_id, "agent_login": agent_login or None, **fields}
    outbox.record(event, f"ticket:{ticket_id}", payload)


def ticket_created(ticket_id: int, customer_id: int | None, agent_login: str, direction: str) -> None:
    """`direction`: in, out, or in_behalf_of (an agent entered what a customer said)."""
    _ticket(EventType.TICKET_CREATED, ticket_id, customer_id, agent_login, direction=direction)


def ticket_updated(
    ticket_id: int, customer_id: int | None, agent_login: str, status_id: int, substatus_id: int | None
) -> None:
    _ticket(
        EventType.TICKET_UPDATED,
        ticket_id,
        customer_id,
        agent_login,
        status_id=str(status_id),
        substatus_id=None if substatus_id is None else str(substatus_id),
    )


def message_received(ticket_id: int, customer_id: int | None, agent_login: str, message_id: int) -> None:
    _ticket(EventType.TICKET_MESSAGE_RECEIVED, ticket_id, customer_id, agent_login, message_id=message_id)


def agent_responded(ticket_id: int, customer_id: int | None, agent_login: str, message_id: int) -> None:
    _ticket(EventType.TICKET_AGENT_RESPONDED, ticket_id, customer_id, agent_login, message_id=message_id)


def ticket_commented(ticket_id: int, customer_id: int | None, agent_login: str, message_id: int) -> None:
    _ticket(EventType.TICKET_COMMENTED, ticket_id, customer_id, agent_login, message_id=message_id)


def ticket_deleted(ticket_id: int, customer_id: int | None, agent_login: str) -> None:
    _ticket(EventType.TICKET_DELETED, ticket_id, customer_id, agent_login)


def customer_created(customer_id: int, company_id: int | None) -> None:
    payload = {"customer_id": customer_id, "company_id": company_id}
    outbox.record(EventType.CUSTOMER_CREATED, f"customer:{customer_id}", payload)


def customer_updated(customer_id: int, company_id: int | None) -> None:
    payload = {"customer_id": customer_id, "company_id": company_id}
    outbox.record(EventType.CUSTOMER_UPDATED, f"customer:{customer_id}", payload)


def customer_deleted(customer_id: int, company_id: int | None) -> None:
    payload = {"customer_id": customer_id, "company_id": company_id}
    outbox.record(EventType.CUSTOMER_DELETED, f"customer:{customer_id}", payload)


def note_added(customer_id: int, note_id: int, agent_login: str) -> None:
    payload = {"customer_id": customer_id, "note_id": note_id, "agent_login": agent_login or None}
    outbox.record(EventType.CUSTOMER_NOTE_ADDED, f"customer:{customer_id}", payload)


def chat_created(conversation_id: str, client_name: str, client_email: str, queue_id: int) -> None:
    payload = {
        "conversation_id": conversation_id,
        "client_name": client_name,
        "client_email": client_email or None,
        "chat_queue_id": queue_id,
    }
    outbox.record(EventType.CHAT_CONVERSATION_CREATED, f"chat:{conversation_id}", payload)


def chat_assigned(conversation_id: str, agent_login: str, queue_id: int) -> None:
    payload = {"conversation_id": conversation_id, "agent_login": agent_login, "chat_queue_id": queue_id}
    outbox.record(EventType.CHAT_AGENT_ASSIGNED, f"chat:{conversation_id}", payload)


def chat_message_added(conversation_id: str, message_id: int, agent_login: str) -> None:
    """`agent_login` is empty where the client wrote."""
    payload = {"conversation_id": conversation_id, "message_id": message_id, "agent_login": agent_login or None}
    outbox.record(EventType.CHAT_MESSAGE_ADDED, f"chat:{conversation_id}", payload)


def chat_closed(conversation_id: str, queue_id: int) -> None:
    payload = {"conversation_id": conversation_id, "chat_queue_id": queue_id}
    outbox.record(EventType.CHAT_CONVERSATION_CLOSED, f"chat:{conversation_id}", payload)


def chat_deleted(conversation_id: str, queue_id: int) -> None:
    """Record the deletion, and blank what earlier events of the chat say of the client."""
    subject = f"chat:{conversation_id}"
    outbox.redact([subject], {"client_name": "", "client_email": None})
    payload = {"conversation_id": conversation_id, "chat_queue_id": queue_id}
    outbox.record(EventType.CHAT_CONVERSATION_DELETED, subject, payload)
