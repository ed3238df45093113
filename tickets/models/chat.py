from collections.abc import Iterable
from typing import ClassVar
from uuid import uuid4

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Upper
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.scope import Lookups
from callcentre.core.search import Words
from telephony.models import Agent, Queue

MOST_OF_CLIENT = 500


class ChatState(models.TextChoices):
    """The state of a chat, derived from its agent and its end."""

    WAITING = "waiting", _("waits for an agent")
    OPEN = "open", pgettext_lazy("of a chat", "open")
    CLOSED = "closed", pgettext_lazy("of a chat", "closed")

    @classmethod
    def of(cls, *, has_agent: bool, is_closed: bool) -> "ChatState":
        if is_closed:
            return cls.CLOSED
        return cls.OPEN if has_agent else cls.WAITING


class ChatQuerySet(models.QuerySet["Chat"]):
    def open(self) -> "ChatQuerySet":
        return self.filter(closed_at=None)

    def in_states(self, states: Iterable[str]) -> "ChatQuerySet":
        """Return the chats in one of these states."""
        conditions = {
            ChatState.WAITING: Q(closed_at=None, agent=None),
            ChatState.OPEN: Q(closed_at=None, agent__isnull=False),
            ChatState.CLOSED: Q(closed_at__isnull=False),
        }
        wanted = Q(pk__in=[])
        for state in states:
            wanted |= conditions[ChatState(state)]
        return self.filter(wanted)

    def of_emails(self, emails: Iterable[str]) -> "ChatQuerySet":
        """Return chats of clients with one of these addresses, `MOST_OF_CLIENT` at most."""
        ours = Q(pk__in=[])
        for email in emails:
            ours |= Q(client_email__iexact=email)
        # A query of its own uses the index of addresses. With the order by time the planner walks along that index.
        found = Chat.objects.filter(ours).exclude(client_email="").order_by().values_list("pk", flat=True)
        return self.filter(pk__in=list(found[:MOST_OF_CLIENT]))


@audited(secret=("client_name", "client_email"))
class Chat(models.Model):
    """A written conversation with a client of the website, in a queue."""

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id", "scope_agent_groups": "agent__group_id"}

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    client_name = models.CharField(_("client"), max_length=200)
    client_email = models.CharField(_("client's e-mail"), max_length=320, blank=True)
    queue = models.ForeignKey(Queue, models.PROTECT, related_name="chats", db_index=False, verbose_name=_("queue"))
    # The assigned agent; stays when the chat is closed.
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, blank=True, related_name="chats", db_index=False, verbose_name=_("agent")
    )
    created_at = models.DateTimeField(_("started"), default=timezone.now)
    assigned_at = models.DateTimeField(_("assigned"), null=True)
    # The first message of an agent.
    answered_at = models.DateTimeField(pgettext_lazy("of a chat", "answered"), null=True)
    closed_at = models.DateTimeField(_("closed"), null=True)

    objects = ChatQuerySet.as_manager()

    class Meta:
        verbose_name = _("chat")
        verbose_name_plural = _("chats")
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="chat_newest"),
            models.Index(fields=["agent", "-created_at", "-id"], name="chat_of_agent"),
            models.Index(fields=["queue", "-created_at", "-id"], name="chat_of_queue"),
            models.Index(fields=["agent", "closed_at"], condition=Q(closed_at__isnull=False), name="chat_closed"),
            models.Index(fields=["queue", "created_at"], condition=Q(closed_at=None), name="chat_open"),
            models.Index(
                OpClass(Upper("client_email"), "text_pattern_ops"),
                F("created_at").desc(),
                F("id").desc(),
                condition=~Q(client_email=""),
                name="chat_address",
            ),
            GinIndex(Words("client_name"), name="chat_words", gin_pending_list_limit=512),
        ]

    def __str__(self) -> str:
        return f"{self.client_name} {timezone.localtime(self.created_at):%Y-%m-%d %H:%M}"

    @property
    def state(self) -> ChatState:
        return ChatState.of(has_agent=self.agent_id is not None, is_closed=self.closed_at is not None)


class ChatMessage(models.Model):
    """A message in a chat, of the client or of an agent."""

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="messages", db_index=False, verbose_name=_("chat"))
    # NULL: the client.
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, related_name="chat_messages", db_index=False, verbose_name=_("agent")
    )
    body = models.TextField(_("text"))
    created_at = models.DateTimeField(_("time"), default=timezone.now)

    class Meta:
        verbose_name = _("chat message")
        verbose_name_plural = _("chat messages")
        ordering = ["id"]
        indexes = [
            models.Index(fields=["chat", "id"], name="chatmessage_of_chat"),
            models.Index(
                fields=["agent", "created_at", "chat"], condition=Q(agent__isnull=False), name="chatmessage_of_agent"
            ),
            GinIndex(Words("body"), name="chatmessage_words", gin_pending_list_limit=512),
        ]

    def __str__(self) -> str:
        return self.body[:50]
