"""Deletion of a chat, and of the client in its earlier events."""

from collections import Counter
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from callcentre.core.deletions import Consequences, Deletion, Part, forget_log_entries
from tickets import events
from tickets.models import Chat, ChatMessage


def consequences(chat: Chat) -> Consequences:
    found = Consequences()
    add_chat_consequences(found, Q(pk=chat.pk))
    return found


def add_chat_consequences(found: Consequences, which: Q) -> None:
    """Add the rows that a deletion of these chats deletes."""
    chats = Chat.objects.filter(which).order_by().values("pk")
    lines = ChatMessage.objects.filter(chat__in=chats)
    found.deleted += [Part("tickets.chat", chats.count()), Part("tickets.chatmessage", lines.count())]
    answered = lines.filter(agent__isnull=False).order_by().values("chat").distinct().count()
    closed = Chat.objects.filter(which, agent__isnull=False, closed_at__isnull=False).count()
    if answered or closed:
        sentence = _("The agents work report no longer counts its chats: answered %(answered)s, closed %(closed)s.")
        found.remarks.append(sentence % {"answered": answered, "closed": closed})


def delete(deletion: Deletion) -> None:
    with deletion.step() as deleted:
        delete_chat(UUID(deletion.object_id), deleted)


def delete_chat(chat_id: UUID, deleted: Counter[str]) -> None:
    """Delete one chat within a step."""
    chat = Chat.objects.select_for_update(of=("self",)).filter(pk=chat_id).first()
    if chat is None:
        return
    events.chat_deleted(chat)
    deleted["tickets.chatmessage"] += ChatMessage.objects.filter(chat=chat).delete()[0]
    deleted["tickets.chat"] += Chat.objects.filter(pk=chat.pk).delete()[0]
    forget_log_entries(Chat, [str(chat_id)])
