from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import IdField, Input, TextField
from callcentre.api.filters import FilterSet, IdFilter, InstantFilter, ListFilter, TextFilter
from callcentre.api.openapi import integer, minute, operation, page, shape, text
from callcentre.api.pagination import LimitOffset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import get_or_404
from tickets.api.serializers import agent_field
from tickets.models import Chat, ChatState
from tickets.verbs.chats import assign_chat, close_chat, start_chat, write_in_chat


class ChatInput(Input):
    client_name = TextField("Name of the client.", max_length=200, example="Jan Kowal")
    client_email = TextField(
        "E-mail address of the client.", required=False, max_length=320, example="jan.kowal@client.example"
    )
    chat_queue_id = IdField(
        "A queue of GET /queues.", source="queue_id", example=3, errors=[ErrorCode.CHAT_QUEUE_NOT_FOUND]
    )


class AssignInput(Input):
    agent_login = agent_field("Login of an active agent.")


class ChatMessageInput(Input):
    body = TextField("The text.", max_length=100_000, example="How can I help?")
    agent_login = agent_field("Login of the agent who wrote it; left out: the client.", required=False)


class StateFilter(ListFilter):
    def filter(self, queryset: Any, value: list[str]) -> Any:
        return queryset.in_states(value)


class ChatFilterSet(FilterSet):
    date_from = InstantFilter("created_at", lookup_expr="gte", help_text="Started at or after.")
    date_to = InstantFilter("created_at", lookup_expr="lte", is_upper_bound=True, help_text="Started at or before.")
    agent_login = TextFilter("agent__login", help_text="Login of the agent who has it.")
    user_login = TextFilter("agent__login", help_text="The same as `agent_login`.")
    chat_queue_id = IdFilter("queue", help_text="A queue.")
    client_email = TextFilter("client_email", lookup_expr="iexact", help_text="The client's e-mail address.")
    status = StateFilter(choices=ChatState.values, help_text="One or more statuses.")


class ChatMessageFilterSet(FilterSet):
    message_id = IdFilter("id", help_text="One message.")
    after = IdFilter("id", lookup_expr="gt", help_text="The `message_id` of the last message that was read.")


_TIMES = ("created_at", "assigned_at", "answered_at", "closed_at")
_CHAT = ("id", "client_name", "client_email", "queue_id", "agent__login", *_TIMES)
_MESSAGE = ("id", "agent__login", "body", "created_at")


def _login(row: Mapping[str, Any]) -> str:
    return row["agent__login"] or ""


CHAT_ID = "6c2f6dba-5a36-4dd2-9d3f-1a2ddc2a4a5b"
CHAT = shape(
    "Chat",
    "A written conversation with a client of the website.",
    id=text("The chat's id.", CHAT_ID, format="uuid", write=str),
    client_name=text("Name of the client.", "Jan Kowal"),
    client_email=text("The client's e-mail address; may be empty.", "jan.kowal@client.example"),
    chat_queue_id=integer("The queue.", 3, of="queue_id"),
    agent_login=text("Login of the assigned agent; an empty string if there is none.", "agent1", of=_login),
    status=text(
        "`waiting`: no agent is assigned. `open`: an agent is assigned. `closed`: no more messages are accepted.",
        "open",
        enum=ChatState.values,
        of=lambda row: ChatState.of(has_agent=row["agent__login"] is not None, is_closed=row["closed_at"] is not None),
        write=str,
    ),
    created_at=minute("When it was started.", "2026-11-20 10:15"),
    assigned_at=minute("When it was assigned.", "2026-11-20 10:16"),
    answered_at=minute("When an agent first wrote in it.", "2026-11-20 10:16"),
    closed_at=minute("When it was closed."),
)
CHAT_MESSAGE = shape(
    "ChatMessage",
    "A message of the client or of an agent in a chat.",
    message_id=integer("The message's id; later messages have larger ids.", 7120, of="id"),
    agent_login=text("Login of the agent who wrote it; an empty string for the client.", "agent1", of=_login),
    body=text("The text.", "How can I help?"),
    created_at=minute("When it was written.", "2026-11-20 10:16"),
)


class ChatViewSet(ApiViewSet):
    """Chats: written conversations with clients of the website."""

    area = "tickets"

    @operation(
        "list_chats",
        "List chats",
        "Ordered by their start, newest first.",
        answer=page(CHAT),
        filter_set=ChatFilterSet,
        is_paged=True,
    )
    def list(self, request: Request) -> Response:
        paginator = LimitOffset()
        chats = ChatFilterSet.filtered(request, Chat.objects.all(), paginator.faults(request))
        page = paginator.paginate_queryset(chats.order_by("-created_at", "-id"), request, columns=_CHAT)
        return paginator.get_paginated_response([CHAT.data(row) for row in page])

    @operation("read_chat", "Read a chat", answer=CHAT)
    def retrieve(self, request: Request, chat_id: str) -> Response:
        return Response(CHAT.data(get_or_404(Chat.objects.values(*_CHAT), chat_id, ErrorCode.CHAT_NOT_FOUND)))

    @operation(
        "list_chat_messages",
        "List the messages of a chat",
        "Oldest first. To follow a chat, give the last `message_id` as `after`.",
        answer=page(CHAT_MESSAGE),
        filter_set=ChatMessageFilterSet,
        is_paged=True,
    )
    def messages(self, request: Request, chat_id: str) -> Response:
        paginator = LimitOffset()
        messages = chat_or_404(chat_id).messages.order_by("id")
        messages = ChatMessageFilterSet.filtered(request, messages, paginator.faults(request))
        page = paginator.paginate_queryset(messages, request, columns=_MESSAGE)
        return paginator.get_paginated_response([CHAT_MESSAGE.data(row) for row in page])

    @operation(
        "start_chat",
        "Start a chat",
        body=ChatInput,
        answer=shape("StartedChat", "The chat.", id=text("Its id.", CHAT_ID, format="uuid")),
    )
    def create(self, request: Request) -> Response:
        values, faults = self.read(ChatInput)
        return Response({"id": str(start_chat(self.actor, faults, **values).pk)}, status=201)

    @operation(
        "assign_chat",
        "Give a chat to an agent",
        "Nothing changes if the agent already has it.",
        body=AssignInput,
        conflicts=[ErrorCode.CHAT_CLOSED],
    )
    def assign(self, request: Request, chat_id: str) -> None:
        chat = chat_or_404(chat_id)
        values, faults = self.read(AssignInput)
        assign_chat(chat, self.actor, faults, **values)

    @operation(
        "write_in_chat",
        "Write in a chat",
        "A chat without an agent is assigned to the first agent who writes in it.",
        body=ChatMessageInput,
        conflicts=[ErrorCode.CHAT_CLOSED],
    )
    def write(self, request: Request, chat_id: str) -> None:
        chat = chat_or_404(chat_id)
        values, faults = self.read(ChatMessageInput)
        write_in_chat(chat, self.actor, faults, **values)

    @operation("close_chat", "Close a chat", "A chat that is already closed stays as it is.")
    def close(self, request: Request, chat_id: str) -> None:
        close_chat(chat_or_404(chat_id), self.actor)


def chat_or_404(chat_id: str) -> Chat:
    return get_or_404(Chat.objects.only("pk"), chat_id, ErrorCode.CHAT_NOT_FOUND)
