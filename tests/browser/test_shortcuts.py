"""The keyboard and the menu of every page, in a real Chromium."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.backoffice import page_of
from tests.browser.conftest import Visit
from tests.tickets.factories import CannedReplyFactory, TicketFactory
from tickets.models import Message

pytestmark = pytest.mark.usefixtures("plain_static")

LIST = reverse("admin:tickets_ticket_changelist")


def test_j_and_k_move_through_a_list_and_enter_opens_the_row(visit: Visit) -> None:
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


def test_a_question_mark_lists_the_shortcuts(visit: Visit) -> None:
    page = visit.open(LIST)

    page.keyboard.press("?")

    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Search everything")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()


@pytest.mark.trial
def test_a_letter_in_a_field_is_a_letter(visit: Visit) -> None:
    page = visit.open(reverse("admin:tickets_customer_add"))

    page.get_by_label("Surname").click()
    page.keyboard.type("jk?")

    expect(page.get_by_label("Surname")).to_have_value("jk?")


def test_control_and_enter_send_a_comment(visit: Visit) -> None:
    ticket = TicketFactory()
    page = visit.open(page_of(ticket))

    page.locator("#composer [role=textbox]").click()
    page.keyboard.type("Called back")
    page.keyboard.press("Control+Enter")

    expect(page.frame_locator(".tk-frame").locator("body")).to_have_text("Called back")
    assert Message.objects.filter(ticket=ticket, comment__contains="Called back").count() == 1


@pytest.mark.trial
def test_an_area_of_the_menu_stays_as_it_was_left(visit: Visit) -> None:
    page = visit.open(LIST)
    area = page.locator("details", has_text="Settings of tickets")
    expect(area.get_by_role("link", name="Categories")).to_be_hidden()

    area.locator("summary").press("Enter")
    expect(area.get_by_role("link", name="Categories")).to_be_visible()
    visit.open(reverse("admin:telephony_agent_changelist"))

    expect(area.get_by_role("link", name="Categories")).to_be_visible()


@pytest.mark.trial
def test_a_canned_reply_is_previewed_while_it_is_written(visit: Visit) -> None:
    ticket = TicketFactory(subject="A kettle that leaks")
    page = visit.open(page_of(CannedReplyFactory(body="<p>About: {{ subject }}</p>")))

    expect(page.frame_locator("iframe.canned-frame").locator("body")).to_have_text("About: A kettle that leaks")
    expect(page.get_by_text(f"With the facts of ticket #{ticket.pk}")).to_be_visible()
    page.locator(".jodit-wysiwyg").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" {{ ticket_id }}")

    expect(page.frame_locator("iframe.canned-frame").locator("body")).to_contain_text(str(ticket.pk))
    assert visit.trouble == []
