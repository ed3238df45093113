from uuid import UUID

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import IdField, TextField
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from tickets.models import Chat, chatting


class ChatInput(Input):
    client_name = TextField(max_length=200)
    client_email = TextField(required=False, max_length=320)
    chat_queue_id = IdField(source="queue_id")


class AssignInput(Input):
    agent_login = TextField(max_length=100)


class ChatMessageInput(Input):
    body = TextField(max_length=100_000)
    agent_login = TextField(required=False, max_length=100)


class ChatViewSet(ApiViewSet):
    """Chats: written conversations with clients of the website."""

    area = "tickets"

    def create(self, request: Request) -> Response:
        values, faults = self.read(ChatInput)
        return Response({"id": str(chatting.start(self.actor, faults, **values).pk)}, status=201)

    def assign(self, request: Request, chat_id: str) -> Response:
        chat = chat_or_404(chat_id)
        values, faults = self.read(AssignInput)
        chatting.assign(self.actor, chat, faults, **values)
        return Response(status=204)

    def write(self, request: Request, chat_id: str) -> Response:
        chat = chat_or_404(chat_id)
        values, faults = self.read(ChatMessageInput)
        chatting.write(self.actor, chat, faults, **values)
        return Response(status=204)

    def close(self, request: Request, chat_id: str) -> Response:
        chatting.close(self.actor, chat_or_404(chat_id))
        return Response(status=204)


def chat_or_404(chat_id: str) -> Chat:
    try:
        chat = Chat.objects.only("pk").filter(pk=UUID(chat_id)).first()
    except ValueError:
        chat = None
    if chat is None:
        raise Http404
    return chat
