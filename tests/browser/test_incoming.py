"""The bar of incoming calls in a real Chromium: on a ticket's page, in hidden tabs, once for several tabs."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from callcentre.core.actor import SYSTEM
from telephony.models import Connection
from telephony.verbs import presence
from tests.backoffice import page_of
from tests.browser.conftest import SCREENS, Visit, barriers
from tests.campaigns.factories import RecordOfferFactory
from tests.conftest import ACTOR
from tests.desk.agents import Desk, desk_of, talk
from tests.desk.test_incoming import assign, ring
from tests.telephony.factories import QueueFactory
from tests.tickets.factories import ChatFactory, CustomerFactory, TicketFactory
from tickets.models import Notice, Ticket
from tickets.verbs.chats import write_in_chat
from tickets.verbs.messages import receive_message

# Notifications are kept in a list of the page; the page has the focus only with `isLookedAt`.
NOTIFICATIONS = """
window.notes = [];
window.isLookedAt = false;
document.hasFocus = () => window.isLookedAt;
window.Notification = class extends EventTarget {
    static permission = "granted";
    constructor(text) { super(); window.notes.push(text); }
    close() { window.notes.push("closed"); }
};
"""

# Each sound that begins leaves a message.
BEGINNINGS = """
const start = AudioBufferSourceNode.prototype.start;
AudioBufferSourceNode.prototype.start = function () { console.log("a sound begins"); start.call(this); };
"""


@pytest.fixture
def desk(browser):
    """Return the desk of an agent who may read and change tickets."""
    desk = desk_of()
    user: Any = desk.agent.user
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_ticket", "change_ticket"]))
    return desk


@pytest.fixture
def ticket(desk):
    found: Ticket = TicketFactory()
    return found


@pytest.fixture
def visitor(desk):
    return desk


def call_of(desk: Desk) -> Connection:
    customer = CustomerFactory(name="Jan", surname="Kowal")
    return ring(desk, customer_id=customer.pk, src="+48225550107", queue=QueueFactory(name="Invoices"))


def line_of(page: Page, heading: str = "Incoming call: Jan Kowal") -> Locator:
    """Return the line of the bar with this heading."""
    return page.locator("#incoming li").filter(has_text=heading)


def heard(page: Page) -> int:
    """Return the number of sounds that began on the page."""
    return int(page.evaluate("document.getElementById('incoming').dataset.sounded ?? 0"))


def wait_until_heard(*pages: Page) -> None:
    for _ in range(600):
        if sum(map(heard, pages)):
            return
        pages[0].wait_for_timeout(50)
    raise AssertionError("no page has made a sound")


def test_a_call_rings_on_the_page_of_a_ticket_and_leads_to_the_desk(desk, ticket, visit):
    page = visit.open(page_of(ticket))
    bar = page.get_by_role("region", name="Incoming", exact=True)
    expect(bar).to_be_hidden()
    page.locator("#content").click(position={"x": 1, "y": 1})

    call = call_of(desk)

    expect(bar.get_by_text("Incoming call: Jan Kowal")).to_be_visible()
    expect(bar).to_contain_text("+48225550107")
    expect(bar).to_contain_text("Invoices")
    expect(page.locator("#incoming-aloud")).to_have_text("Incoming call: Jan Kowal")
    expect(page).to_have_title(re.compile(r"^Incoming call: Jan Kowal \| "))
    wait_until_heard(page)
    bar.get_by_role("link", name="Show the call").click()
    expect(page.get_by_role("region", name="Call", exact=True)).to_contain_text("Your phone rings")
    expect(bar).to_be_visible()
    presence.leave_call(desk.agent, call, timezone.now())
    expect(bar).to_be_hidden()
    expect(page).to_have_title(re.compile(r"^ready \| "))
    assert visit.trouble == []


@pytest.mark.trial
def test_a_call_is_shown_while_the_timers_of_the_page_stand_still(desk, ticket, visit):
    visit.page.clock.install()
    page = visit.open(page_of(ticket))
    page.clock.run_for(1000)
    page.clock.pause_at("2100-01-01")

    call_of(desk)

    expect(line_of(page)).to_be_visible()
    expect(page).to_have_title(re.compile(r"^Incoming call: Jan Kowal \| "))


def test_of_two_tabs_one_asks_and_one_is_heard(desk, ticket, visit):
    page = visit.open(page_of(ticket))
    other = visit.page.context.new_page()
    other.route("**/admin/desk/incoming*", lambda route: route.abort())
    other.goto(f"{visit.address}{page_of(ticket)}")
    for tab in (page, other):
        tab.locator("#content").click(position={"x": 1, "y": 1})

    call_of(desk)

    for tab in (page, other):
        expect(line_of(tab)).to_be_visible()
    wait_until_heard(page, other)
    page.wait_for_timeout(2000)
    assert heard(page) + heard(other) == 1
    other.get_by_role("button", name="Hide").click()
    for tab in (page, other):
        expect(line_of(tab)).to_be_hidden()
    # A tab that is left hands the asking on.
    other.unroute("**/admin/desk/incoming*")
    page.goto("about:blank")
    write_in_chat(ChatFactory(agent=desk.agent, client_name="Ewa Lis"), ACTOR, body="Hello?")
    expect(line_of(other, "Unanswered chat: Ewa Lis")).to_be_visible()


@pytest.mark.trial
def test_a_chat_chimes_once_also_if_a_call_comes_between(desk, ticket, visit):
    page = visit.open(page_of(ticket))
    page.locator("#content").click(position={"x": 1, "y": 1})
    write_in_chat(ChatFactory(agent=desk.agent, client_name="Ewa Lis"), ACTOR, body="Hello?")
    wait_until_heard(page)
    line = line_of(page, "Unanswered chat: Ewa Lis")

    call = talk(desk)
    expect(line).to_have_attribute("data-sound", "")
    presence.leave_call(desk.agent, call, timezone.now())
    expect(line).to_have_attribute("data-sound", "chime")

    page.wait_for_timeout(1000)
    assert heard(page) == 1


@pytest.mark.trial
@pytest.mark.parametrize("is_looked_at", [False, True])
def test_a_person_who_looks_elsewhere_is_notified_once(is_looked_at, desk, ticket, visit):
    visit.page.context.add_init_script(NOTIFICATIONS)
    page = visit.open(page_of(ticket))
    other = visit.page.context.new_page()
    other.goto(f"{visit.address}{page_of(ticket)}")
    if is_looked_at:
        other.evaluate("window.isLookedAt = true; dispatchEvent(new Event('focus'))")

    call = call_of(desk)
    for tab in (page, other):
        expect(line_of(tab)).to_be_visible()
    presence.leave_call(desk.agent, call, timezone.now())
    for tab in (page, other):
        expect(line_of(tab)).to_be_hidden()

    notes = [note for tab in (page, other) for note in tab.evaluate("window.notes")]
    assert notes == ([] if is_looked_at else ["Incoming call: Jan Kowal", "closed"])


@pytest.mark.trial
def test_sounds_are_chosen_tried_and_muted(desk, ticket, visit):
    visit.page.add_init_script(BEGINNINGS)
    page = visit.open(page_of(ticket))
    page.get_by_role("button", name="Sounds and notifications").click()
    dialog = page.get_by_role("dialog", name="Sounds and notifications")
    dialog.get_by_role("combobox", name="Sound").select_option("Bell")
    dialog.get_by_label("Volume").fill("20")
    with page.expect_console_message(lambda said: said.text == "a sound begins"):
        dialog.get_by_role("button", name="Try it").click()
    assert barriers(page) == []
    dialog.get_by_label("Sound for calls").uncheck()
    dialog.get_by_role("button", name="Close").click()
    page.reload()

    said: list[str] = []
    page.on("console", lambda one: said.append(one.text))
    page.locator("#content").click(position={"x": 1, "y": 1})
    call_of(desk)

    expect(line_of(page)).to_be_visible()
    muted = page.get_by_role("button", name="Sounds and notifications: muted")
    expect(muted).to_be_visible()
    muted.click()
    expect(dialog.get_by_role("combobox", name="Sound")).to_have_value("bell")
    expect(dialog.get_by_label("Volume")).to_have_value("20")
    assert "a sound begins" not in said


@pytest.mark.trial
def test_a_chat_is_taken_beside_a_half_written_comment_and_a_refusal_stands_in_the_bar(desk, ticket, visit):
    page = visit.open(page_of(ticket))
    page.locator(".jodit-wysiwyg").click()
    page.keyboard.type("Here is our offer.")
    chat = ChatFactory(queue=QueueFactory(members=[desk.agent]), client_name="Ewa Lis")
    write_in_chat(chat, ACTOR, body="Is anybody there?")

    with visit.page.context.expect_page() as opened:
        page.get_by_role("button", name="Take the chat").click()

    expect(opened.value.get_by_role("heading", name="Ewa Lis")).to_be_visible()
    expect(opened.value.get_by_label("Answer")).to_be_visible()
    chat.refresh_from_db()
    assert chat.agent == desk.agent
    expect(page.locator(".jodit-wysiwyg")).to_have_text("Here is our offer.")
    expect(page.get_by_text("Take the chat")).to_be_hidden()

    RecordOfferFactory(agent=desk.agent)
    page.get_by_role("button", name="Call it").click()

    expect(page.locator("#incoming").get_by_role("alert")).to_have_text("No connection to the PBX.")


@pytest.mark.trial
def test_an_agent_mentions_another_whose_bar_shows_it_until_the_ticket_is_open(desk, ticket, visit, browser):
    colleague = desk_of("piotr")
    user: Any = colleague.agent.user
    user.user_permissions.set(Permission.objects.filter(codename="view_ticket"))
    other = Visit(browser, visit.address, colleague.cookies["sessionid"].value, viewport=SCREENS["desk"])
    bar = other.open("/admin/password_change/").locator("#incoming")

    page = visit.open(page_of(ticket))
    page.locator("input[name=m-kind][value=comment]").check()
    page.locator(".jodit-wysiwyg").click()
    page.keyboard.type("Do you know, @pi")
    expect(page.get_by_role("option", name="@piotr")).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.type("?")
    page.get_by_role("button", name="Add comment", exact=True).click()

    expect(page.frame_locator("iframe.tk-frame").locator("p")).to_contain_text("Do you know, @piotr ?")
    expect(bar).to_contain_text(f"You are mentioned: #{ticket.pk}")
    bar.get_by_role("link", name="Open the ticket").click()
    expect(other.page.locator("#conversation")).to_be_visible()
    expect(bar).to_be_hidden()
    assert not Notice.objects.filter(closed_at=None).exists()
    assert visit.trouble == other.trouble == []


@pytest.mark.trial
def test_the_page_of_an_assigned_ticket_needs_no_line_of_its_own(desk, ticket, visit):
    assign(ticket, desk)
    page = visit.open("/admin/password_change/")
    line = line_of(page, f"Assigned to you: #{ticket.pk}")

    page.get_by_role("link", name="Open the ticket").click()
    expect(page.locator("#composer")).to_be_visible()
    expect(line).to_be_hidden()
    receive_message(ticket, SYSTEM, body="Hello?")
    for _time in range(2):
        # The second answer comes after the first was drawn.
        with page.expect_response(lambda answer: "desk/incoming" in answer.url):
            pass
    assert Notice.objects.filter(closed_at=None, ticket=ticket).exists()
    expect(page.locator("#incoming")).to_be_hidden()

    visit.open("/admin/password_change/")
    expect(line).to_be_hidden()


@pytest.mark.walk("light-phone")
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_bar_fits_the_screen_and_has_no_barriers(mode, screen, desk, ticket, visit):
    ring(desk, src="+48225550107", queue=QueueFactory(name="Nospaces" * 10))
    chat = ChatFactory(agent=desk.agent, client_name="Kowal" * 20)
    write_in_chat(chat, ACTOR, body="Nospaces" * 60)
    assign(TicketFactory(subject="Nospaces" * 30), desk)
    page = visit.page
    page.emulate_media(color_scheme=mode)
    page.set_viewport_size(SCREENS[screen])

    for path in (page_of(ticket), "/admin/desk/"):
        visit.open(path)
        expect(page.locator("#incoming li")).to_have_count(3)
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert barriers(page) == []
    assert visit.trouble == []
