"""Chats in the admin: the conversation, the answer, and the actions that assign and close."""

import pytest
from django.urls import reverse

from tests.backoffice import BackOffice, messages_of, page_of, shown, staff, superuser
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, QueueFactory
from tests.tickets.factories import ChatFactory, ChatMessageFactory
from tickets.models import Chat
from tickets.verbs.chats import close_chat, write_in_chat
from webhooks.models import Event

LIST = reverse("admin:tickets_chat_changelist")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def an_agent():
    """Return an agent and their back office."""
    agent, client = AgentFactory(user=UserFactory(admin=True)), BackOffice()
    client.force_login(agent.user)
    return agent, client


def test_a_chat_is_shown_as_a_conversation_and_only_new_messages_are_fetched():
    chat, client = ChatFactory(), superuser()
    first = write_in_chat(chat, ACTOR, body="Is <b>anybody</b> there?")
    agent = AgentFactory(name="Anna", surname="Nowak")
    write_in_chat(chat, ACTOR, body="Good morning.", agent_login=agent.login)

    page = client.page(page_of(chat))
    whole, since, none = (lines_of(client, chat, after).content.decode() for after in (0, first.pk, first.pk + 1000))

    for text in (page, whole):
        assert text.index("Is &lt;b&gt;anybody&lt;/b&gt; there?") < text.index("Good morning.")
    assert ("Good morning." in since, "there?" in since, "<li" in none) == (True, False, False)
    assert "Anna Nowak" in page
    assert "Anna Nowak has the chat." in none


@pytest.mark.parametrize("state", ["waiting", "open", "closed"])
def test_chats_are_found_by_their_state(state):
    chats = {"waiting": ChatFactory(), "open": ChatFactory(assigned=True), "closed": ChatFactory(closed=True)}
    expected = [chats["waiting"], chats["open"]] if state == "open" else [chats[state]]

    assert shown(superuser().page(LIST, state=state), *chats.values()) == expected


def test_a_chat_is_found_by_the_clients_address_and_by_its_id():
    chat, other = ChatFactory(client_email="jan@client.example"), ChatFactory(client_email="ewa@client.example")
    client = superuser()

    for term in ("JAN@client.example", str(chat.pk)):
        assert shown(client.page(LIST, q=term), chat, other) == [chat]


def test_a_chat_is_started_and_given_to_an_agent_and_has_no_actions_once_it_is_closed():
    client, queue, agent = superuser(), QueueFactory(), AgentFactory()

    values = {"client_name": "Jan", "client_email": "jan@client.example", "queue": str(queue.pk)}
    client.submit(reverse("admin:tickets_chat_add"), **values)
    chat = Chat.objects.get()
    client.submit(page_of(chat, "assign"), agent=str(agent.pk))
    client.submit(page_of(chat, "close"))

    chat.refresh_from_db()
    assert (chat.queue, chat.agent, chat.closed_at is None) == (queue, agent, False)
    names = ["CHAT_CONVERSATION_CREATED", "CHAT_AGENT_ASSIGNED", "CHAT_CONVERSATION_CLOSED"]
    assert list(Event.objects.order_by("id").values_list("action", flat=True)) == names
    assert page_of(chat, "assign") not in client.page(page_of(chat))
    assert messages_of(client.post(page_of(chat, "assign"), {"agent": agent.pk})) == ["The chat is closed."]


def test_a_user_without_an_agent_cannot_answer_and_sees_why():
    chat, client = ChatFactory(), superuser()
    page, of_viewer = client.page(page_of(chat)), staff("view_chat").page(page_of(chat))

    assert ("You are not an agent" in page, "You are not an agent" in of_viewer) == (True, False)
    assert 'id="chat-answer"' not in page + of_viewer
    assert page_of(chat, "answer") not in page
    assert client.post(page_of(chat, "answer"), {"body": "Good morning."}).status_code == 403
    assert not chat.messages.exists()


def test_chats_are_closed_from_the_list():
    chats = [*ChatFactory.create_batch(2), ChatFactory(closed=True)]

    response = superuser().act(LIST, "close_selected", *chats, apply="1")

    assert messages_of(response) == ["2 chats closed."]
    assert not Chat.objects.filter(closed_at=None).exists()
    assert Event.objects.filter(action="CHAT_CONVERSATION_CLOSED").count() == 2


# The conversation, live


def lines_of(client, chat, after=0):
    return client.get(reverse("admin:tickets_chat_lines", args=[chat.pk]), {"after": after})


def test_an_agent_answers_by_the_form_under_the_conversation():
    chat, (agent, client) = ChatFactory(), an_agent()
    page = client.page(page_of(chat))

    assert page.index('id="chat-log"') < page.index('id="chat-answer"') < page.index("<textarea")
    assert f'action="{page_of(chat, "answer")}"' in page
    client.submit(page_of(chat, "answer"), body="Good morning.")
    line = chat.messages.get()
    assert (line.agent, line.body) == (agent, "Good morning.")


def test_a_closed_chat_has_no_form_and_shows_a_refused_answer_again():
    chat, (_agent, client) = ChatFactory(closed=True), an_agent()

    assert 'id="chat-answer"' not in client.page(page_of(chat))
    page = client.post(page_of(chat, "answer"), {"body": "A long answer."}).content.decode()
    assert "The chat is closed." in page
    assert "A long answer." in page


@pytest.mark.parametrize(
    ("chat", "state", "sentence"),
    [({}, "waiting", "The chat waits for an agent."), ({"closed": True}, "closed", "The chat is closed.")],
)
def test_the_page_follows_the_state_of_the_chat(chat, state, sentence):
    text = lines_of(superuser(), ChatFactory(**chat)).content.decode()

    assert f'data-state="{state}"' in text
    assert sentence in text


def test_the_query_counts_of_the_page_and_of_new_messages_are_constant():
    chat = ChatFactory(assigned=True)
    for _ in range(30):
        ChatMessageFactory(chat=chat, agent=AgentFactory())
    client = superuser()

    with few_statements(6):
        client.page(page_of(chat))
    with few_statements(4):
        lines_of(client, chat)


def test_a_script_gets_the_result_of_an_answer():
    chat, (_agent, client) = ChatFactory(), an_agent()

    def send(body):
        response = client.post(page_of(chat, "answer"), {"body": body}, headers={"Accept": "application/json"})
        return response.status_code, response.json()["errors"]

    assert send("Good morning.") == (200, [])
    assert send(" ") == (400, ["This field is required."])
    close_chat(chat, ACTOR)
    assert send("Too late.") == (400, ["The chat is closed."])
    assert [line.body for line in chat.messages.all()] == ["Good morning."]
