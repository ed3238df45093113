"""Chats over the API: started, assigned, written in, closed."""

from typing import Any

import pytest

from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory, QueueFactory
from tests.tickets.factories import ChatFactory
from tickets.models import Chat, ChatMessage
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def faults(response: Any, status: int = 400) -> list[tuple[int, str | None]]:
    assert response.status_code == status, response.content
    return [(error["code"], error.get("field")) for error in response.json()["errors"]]


def test_a_chat_from_start_to_end(api: ApiClient) -> None:
    queue, anna, ben = QueueFactory(), AgentFactory(login="anna"), AgentFactory(login="ben")
    body = {"client_name": "Jan", "client_email": "jan@client.example", "chat_queue_id": str(queue.pk)}

    started = api.post("/api/chats", body)
    chat = Chat.objects.get()
    path = f"/api/chats/{chat.pk}"
    answers = [
        api.post(f"{path}/messages", {"body": "Hello?"}),
        api.post(f"{path}/messages", {"body": "Hello!", "agent_login": "anna"}),
        api.post(f"{path}/assign", {"agent_login": "ben"}),
        api.post(f"{path}/messages", {"body": "I take over.", "agent_login": "ben"}),
        api.post(f"{path}/close"),
        api.post(f"{path}/close"),
    ]

    assert (started.status_code, started.json()) == (201, {"id": str(chat.pk)})
    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b"")] * 6
    chat.refresh_from_db()
    lines = [(line.agent, line.body) for line in chat.messages.all()]
    assert lines == [(None, "Hello?"), (anna, "Hello!"), (ben, "I take over.")]
    assert (chat.agent, chat.answered_at) == (ben, chat.messages.all()[1].created_at)
    assert chat.closed_at is not None


def test_an_agent_who_writes_does_not_take_a_chat_from_another(api: ApiClient) -> None:
    chat = ChatFactory(agent=AgentFactory(login="anna"))
    AgentFactory(login="ben")

    api.post(f"/api/chats/{chat.pk}/messages", {"body": "x", "agent_login": "ben"})

    chat.refresh_from_db()
    assert chat.agent.login == "anna"


@pytest.mark.parametrize(
    ("action", "body", "expected"),
    [
        ("", {}, [(100001, "client_name"), (100001, "chat_queue_id")]),
        ("", {"client_name": " ", "chat_queue_id": "x"}, [(100001, "client_name"), (100004, "chat_queue_id")]),
        ("", {"client_name": "x" * 201, "chat_queue_id": 0}, [(100003, "client_name"), (153001, "chat_queue_id")]),
        ("", {"client_name": "x", "chat_queue_id": 999999999}, [(153001, "chat_queue_id")]),
        ("", {"client_name": "x", "chat_queue_id": "OLD"}, [(153001, "chat_queue_id")]),
        ("/assign", {}, [(100001, "agent_login")]),
        ("/assign", {"agent_login": "nobody"}, [(110001, "agent_login")]),
        ("/assign", {"agent_login": "left"}, [(110001, "agent_login")]),
        ("/messages", {}, [(100001, "body")]),
        ("/messages", {"body": " ", "agent_login": "nobody"}, [(100001, "body"), (110001, "agent_login")]),
        ("/messages", {"body": "x" * 100_001}, [(100003, "body")]),
    ],
)
def test_what_is_refused_leaves_nothing(
    action: str, body: dict[str, Any], expected: list[tuple[int, str]], api: ApiClient
) -> None:
    AgentFactory(login="left", is_active=False)
    chat, old = ChatFactory(), QueueFactory(is_active=False)
    path = f"/api/chats/{chat.pk}{action}" if action else "/api/chats"

    response = api.post(path, {name: old.pk if value == "OLD" else value for name, value in body.items()})

    assert faults(response) == expected
    assert (Chat.objects.count(), ChatMessage.objects.count(), Event.objects.count()) == (1, 0, 0)


@pytest.mark.parametrize("chat_id", ["x", "0d9c6a52-5f0b-4a4c-8b1c-6a2f3f1c7e90", "0d9c6a52"])
def test_a_chat_that_there_is_not(chat_id: str, api: ApiClient) -> None:
    for action in ("assign", "messages", "close"):
        assert faults(api.post(f"/api/chats/{chat_id}/{action}"), 404)


def test_a_closed_chat_takes_nothing_more(api: ApiClient) -> None:
    chat = ChatFactory(agent=AgentFactory(login="anna"))
    api.post(f"/api/chats/{chat.pk}/close")

    for action, body in (("assign", {"agent_login": "anna"}), ("messages", {"body": "x"})):
        assert faults(api.post(f"/api/chats/{chat.pk}/{action}", body), 409) == [(153002, None)]
    assert not ChatMessage.objects.exists()
