"""The desk of an agent in a real Chromium: journeys by clicks and by keys, and texts that stay."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, expect

from campaigns.models import Attempt
from campaigns.verbs.results import give_result
from telephony.calls import switch_requests
from telephony.models import Connection
from telephony.verbs import presence
from tests.browser.conftest import SCREENS
from tests.campaigns.dialling.calls import answered_call, hang_up, open_call
from tests.campaigns.factories import RecordOfferFactory
from tests.conftest import ACTOR
from tests.desk.agents import campaign_talk, desk_of, talk
from tests.processes import heard_switch
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import (
    MissedCallerFactory,
    PauseFactory,
    QueueFactory,
    TopicFactory,
    TransferShortcutFactory,
)
from tests.tickets.factories import CannedReplyFactory, ChatFactory, CustomerFactory, TicketFactory
from tickets.models import ChatMessage
from tickets.verbs.chats import write_in_chat

HOME = "/admin/"


class Clicks:
    """A mouse that counts."""

    count = 0

    def __call__(self, target: Locator) -> None:
        self.count += 1
        target.click()


@pytest.fixture
def desk(browser):
    return desk_of(outbound_mode=True)


@pytest.fixture
def visitor(desk):
    """An agent without any permission."""
    return desk


@pytest.fixture
def switch(monkeypatch, committed_db):
    double = RecordingSwitch()
    monkeypatch.setattr(switch_requests, "current_switch", lambda: double)
    with heard_switch():
        yield double


@pytest.mark.trial
def test_a_previewed_record_is_called_and_gets_its_result(desk, visit, switch):
    page, click = visit.open(HOME), Clicks()
    page.evaluate("window.isTheSamePage = true")
    RecordOfferFactory(
        agent=desk.agent,
        record__campaign__is_dialling=True,
        record__campaign__fields=["city"],
        record__campaign__wrap_up_seconds=30,
        record__campaign__script="Good morning!",
    )

    expect(page.get_by_text("Good morning!")).to_be_visible()
    click(page.get_by_role("button", name="Call it"))
    expect(page.get_by_role("region", name="Call", exact=True).get_by_text("ringing")).to_be_visible()
    call = open_call()
    answered_call(call)
    expect(page.get_by_role("button", name="Hang up")).to_be_visible()
    page.locator("textarea[name=note]").fill("Wants an offer.")
    page.get_by_label("city").fill("Gdynia")
    hang_up(call, "customer")
    expect(page.get_by_role("region", name="Call", exact=True).get_by_text("wrap-up")).to_be_visible()
    expect(page.locator("textarea[name=note]")).to_have_value("Wants an offer.")
    click(page.get_by_role("button", name="Contacted"))

    expect(page.get_by_role("button", name="Contacted", pressed=True)).to_be_visible()
    result: Any = Attempt.objects.get().result
    assert (result["values"]["last_note"], result["values"]["fields"]) == ("Wants an offer.", {"city": "Gdynia"})
    assert click.count == 2
    assert page.evaluate("window.isTheSamePage")
    assert visit.trouble == []


def test_a_chat_takes_two_clicks_then_one_a_line_and_keeps_its_half_written_answer(desk, visit):
    chat = ChatFactory(queue=QueueFactory(members=[desk.agent]), client_name="Jan Kowal")
    write_in_chat(chat, ACTOR, body="Is anybody there?")
    CannedReplyFactory(name="Regret", body="<p>I am sorry</p>")
    page, click = visit.open(HOME), Clicks()
    page.evaluate("window.isTheSamePage = true")

    click(page.get_by_role("link", name="Jan Kowal"))
    answer = page.get_by_label("Answer")
    expect(answer).to_be_focused()
    page.keyboard.type("Good morning.")
    click(page.get_by_role("button", name="Send"))
    expect(page.get_by_role("log").get_by_text("Good morning.")).to_be_visible()
    expect(answer).to_have_value("")
    assert click.count == 2
    write_in_chat(chat, ACTOR, body="My table is broken.")
    expect(page.get_by_role("log").get_by_text("My table is broken.")).to_be_visible()
    search = page.get_by_label("Find a canned reply by its name")
    search.press_sequentially("regr")
    search.press("Enter")
    expect(answer).to_have_value("I am sorry")
    page.keyboard.type(" to hear that.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log").get_by_text("I am sorry to hear that.")).to_be_visible()

    assert list(ChatMessage.objects.filter(agent=desk.agent).order_by("id").values_list("body", flat=True)) == [
        "Good morning.",
        "I am sorry to hear that.",
    ]
    # Each chat keeps its half-written answer.
    write_in_chat(ChatFactory(agent=desk.agent, client_name="Ewa Lis"), ACTOR, body="Hello?")
    for name in ("Jan Kowal", "Ewa Lis"):
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=name)).to_be_visible()
        expect(answer).to_be_focused()
        page.keyboard.type(f"Good morning, {name}!")
    for name in ("Jan Kowal", "Ewa Lis"):
        page.get_by_role("link", name=name).click()
        expect(answer).to_have_value(f"Good morning, {name}!")
    assert ChatMessage.objects.filter(agent=desk.agent).count() == 2
    assert page.evaluate("window.isTheSamePage")
    assert visit.trouble == []


@pytest.mark.trial
def test_a_number_is_called_in_two_clicks_and_a_refusal_stands_beside_its_button(desk, visit):
    lunch = PauseFactory(name="Lunch")
    page, click = visit.open(HOME), Clicks()
    page.evaluate("window.isTheSamePage = true")
    page.get_by_label("Call a number").fill("nobody")
    page.keyboard.press("Enter")

    expect(page.locator(".desk-dial").get_by_role("alert")).to_have_text("A phone number has no letters.")
    expect(page.get_by_label("Call a number")).to_have_value("nobody")
    page.get_by_label("Call a number").fill("")
    visit.trouble.clear()  # the refused request

    click(page.get_by_label("Call a number"))
    page.keyboard.type("22 555")
    # Changes by another window are shown, and the typed text stays.
    presence.pause(desk.agent, ACTOR, lunch.pk)
    expect(page.get_by_text("paused: Lunch")).to_be_visible()
    TicketFactory(agent=desk.agent, subject="Broken table")
    expect(page.get_by_text("Broken table")).to_be_visible()
    presence.free(desk.agent, ACTOR)
    page.keyboard.type(" 01 07")
    expect(page.get_by_label("Call a number")).to_have_value("22 555 01 07")
    click(page.get_by_role("button", name="Call", exact=True))

    expect(page.get_by_label("Call a number")).to_have_value("")
    call = Connection.objects.get()
    assert (call.agent, call.dst_number, click.count) == (desk.agent, "+48225550107", 2)
    assert page.evaluate("window.isTheSamePage")
    assert visit.trouble == []


@pytest.mark.trial
def test_a_half_written_note_stays_and_is_kept_for_an_earlier_call(desk, visit):
    call = campaign_talk(desk)
    page = visit.open(HOME)
    note = page.locator("textarea[name=note]")
    note.click()
    page.keyboard.type("Wants an ")
    contacted = Attempt.objects.get().campaign.statuses.get(name="Contacted")  # type: ignore[union-attr]

    give_result(call, ACTOR, status_id=contacted.pk, last_note="By another window.")
    expect(page.get_by_role("button", name="Contacted", pressed=True)).to_be_visible()
    page.keyboard.type("offer.")

    expect(note).to_have_value("Wants an offer.")
    expect(note).to_be_focused()

    Connection.objects.filter(pk=call.pk).update(state="ended", ended_at=call.answered_at, disposition="ANSWERED")
    presence.leave_call(desk.agent, call, timezone.now())
    campaign_talk(desk, campaign__name="Next campaign")
    expect(page.get_by_role("heading", name="Next campaign")).to_be_visible()
    # A key gives the result of the present call.
    page.keyboard.press("1")
    expect(page.locator("#desk-record").get_by_role("button", name="Contacted", pressed=True)).to_be_visible()
    page.get_by_text("Other results").last.click()
    expect(page.locator("#desk-record").get_by_text("called before all others")).to_be_visible()

    expect(page.get_by_text("You wrote this for an earlier call and have not sent it.")).to_be_visible()
    kept = page.locator("#desk-kept")
    expect(kept.locator("textarea[name=note]")).to_have_value("Wants an offer.")
    kept.get_by_role("button", name="Contacted").click()
    expect(kept).to_be_hidden()
    result: Any = Attempt.objects.get(connection_id=call.pk).result
    assert result["values"]["last_note"] == "Wants an offer."


def test_a_shift_by_the_keyboard_alone(desk, visit, switch):
    for name in ("Break", "Lunch"):
        PauseFactory(name=name)
    queue = QueueFactory(members=[desk.agent])
    MissedCallerFactory(connection__queue=queue, connection__src="+48225550107")
    presence.log_out(desk.agent, ACTOR)
    page = visit.open(HOME)
    state = page.locator("#desk-state")

    page.keyboard.press("i")
    expect(state.get_by_text("ready", exact=True)).to_be_visible()
    page.keyboard.press("Shift+Digit2")
    expect(state.get_by_text("paused: Lunch")).to_be_visible()
    page.keyboard.press("Shift+Digit1")
    expect(state.get_by_text("paused: Break")).to_be_visible()
    page.keyboard.press("r")
    expect(state.get_by_text("ready", exact=True)).to_be_visible()
    page.keyboard.press("b")
    expect(page.get_by_text("Missed callers")).to_be_hidden()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("Outbound mode")
    expect(keys).to_contain_text("Shift + 1")
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    expect(page.get_by_label("Call a number")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    expect(state.get_by_text("logged out")).to_be_visible()

    assert Connection.objects.filter(direction="OUTBOUND", dst="+48225550107").count() == 1
    assert visit.trouble == []


@pytest.mark.trial
def test_the_pause_after_a_call_waits_for_its_topic(desk, visit, switch):
    PauseFactory(name="Lunch")
    queue = QueueFactory(topic_minutes=5, wrap_up_seconds=20)
    TopicFactory(group__queue=queue, name="Invoice")
    call = talk(desk, inbound=True, queue=queue)
    page = visit.open(HOME)
    state, topic = page.locator("#desk-state"), page.get_by_role("region", name="Topic")
    expect(topic.get_by_text("required")).to_be_visible()

    page.keyboard.press("Shift+Digit1")
    expect(state.get_by_text("talking, then Lunch")).to_be_visible()
    expect(state.get_by_role("button", name="Lunch", pressed=True)).to_be_visible()
    Connection.objects.filter(pk=call.pk).update(state="ended", ended_at=timezone.now(), disposition="ANSWERED")
    call.refresh_from_db()
    presence.leave_call(desk.agent, call, timezone.now(), 20)
    expect(state.get_by_text("until then the wrap-up goes on")).to_be_visible()
    expect(state.locator("time[data-until]")).to_have_text(re.compile("[34]:[0-5][0-9]"))
    expect(state.get_by_role("button", name="Log out")).to_be_hidden()
    topic.get_by_role("combobox").select_option("Invoice")
    topic.get_by_role("button", name="Save the topic").click()
    expect(state.locator("time[data-until]")).to_have_text(re.compile("0:[01][0-9]"))
    page.keyboard.press("e")
    expect(state.locator("time[data-until]")).to_have_text(re.compile("1:[01][0-9]"))
    expect(state.get_by_role("button", name="One minute more")).to_be_hidden()
    presence.end_wrap_ups(timezone.now() + timedelta(minutes=2))
    expect(state.get_by_text("paused: Lunch")).to_be_visible()
    assert visit.trouble == []


def test_a_call_is_transferred_in_two_clicks(desk, visit, switch):
    TransferShortcutFactory(name="Accounts")
    call = campaign_talk(desk)
    page, click = visit.open(HOME), Clicks()

    click(page.locator(".desk-transfer summary"))
    with page.expect_response("**/admin/desk/transfer/") as answer:
        click(page.get_by_role("button", name="Accounts"))

    assert answer.value.status == 200
    assert call.commands.get().kind == "transfer"
    assert click.count == 2


@pytest.mark.walk("phone")
@pytest.mark.parametrize("screen", SCREENS)
def test_the_desk_fits_the_screen(screen, desk, visit):
    customer = CustomerFactory(surname="Kowal" * 15, email=f"{'jan' * 20}@client.example")
    campaign_talk(desk, campaign__fields=["a long name of a field " * 3], campaign__script="No blanks" * 80)
    Connection.objects.update(customer_id=customer.pk)
    TicketFactory(agent=desk.agent, subject="Nospaces" * 30)
    chat = ChatFactory(agent=desk.agent, client_name="Kowal" * 20)
    write_in_chat(chat, ACTOR, body="Nospaces" * 60)
    visit.page.set_viewport_size(SCREENS[screen])

    page = visit.open(f"/admin/desk/?chat_id={chat.pk}")

    expect(page.get_by_label("Answer")).to_be_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert visit.trouble == []
