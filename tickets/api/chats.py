from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import IdField, TextField
from callcentre.api.filters import FilterSet, IdFilter, InstantFilter, ListFilter, TextFilter
from callcentre.api.pagination import LimitOffset
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import get_or_404
from callcentre.core.times import minute
from tickets.models import Chat, ChatMessage, ChatState
from tickets.verbs.chats import assign_chat, close_chat, start_chat, write_in_chat


class ChatInput(Input):
    client_name = TextField(max_length=200)
    client_email = TextField(required=False, max_length=320)
    chat_queue_id = IdField(source="queue_id")


class AssignInput(Input):
    agent_login = TextField(max_length=100)


class ChatMessageInput(Input):
    body = TextField(max_length=100_000)
    agent_login = TextField(required=False, max_length=100)


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

    class Meta:
        model = Chat
        fields: list[str] = []


class ChatMessageFilterSet(FilterSet):
    message_id = IdFilter("id", help_text="One message.")
    after = IdFilter("id", lookup_expr="gt", help_text="The `message_id` of the last message that was read.")

    class Meta:
        model = ChatMessage
        fields: list[str] = []


class ChatViewSet(ApiViewSet):
    """Chats: written conversations with clients of the website."""

    area = "tickets"

    def list(self, request: Request) -> Response:
        paginator = LimitOffset()
        chats = ChatFilterSet.filtered(request, Chat.objects.all(), paginator.faults(request))
        page = paginator.paginate_queryset(chats.order_by("-created_at", "-id"), request, columns=_CHAT)
        return paginator.get_paginated_response([_chat_data(row) for row in page])

    def retrieve(self, request: Request, chat_id: str) -> Response:
        return Response(_chat_data(get_or_404(Chat.objects.values(*_CHAT), chat_id, ErrorCode.CHAT_NOT_FOUND)))

    def messages(self, request: Request, chat_id: str) -> Response:
        paginator = LimitOffset()
        messages = chat_or_404(chat_id).messages.order_by("id")
        messages = ChatMessageFilterSet.filtered(request, messages, paginator.faults(request))
        page = paginator.paginate_queryset(messages, request, columns=_MESSAGE)
        return paginator.get_paginated_response([_message_data(row) for row in page])

    def create(self, request: Request) -> Response:
        values, faults = self.read(ChatInput)
        return Response({"id": str(start_chat(self.actor, faults, **values).pk)}, status=201)

    def assign(self, request: Request, chat_id: str) -> Response:
        chat = chat_or_404(chat_id)
        values, faults = self.read(AssignInput)
        assign_chat(chat, self.actor, faults, **values)
        return Response(status=204)

    def write(self, request: Request, chat_id: str) -> Response:
        chat = chat_or_404(chat_id)
        values, faults = self.read(ChatMessageInput)
        write_in_chat(chat, self.actor, faults, **values)
        return Response(status=204)

    def close(self, request: Request, chat_id: str) -> Response:
        close_chat(chat_or_404(chat_id), self.actor)
        return Response(status=204)


_TIMES = ("created_at", "assigned_at", "answered_at", "closed_at")
_CHAT = ("id", "client_name", "client_email", "queue_id", "agent__login", *_TIMES)
_MESSAGE = ("id", "agent__login", "body", "created_at")


def _chat_data(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chat as the API shows it, of its columns `_CHAT`."""
    login = row["agent__login"]
    return {
        "id": str(row["id"]),
        "client_name": row["client_name"],
        "client_email": row["client_email"],
        "chat_queue_id": row["queue_id"],
        "agent_login": login or "",
        "status": ChatState.of(has_agent=login is not None, is_closed=row["closed_at"] is not None).value,
        **{name: minute(row[name]) for name in _TIMES},
    }


def _message_data(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "message_id": row["id"],
        "agent_login": row["agent__login"] or "",
        "body": row["body"],
        "created_at": minute(row["created_at"]),
    }


def chat_or_404(chat_id: str) -> Chat:
    return get_or_404(Chat.objects.only("pk"), chat_id, ErrorCode.CHAT_NOT_FOUND)
