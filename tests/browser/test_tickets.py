"""The pages of tickets, chats and mailboxes in a real Chromium."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from callcentre.core import deletions
from callcentre.core.deletions import Deletion
from callcentre.models import User
from telephony.models import Agent
from tests.backoffice import page_of
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.knowledgebase.factories import PNG
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CannedReplyFactory, ChatFactory, CustomerFactory, TicketFactory, TicketQueueFactory
from tests.tickets.imap_server import Mailbox, serving
from tickets.admin import ticket_page_presence
from tickets.mail import mailbox_connection
from tickets.models import Dispatch, Message, StoredFile, Ticket, TicketDraft
from tickets.verbs.chats import close_chat, write_in_chat
from tickets.verbs.messages import receive_message

pytestmark = pytest.mark.usefixtures("own_storage")

ATTACK = """<p id="said">Good morning</p>
<script>top.attacked = 1; parent.attacked = 1;</script>
<img src="x" onerror="parent.attacked = 1"><img src="https://tracker.example/pixel.gif">
<svg onload="parent.attacked = 1"><script>parent.attacked = 1</script></svg>
<style>@import url(https://tracker.example/a.css); p { background: url(https://tracker.example/b.png); }</style>
<div style="background: url(https://tracker.example/c.png); position: fixed; inset: 0">over</div>
<link rel="stylesheet" href="https://tracker.example/d.css"><base href="https://tracker.example/">
<iframe src="https://tracker.example/e"></iframe><object data="https://tracker.example/f"></object>
<form action="https://tracker.example/g"><input name="password" autofocus onfocus="parent.attacked = 1"></form>
<meta http-equiv="refresh" content="0; url=https://tracker.example/h">
<a id="lure" href="javascript:parent.attacked = 1">click</a><video src="https://tracker.example/i" autoplay></video>"""


def as_agent() -> None:
    AgentFactory(name="Anna", surname="Nowak", user=User.objects.get(is_superuser=True))


def stop(loaded: list[str], route: Route) -> None:
    loaded.append(route.request.url)
    route.abort()


def write(page: Page, text: str) -> None:
    page.locator(".jodit-wysiwyg").click()
    page.keyboard.type(text)


@pytest.mark.walk("True")
@pytest.mark.parametrize("is_cleaned", [True, False])
def test_a_mail_runs_no_script_and_loads_no_file(visit, is_cleaned):
    """Test the sanitised mail and the original: the frame does not trust the sanitiser."""
    ticket = TicketFactory()
    message = receive_message(ticket, ACTOR, body=ATTACK)
    if not is_cleaned:
        Message.objects.filter(pk=message.pk).update(body=ATTACK)
    loaded: list[str] = []
    # Only requests that leave the browser count; the policy of the frame stops others before.
    visit.page.route(re.compile("tracker.example"), lambda route: stop(loaded, route))

    page = visit.open(page_of(ticket))
    frame = page.frame_locator("iframe.tk-frame")
    expect(frame.locator("#said" if not is_cleaned else "p >> nth=0")).to_have_text("Good morning")
    if not is_cleaned:
        frame.locator("#lure").click(force=True)
    page.wait_for_timeout(1000)  # a forbidden request would start in this time

    assert page.evaluate("window.attacked") is None
    assert loaded == []
    assert page.url.endswith(page_of(ticket))


@pytest.mark.trial
def test_a_picture_of_the_mail_is_shown_and_the_frame_fits(visit, own_storage):
    ticket = TicketFactory()
    message = Message.objects.create(
        ticket=ticket, type="MAIL", body='<p>See</p><img src="cid:one">' + "<p>line</p>" * 40
    )
    (own_storage / "one.png").write_bytes(PNG)
    values = {"content_type": "image/png", "size": len(PNG), "sha256": "", "path": "one.png", "content_id": "one"}
    StoredFile.objects.create(token="t", filename="one.png", message=message, **values)

    page = visit.open(page_of(ticket))
    frame = page.locator("iframe.tk-frame")

    expect(frame).to_have_class(re.compile("tk-fits"))
    picture = page.frame_locator("iframe.tk-frame").locator("img")
    expect(picture).to_have_js_property("complete", True)
    assert picture.evaluate("picture => picture.naturalWidth") > 0
    inside = page.frame_locator("iframe.tk-frame").locator("body").evaluate("body => body.scrollHeight")
    assert inside <= frame.evaluate("frame => frame.clientHeight") <= inside + 40
    assert visit.trouble == []


def test_an_agent_replies_with_an_attachment(visit, tmp_path):
    as_agent()
    ticket = TicketFactory(sender="jan@client.example")
    document = tmp_path / "offer.pdf"
    document.write_bytes(b"%PDF")
    page = visit.open(page_of(ticket))
    write(page, "Here is our offer.")
    page.set_input_files("input[name=m-attached]", document)

    page.get_by_role("button", name="Send", exact=True).dblclick()

    expect(page.get_by_text("The reply is on its way.")).to_be_visible()
    message = ticket.messages.get()
    assert (message.body, message.body_type) == ("<p>Here is our offer.</p>", "HTML")
    assert [file.filename for file in message.files.all()] == ["offer.pdf"]
    expect(page.frame_locator("iframe.tk-frame").locator("p")).to_have_text("Here is our offer.")
    expect(page.locator(".tk-message .tk-files")).to_contain_text("offer.pdf")
    assert visit.trouble == []


def test_a_draft_is_restored_after_the_page_was_lost_and_an_immediate_submit_loses_no_letter(visit):
    as_agent()
    ticket = TicketFactory()
    page = visit.open(page_of(ticket))
    write(page, "A long answer")
    expect(page.locator("textarea[name=m-body]")).to_have_value(re.compile("A long answer"))

    page = visit.open(page_of(ticket))

    expect(page.locator(".jodit-wysiwyg")).to_have_text("A long answer")
    page.locator(".jodit-wysiwyg").click()
    page.keyboard.press("Control+End")
    # The key and the press happen in one turn of the browser, so no script runs in between.
    page.evaluate("""() => {
        document.execCommand("insertText", false, " and the last.");
        [...document.querySelectorAll("button")].find((button) => button.textContent.trim() === "Send").click();
    }""")
    expect(page.get_by_text("The reply is on its way.")).to_be_visible()
    assert "A long answer and the last." in ticket.messages.get().body
    page = visit.open(page_of(ticket))
    expect(page.locator(".jodit-wysiwyg")).to_have_text("")
    assert visit.trouble == []


@pytest.mark.trial
def test_a_draft_is_kept_by_the_service_and_discarded_there(visit):
    as_agent()
    ticket = TicketFactory(sender="jan@client.example")
    page = visit.open(page_of(ticket))
    with page.expect_response(re.compile("/draft$")):
        write(page, "Dear Jan, your parcel")

    # Another browser has nothing of its own.
    page.evaluate("localStorage.clear()")
    page = visit.open(page_of(ticket))
    expect(page.locator(".jodit-wysiwyg")).to_contain_text("Dear Jan, your parcel")
    with page.expect_response(re.compile("/draft$")):
        page.get_by_role("button", name="Discard it").click()

    assert not TicketDraft.objects.exists()


@pytest.mark.trial
def test_two_people_see_each_other_and_a_reply_after_a_new_message_needs_confirmation(visit, monkeypatch):
    # A busy machine may need longer to show the page.
    monkeypatch.setattr(ticket_page_presence, "FORGOTTEN_AFTER_SECONDS", 3600)
    as_agent()
    ticket, client = TicketFactory(), Client()
    client.force_login(UserFactory(admin=True, first_name="Maria", last_name="Nowak"))
    client.post(page_of(ticket, "presence"), {"writing": "1"})
    page = visit.open(page_of(ticket))
    expect(page.locator(".tk-presence")).to_have_text("Maria Nowak is writing here.")
    write(page, "My answer")

    receive_message(ticket, ACTOR, body="<p>I have found it</p>", from_name="Jan", at=timezone.now())
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(".tk-news")).to_contain_text("1 new entry in the conversation.")
    page.get_by_role("button", name="Send", exact=True).click()

    asked = page.locator(".tk-meanwhile")
    expect(asked.frame_locator("iframe").locator("p")).to_have_text("I have found it")
    expect(page.locator(".jodit-wysiwyg")).to_have_text("My answer")
    page.get_by_role("button", name="Send all the same").click()
    expect(page.get_by_text("The reply is on its way.")).to_be_visible()
    assert ticket.messages.filter(type="REPLY").count() == 1


@pytest.mark.trial
def test_a_long_conversation_is_read_on_one_page(visit):
    ticket = TicketFactory()
    for number in range(65):
        Message.objects.create(ticket=ticket, type="MAIL", body=f"<p>Mail {number}</p>")
    page = visit.open(page_of(ticket))

    for shown in (30, 60, 65):
        expect(page.locator(".tk-message")).to_have_count(shown)
        if shown < 65:
            page.get_by_role("link", name="Earlier messages").click()

    expect(page.frame_locator("iframe.tk-frame >> nth=64").locator("p")).to_have_text("Mail 0")
    assert visit.trouble == []


@pytest.mark.trial
def test_the_next_ticket_of_the_list_is_one_click_away(visit):
    TicketFactory.create_batch(3)
    page = visit.open(reverse("admin:tickets_ticket_changelist"))
    listed = [link.get_attribute("href") for link in page.locator("#result_list tbody th a").all()]
    page.locator("#result_list tbody th a").first.click()

    page.get_by_role("link", name="Next ticket").click()
    page.wait_for_url(f"**{listed[1]}")
    page.keyboard.press("n")
    page.wait_for_url(f"**{listed[2]}")

    expect(page.get_by_role("link", name="Next ticket")).to_be_hidden()
    assert visit.trouble == []


@pytest.mark.trial
def test_a_phone_ticket_is_answered_by_mail_and_another_way_with_canned_replies(visit):
    as_agent()
    late = {"response_due_at": timezone.now() - timedelta(hours=1), "sender": "+48225550107"}
    ticket, other = TicketFactory.create_batch(2, source="phone", customer=CustomerFactory(email="j@x.example"), **late)
    for name, body in (
        ("Refund", "<p>In <b>14</b> days</p>"),
        ("Refund of a return", "x"),
        ("Greeting", "<p>Hello</p>"),
    ):
        CannedReplyFactory(name=name, body=body)
    page = visit.open(page_of(ticket))
    search = page.get_by_label("Find a canned reply by its name")

    # A comment is for colleagues, who get no canned reply. A press of a key inserts the reply, and writing goes on.
    expect(search).to_be_hidden()
    page.get_by_label("Reply to the customer").check()
    for words in ("greet", "Refund"):
        search.press_sequentially(words)
        search.press("Enter")
        expect(page.locator(".jodit-wysiwyg")).to_be_focused()
    expect(search).to_have_value("")
    page.keyboard.type(" Yours")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("The reply is on its way.")).to_be_visible()
    assert "Hello" in ticket.messages.get().body
    assert "<b>14</b> days Yours" in ticket.messages.get().body.replace("strong>", "b>")
    assert Dispatch.objects.get().recipients == ["j@x.example"]

    page = visit.open(page_of(other))
    due = page.get_by_text("first response: overdue by 1")
    expect(due).to_be_visible()
    page.get_by_label("Answered another way").check()
    write(page, "Told on the phone")
    page.get_by_role("button", name="Add comment", exact=True).click()
    expect(page.get_by_text("the customer counts as answered.")).to_be_visible()
    expect(due).to_be_hidden()
    assert visit.trouble == []


@pytest.mark.trial
def test_the_next_ticket_follows_the_desk_and_the_overview(visit):
    as_agent()
    agent = Agent.objects.get()
    late = [TicketFactory(agent=agent, response_due_at=timezone.now() - timedelta(hours=hours)) for hours in (3, 2, 1)]
    following = page_of(late[1])

    page = visit.open(reverse("desk"))
    page.keyboard.press("g")
    page.wait_for_url(f"**{page_of(late[0])}")
    page.get_by_role("link", name="Next ticket").click()
    page.wait_for_url(f"**{following}")
    page = visit.open(reverse("admin:index"))
    page.get_by_role("link", name=f"#{late[0].pk} ").click()
    page.get_by_role("link", name="Next ticket").click()
    page.wait_for_url(f"**{following}")

    # A ticket that was opened without a list: the next one of the agent's own.
    page.evaluate("sessionStorage.clear()")
    page = visit.open(page_of(late[0]))
    page.keyboard.press("n")
    page.wait_for_url(f"**{following}")
    assert visit.trouble == []


@pytest.mark.trial
def test_a_ticket_is_deleted_and_the_page_says_when_it_is_gone(visit):
    ticket = TicketFactory(subject="Where is my parcel?")
    page = visit.open(page_of(ticket))

    page.get_by_role("link", name="Delete", exact=True).click()
    page.get_by_label("Reason").fill("request of 21 November")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("The deletion waits for a worker.")).to_be_visible()
    deletions.run(Deletion.objects.get().pk)

    expect(page.get_by_text("finished", exact=True)).to_be_visible()
    expect(page.get_by_text("request of 21 November")).to_be_visible()
    assert not Ticket.objects.exists()
    assert visit.trouble == []


@pytest.mark.trial
def test_the_page_of_a_mailbox_shows_the_result_of_the_test(visit, settings):
    settings.MAILBOX_ALLOWED_NETWORKS = ["127.0.0.1"]
    with serving(Mailbox()) as box:
        box.add(b"From: a@b.example\n\nx")
        plain = {"imap_uses_tls": False, "imap_allows_plain": True}
        queue = TicketQueueFactory(
            imap_host="127.0.0.1", imap_port=box.port, imap_user=box.user, imap_password=box.password, **plain
        )
        page = visit.open(page_of(queue, "test_connection"))

        page.get_by_role("button", name="Test").click()
        expect(page.get_by_text("The test waits for a worker.")).to_be_visible()
        mailbox_connection.run_test(queue.pk)

        expect(page.get_by_text("It works. Mails in the folder: 1, unread: 1.")).to_be_visible()
    assert visit.trouble == []


def test_a_chat_is_read_and_answered_on_one_page_until_it_is_closed(visit):
    as_agent()
    chat = ChatFactory(client_name="Jan Kowal")
    CannedReplyFactory(name="Question", body="<p>How can {{ agent_name }} help?</p>")
    page = visit.open(page_of(chat))
    page.evaluate("window.isTheSamePage = true")
    answer, log = page.get_by_label("Answer"), page.get_by_role("log")
    answer.click()
    page.keyboard.type("Good mor")
    node = answer.element_handle()

    # New messages appear while the agent types.
    for text in ("Hello?", "Is anybody there?"):
        write_in_chat(chat, ACTOR, body=text)
        expect(log.get_by_text(text, exact=True)).to_be_visible()
    page.keyboard.type("ning.")
    expect(answer).to_have_value("Good morning.")
    expect(answer).to_be_focused()
    assert node.evaluate("(node) => node.isConnected")

    answer.fill("")
    page.get_by_label("Find a canned reply by its name").press_sequentially("quest")
    page.keyboard.press("Enter")
    expect(answer).to_have_value("How can Anna Nowak help?")
    for text in ("Good morning.", "How can I help?"):
        answer.fill(text)
        page.get_by_role("button", name="Send").click()
        expect(log.get_by_text(text, exact=True)).to_be_visible()
        expect(answer).to_have_value("")
    expect(page.get_by_text("Anna Nowak has the chat.")).to_be_visible()
    assert page.evaluate("window.isTheSamePage")
    written = chat.messages.filter(agent__isnull=False)
    assert list(written.values_list("body", flat=True)) == ["Good morning.", "How can I help?"]
    assert log.get_by_role("listitem").count() == 4

    # A chat that is closed meanwhile keeps the typed text.
    answer.fill("A long answer.")
    close_chat(chat, ACTOR)
    expect(page.get_by_text("The chat is closed.")).to_be_visible()
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    expect(answer).to_have_value("A long answer.")
    assert visit.trouble == []
