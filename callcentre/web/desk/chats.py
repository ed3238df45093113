"""The agent's chats, and those that wait in the agent's queues; one of them with its conversation."""

from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import Http404
from django.utils.translation import gettext as _now

from callcentre.web.desk.situation import Situation
from telephony.models import Agent
from tickets.admin.canned_replies import canned_replies_for_chat
from tickets.models import Chat

# The newest messages of a conversation.
LINES = 200


def chats_facts(desk: Situation) -> Any:
    return desk.chats, desk.request.GET.get("chat_id")


def chats_context(desk: Situation, facts: Any) -> dict[str, Any]:
    chats, chosen = facts
    unanswered = [chat["pk"] for chat in chats if chat["is_clients"]]
    others = [pk for pk in (*unanswered, *(chat["pk"] for chat in chats)) if str(pk) != chosen]
    return {"chats": chats, "chosen": chosen, "unanswered": len(unanswered), "next": others[0] if others else None}


def chat_of(agent: Agent, chat_id: str) -> Chat | None:
    """Return a chat of the agent, or one that waits in a queue of the agent's; None for others."""
    try:
        pk = UUID(chat_id)
    except ValueError:
        return None
    mine = Q(agent=agent) | Q(agent=None, closed_at=None, queue__members__agent=agent)
    return Chat.objects.select_related("agent", "queue").filter(mine, pk=pk).first()


def chat_or_404(agent: Agent, chat_id: str) -> Chat:
    chat = chat_of(agent, chat_id)
    if chat is None:
        raise Http404(_now("This chat is not yours."))
    return chat


def conversation_facts(desk: Situation) -> Any:
    """Return the chosen chat, its state and its last message; only the id of a chat that another agent has."""
    if not (chat_id := desk.request.GET.get("chat_id")):
        return None
    chat = chat_of(desk.agent, chat_id)
    if chat is None:
        return chat_id, None
    return chat_id, chat.state, chat.messages.order_by("-id").values_list("id", flat=True).first()


def conversation_context(desk: Situation, facts: Any) -> dict[str, Any]:
    chat_id = desk.request.GET.get("chat_id", "")
    chat = chat_of(desk.agent, chat_id)
    newest = list(chat.messages.select_related("agent").order_by("-id")[:LINES]) if chat else []
    return {"chat": chat, "chat_id": chat_id, "lines": newest[::-1], "is_cut_off": len(newest) == LINES, "limit": LINES}


def canned_facts(desk: Situation) -> Any:
    """Return the chosen chat: its canned replies are sent once."""
    return desk.request.GET.get("chat_id")


def canned_context(desk: Situation, facts: Any) -> dict[str, Any]:
    chat = chat_of(desk.agent, facts) if facts else None
    return {"replies": canned_replies_for_chat(chat, desk.agent) if chat else []}
