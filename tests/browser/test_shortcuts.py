"""The keyboard, the menu, and the box that searches everything, on every page in a real Chromium."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from callcentre.models import User
from tests.backoffice import page_of
from tests.browser.conftest import SCREENS
from tests.telephony.factories import AgentFactory, ConnectionFactory
from tests.tickets.factories import CannedReplyFactory, CustomerFactory, TicketFactory
from tickets.models import Message

LIST = reverse("admin:tickets_ticket_changelist")


def test_j_and_k_move_through_a_list_and_enter_opens_the_row(visit):
    older, newer = TicketFactory(subject="Older"), TicketFactory(subject="Newer")
    page = visit.open(LIST)
    shown = [row.inner_text() for row in page.locator("#result_list tbody tr").all()]
    first, second = (older, newer) if "Older" in shown[0] else (newer, older)

    for key in "jjk":
        page.keyboard.press(key)
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    page.wait_for_url(f"**{page_of(second)}*")
    assert first != second
    assert visit.trouble == []


def test_letters_and_strokes_in_a_field_are_no_shortcuts(visit):
    page = visit.open(reverse("admin:tickets_customer_add"))

    page.get_by_label("Surname").click()
    page.keyboard.type("jk?a/b")

    expect(page.get_by_label("Surname")).to_have_value("jk?a/b")
    expect(page.get_by_role("dialog", name="Search")).to_be_hidden()


@pytest.mark.trial
def test_control_and_enter_send_a_comment(visit):
    ticket = TicketFactory()
    page = visit.open(page_of(ticket))

    page.locator("#composer [role=textbox]").click()
    page.keyboard.type("Called back")
    page.keyboard.press("Control+Enter")

    expect(page.frame_locator(".tk-frame").locator("body")).to_have_text("Called back")
    assert Message.objects.filter(ticket=ticket, comment__contains="Called back").count() == 1


@pytest.mark.trial
def test_a_question_mark_lists_the_shortcuts_and_an_area_of_the_menu_stays_as_it_was_left(visit):
    page = visit.open(LIST)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Search everything")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()
    area = page.locator("details", has_text="Settings of tickets")
    expect(area.get_by_role("link", name="Categories")).to_be_hidden()

    area.locator("summary").press("Enter")
    expect(area.get_by_role("link", name="Categories")).to_be_visible()
    visit.open(reverse("admin:telephony_agent_changelist"))

    expect(area.get_by_role("link", name="Categories")).to_be_visible()


@pytest.mark.trial
def test_a_canned_reply_is_previewed_while_it_is_written(visit):
    ticket = TicketFactory(subject="A kettle that leaks")
    page = visit.open(page_of(CannedReplyFactory(body="<p>About: {{ subject }}</p>")))

    expect(page.frame_locator("iframe.canned-frame").locator("body")).to_have_text("About: A kettle that leaks")
    expect(page.get_by_text(f"With the facts of ticket #{ticket.pk}")).to_be_visible()
    page.locator(".jodit-wysiwyg").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" {{ ticket_id }}")

    expect(page.frame_locator("iframe.canned-frame").locator("body")).to_contain_text(str(ticket.pk))
    assert visit.trouble == []


def test_a_customer_is_found_by_four_digits_with_the_keyboard_alone_and_called_with_one_click(visit):
    AgentFactory(user=User.objects.get(is_superuser=True), number="101")
    customer = CustomerFactory(name="Jan", surname="Kowal", phone_numbers=["+48225550107"])
    ConnectionFactory(dst="+48225550107")
    page = visit.open(reverse("admin:index"))

    page.keyboard.press("/")
    box = page.get_by_role("dialog", name="Search")
    expect(box.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("0107")
    expect(box.get_by_role("link", name="Jan Kowal")).to_be_visible()
    expect(box.get_by_role("region", name="Calls")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    page.wait_for_url(f"**{page_of(customer)}")
    expect(page.get_by_text("+48225550107").first).to_be_visible()
    assert visit.trouble == []

    page.get_by_role("button", name="Call +48225550107").click()

    expect(page.get_by_text("Your phone 101 rings")).to_be_visible()


@pytest.mark.trial
def test_escape_closes_the_box_and_enter_shows_the_page_of_results(visit):
    TicketFactory(subject="Broken table")
    page = visit.open(reverse("admin:index"))
    page.get_by_role("link", name="Search", exact=True).click()
    box = page.get_by_role("dialog", name="Search")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()

    page.keyboard.press("/")
    page.keyboard.type("broken")
    page.keyboard.press("Enter")

    page.wait_for_url("**/admin/search/?q=broken")
    expect(page.get_by_role("link", name="Broken table")).to_be_visible()


@pytest.mark.trial
def test_the_box_fits_a_phone(visit):
    CustomerFactory(surname="Kowal" * 15, email=f"{'jan' * 20}@client.example", phone_numbers=["+48225550107"])
    visit.page.set_viewport_size(SCREENS["phone"])
    page = visit.open(reverse("admin:index"))

    page.get_by_role("link", name="Search", exact=True).click()
    page.keyboard.type("0107")
    expect(page.get_by_role("region", name="Customers")).to_be_visible()

    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not page.evaluate("(box => box.scrollWidth > box.clientWidth)(document.getElementById('search-box'))")
