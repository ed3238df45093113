"""The API of chats: start, assign, write, close, read."""

from datetime import datetime

import pytest

from callcentre.core.times import minute, zone
from tests.contract import faults
from tests.telephony.factories import AgentFactory, QueueFactory
from tests.tickets.factories import ChatFactory, ChatMessageFactory
from tickets.models import Chat, ChatMessage
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def at(hour: int) -> datetime:
    return datetime(2026, 11, 20, hour, tzinfo=zone())


def test_chat_from_start_to_end(api):
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


def test_writing_agent_does_not_take_over_an_assigned_chat(api):
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
def test_refused_request_stores_nothing(action, body, expected, api):
    AgentFactory(login="left", is_active=False)
    chat, old = ChatFactory(), QueueFactory(is_active=False)
    path = f"/api/chats/{chat.pk}{action}" if action else "/api/chats"

    response = api.post(path, {name: old.pk if value == "OLD" else value for name, value in body.items()})

    assert faults(response) == expected
    assert (Chat.objects.count(), ChatMessage.objects.count(), Event.objects.count()) == (1, 0, 0)


def test_closed_chat_accepts_nothing(api):
    chat = ChatFactory(agent=AgentFactory(login="anna"))
    api.post(f"/api/chats/{chat.pk}/close")

    for action, body in (("assign", {"agent_login": "anna"}), ("messages", {"body": "x"})):
        assert faults(api.post(f"/api/chats/{chat.pk}/{action}", body), 409) == [(153002, None)]
    assert not ChatMessage.objects.exists()


# Reading


def test_read_a_chat_in_each_state(api):
    queue = QueueFactory()
    AgentFactory(login="anna")
    body = {"client_name": "Jan", "client_email": "jan@client.example", "chat_queue_id": queue.pk}
    path = f"/api/chats/{api.post('/api/chats', body).json()['id']}"

    read = [api.get(path).json()]
    for action, body in (("messages", {"body": "Hello!", "agent_login": "anna"}), ("close", {})):
        assert api.post(f"{path}/{action}", body).status_code == 204
        read.append(api.get(path).json())

    chat = Chat.objects.get()
    started, answered, closed = (minute(at) for at in (chat.created_at, chat.answered_at, chat.closed_at))
    base = {
        "id": str(chat.pk),
        "client_name": "Jan",
        "client_email": "jan@client.example",
        "chat_queue_id": queue.pk,
        "created_at": started,
    }
    given = {"agent_login": "anna", "assigned_at": answered, "answered_at": answered}
    assert read == [
        base | {"status": "waiting", "agent_login": "", "assigned_at": "", "answered_at": "", "closed_at": ""},
        base | given | {"status": "open", "closed_at": ""},
        base | given | {"status": "closed", "closed_at": closed},
    ]


def test_list_chats_newest_first_in_pages(api):
    chats = [ChatFactory(created_at=at(hour)) for hour in (10, 12, 11, 11)]
    newest = sorted(chats, key=lambda chat: (chat.created_at, chat.pk), reverse=True)

    pages = [api.get(f"/api/chats?limit=3&offset={offset}").json() for offset in (0, 3, 9)]

    assert [page["count"] for page in pages] == [4, 4, 4]
    read = [[chat["id"] for chat in page["result"]] for page in pages]
    assert read == [[str(chat.pk) for chat in part] for part in (newest[:3], newest[3:], [])]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "waiting, annas, closed"),
        ("agent_login=anna", "annas"),
        ("agent_login=nobody", ""),
        ("client_email=JAN@client.example", "waiting"),
        ("chat_queue_id=QUEUE", "annas"),
        ("chat_queue_id=0", ""),
        ("status=waiting", "waiting"),
        ("status[]=waiting&status[]=closed", "waiting, closed"),
        ("status[0]=open", "annas"),
        ("date_from=2026-11-20 11:00", "annas, closed"),
        ("date_to=2026-11-20 11:00", "waiting, annas"),
        ("date_from=2026-11-20 11:00&date_to=2026-11-20 11:59", "annas"),
        ("date_to=2026-11-20", "waiting, annas, closed"),
        ("date_from=2026-11-21", ""),
    ],
)
def test_each_filter_of_chats(query, expected, api):
    chats = {
        "waiting": ChatFactory(created_at=at(10), client_email="jan@client.example"),
        "annas": ChatFactory(created_at=at(11), agent=AgentFactory(login="anna"), client_email=""),
        "closed": ChatFactory(created_at=at(12), closed=True, client_email="ewa@client.example"),
    }

    page = api.get(f"/api/chats?{query.replace('QUEUE', str(chats['annas'].queue_id))}").json()

    names = {str(chat.pk): name for name, chat in chats.items()}
    found = [names[chat["id"]] for chat in page["result"]]
    assert (sorted(found), page["count"]) == (sorted(filter(None, expected.split(", "))), len(found))


def test_list_chat_messages_oldest_first(api):
    chat, agent = ChatFactory(), AgentFactory(login="anna")
    lines = [ChatMessageFactory(chat=chat, body=body, agent=by) for body, by in (("Hello?", None), ("Hello!", agent))]
    ChatMessageFactory()
    path = f"/api/chats/{chat.pk}/messages"

    page = api.get(path).json()
    told = [
        {
            "message_id": line.pk,
            "agent_login": line.agent.login if line.agent else "",
            "body": line.body,
            "created_at": minute(line.created_at),
        }
        for line in lines
    ]
    assert page == {"count": 2, "result": told}
    for query in (f"message_id={lines[1].pk}", f"after={lines[0].pk}"):
        assert api.get(f"{path}?{query}").json() == {"count": 1, "result": told[1:]}
    assert api.get(f"{path}?limit=1&offset=1").json() == {"count": 2, "result": told[1:]}
    assert api.get(f"{path}?after={lines[1].pk}").json() == {"count": 0, "result": []}


def test_all_faults_of_a_list_are_reported_together(api):
    of_chats = [(100006, "limit"), (100006, "offset"), (100010, "date_from"), (100004, "chat_queue_id")]
    path = f"/api/chats/{ChatFactory().pk}/messages"

    chats = api.get("/api/chats?limit=0&offset=-1&status=gone&date_from=x&chat_queue_id=x")

    assert faults(chats) == [*of_chats, (100011, "status")]
    assert faults(api.get(f"{path}?limit=x&after=x")) == [(100004, "limit"), (100004, "after")]
