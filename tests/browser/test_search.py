"""The box that searches everything, in a real Chromium: the shortcut, the arrow keys, and a phone's screen."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from callcentre.models import User
from tests.backoffice import page_of
from tests.browser.conftest import SCREENS, Visit
from tests.telephony.factories import AgentFactory, ConnectionFactory
from tests.tickets.factories import CustomerFactory, TicketFactory

pytestmark = pytest.mark.usefixtures("plain_static")


def test_a_customer_is_found_by_four_digits_with_the_keyboard_alone(visit: Visit) -> None:
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


@pytest.mark.trial
def test_a_stroke_in_a_field_is_a_stroke(visit: Visit) -> None:
    page = visit.open(reverse("admin:tickets_customer_add"))

    page.get_by_label("Surname").click()
    page.keyboard.type("a/b")

    expect(page.get_by_label("Surname")).to_have_value("a/b")
    expect(page.get_by_role("dialog", name="Search")).to_be_hidden()


@pytest.mark.trial
def test_escape_closes_the_box_and_enter_shows_the_page_of_results(visit: Visit) -> None:
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


def test_the_box_fits_a_phone(visit: Visit) -> None:
    CustomerFactory(surname="Kowal" * 15, email=f"{'jan' * 20}@client.example", phone_numbers=["+48225550107"])
    visit.page.set_viewport_size(SCREENS["phone"])  # type: ignore[arg-type]
    page = visit.open(reverse("admin:index"))

    page.get_by_role("link", name="Search", exact=True).click()
    page.keyboard.type("0107")
    expect(page.get_by_role("region", name="Customers")).to_be_visible()

    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not page.evaluate("(box => box.scrollWidth > box.clientWidth)(document.getElementById('search-box'))")


@pytest.mark.trial
def test_a_number_is_called_with_one_click_from_the_page_of_the_customer(visit: Visit) -> None:
    AgentFactory(user=User.objects.get(is_superuser=True), number="101")
    customer = CustomerFactory(phone_numbers=["+48225550107"])
    page = visit.open(page_of(customer))

    page.get_by_role("button", name="Call +48225550107").click()

    expect(page.get_by_text("Your phone 101 rings")).to_be_visible()
    assert visit.violations == []
