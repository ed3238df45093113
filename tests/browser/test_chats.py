"""A chat in a real Chromium: new messages appear, and typed text stays."""

import pytest
from playwright.sync_api import expect

from callcentre.models import User
from tests.backoffice import page_of
from tests.browser.conftest import Visit
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CannedReplyFactory, ChatFactory
from tickets.models import Chat
from tickets.verbs.chats import close_chat, write_in_chat

pytestmark = pytest.mark.usefixtures("plain_static")


@pytest.fixture
def chat(visit: Visit) -> Chat:
    AgentFactory(user=User.objects.get(is_superuser=True), login="anna", name="Anna", surname="Nowak")
    chat: Chat = ChatFactory(client_name="Jan Kowal")
    return chat


@pytest.mark.trial
def test_new_messages_appear_while_the_agent_types(chat: Chat, visit: Visit) -> None:
    page = visit.open(page_of(chat))
    answer = page.get_by_label("Answer")
    answer.click()
    page.keyboard.type("Good mor")
    node = answer.element_handle()

    for text in ("Hello?", "Is anybody there?"):
        write_in_chat(chat, ACTOR, body=text)
        expect(page.get_by_role("log").get_by_text(text, exact=True)).to_be_visible()
    page.keyboard.type("ning.")

    expect(answer).to_have_value("Good morning.")
    expect(answer).to_be_focused()
    assert node.evaluate("(node) => node.isConnected")
    assert page.get_by_role("log").get_by_role("listitem").count() == 2
    assert visit.trouble == []


def test_an_answer_is_sent_without_leaving_the_page(chat: Chat, visit: Visit) -> None:
    CannedReplyFactory(name="Question", body="<p>How can {{ agent_name }} help?</p>")
    page = visit.open(page_of(chat))
    page.evaluate("window.isTheSamePage = true")
    answer = page.get_by_label("Answer")
    page.get_by_label("Find a canned reply by its name").press_sequentially("quest")
    page.keyboard.press("Enter")
    expect(answer).to_have_value("How can Anna Nowak help?")

    for text in ("Good morning.", "How can I help?"):
        answer.fill(text)
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("log").get_by_text(text, exact=True)).to_be_visible()
        expect(answer).to_have_value("")

    expect(page.get_by_text("Anna Nowak has the chat.")).to_be_visible()
    assert page.evaluate("window.isTheSamePage")
    assert list(chat.messages.values_list("body", flat=True)) == ["Good morning.", "How can I help?"]
    assert page.get_by_role("log").get_by_role("listitem").count() == 2
    assert visit.trouble == []


@pytest.mark.trial
def test_a_chat_closed_meanwhile_keeps_the_typed_text(chat: Chat, visit: Visit) -> None:
    page = visit.open(page_of(chat))
    page.get_by_label("Answer").fill("A long answer.")

    close_chat(chat, ACTOR)

    expect(page.get_by_text("The chat is closed.")).to_be_visible()
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    expect(page.get_by_label("Answer")).to_have_value("A long answer.")
    assert visit.trouble == []
