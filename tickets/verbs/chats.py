"""The verbs of a chat: start, assign, write, close. Each locks the chat and records events."""

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import still_there, store
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from telephony.models import Queue
from tickets import events
from tickets.models.chat import Chat, ChatMessage
from tickets.models.rules import active_agent


def start_chat(
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    client_name: str = "",
    client_email: str = "",
    queue_id: int | None = None,
) -> Chat:
    faults = list(faults)
    queue = None if queue_id is None else Queue.objects.active().filter(pk=queue_id).first()
    if queue is None and queue_id is not None:
        faults.append(Fault(ErrorCode.CHAT_QUEUE_NOT_FOUND, "queue_id"))
    if faults or queue is None:
        raise Invalid(faults)
    with transaction.atomic():
        chat = Chat.objects.create(client_name=client_name, client_email=client_email, queue=queue)
        events.chat_created(chat)
    return chat


def assign_chat(chat: Chat, actor: Actor, faults: Sequence[Fault] = (), *, agent_login: str = "") -> None:
    """Give the chat to an agent. Nothing changes if the agent already has it."""
    faults = list(faults)
    with transaction.atomic():
        chat = _lock_open(chat)
        agent = active_agent(agent_login, faults)
        if faults or agent is None:
            raise Invalid(faults)
        if chat.agent_id == agent.pk:
            return
        store(chat, agent=agent, assigned_at=timezone.now())
        events.chat_assigned(chat, agent.login)


def write_in_chat(
    chat: Chat, actor: Actor, faults: Sequence[Fault] = (), *, body: str = "", agent_login: str = ""
) -> ChatMessage:
    """Add a message of the client or of an agent. A chat without an agent is assigned to the agent who writes."""
    faults = list(faults)
    with transaction.atomic():
        chat = _lock_open(chat)
        agent = active_agent(agent_login, faults)
        if faults:
            raise Invalid(faults)
        now = timezone.now()
        if agent and chat.answered_at is None:
            store(chat, answered_at=now)
        if agent and chat.agent_id is None:
            store(chat, agent=agent, assigned_at=now)
            events.chat_assigned(chat, agent.login)
        message = chat.messages.create(agent=agent, body=body, created_at=now)
        events.chat_message_added(chat, message.pk, agent_login)
    return message


def close_chat(chat: Chat, actor: Actor) -> None:
    """Close the chat. Nothing changes if it is closed already."""
    with transaction.atomic():
        chat = still_there(Chat.objects.select_for_update(no_key=True).filter(pk=chat.pk))
        if chat.closed_at is None:
            store(chat, closed_at=timezone.now())
            events.chat_closed(chat)


def _lock_open(chat: Chat) -> Chat:
    locked = still_there(Chat.objects.select_for_update(no_key=True).filter(pk=chat.pk))
    if locked.closed_at is not None:
        raise Conflict(ErrorCode.CHAT_CLOSED)
    return locked
