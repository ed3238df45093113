"""Queues in a real Chromium: waiting callers appear without a reload of the page."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from telephony.models import Queue
from tests.browser.conftest import Visit
from tests.telephony.factories import ConnectionFactory, QueueFactory

pytestmark = pytest.mark.usefixtures("plain_static")


@pytest.mark.trial
def test_callers_appear_and_disappear_on_the_page_of_their_queue(visit: Visit) -> None:
    queue: Queue = QueueFactory(name="Hotline")
    page = visit.open(reverse("admin:telephony_queue_change", args=[queue.pk]))
    page.get_by_label("Name").fill("Hotline 2")
    expect(page.get_by_text("No caller waits.")).to_be_visible()

    call = ConnectionFactory(waiting=True, queue=queue, src="+48225550107")
    expect(page.get_by_role("cell", name="+48225550107")).to_be_visible()
    call.delete()
    expect(page.get_by_text("No caller waits.")).to_be_visible()

    # Text that is typed meanwhile stays.
    expect(page.get_by_label("Name")).to_have_value("Hotline 2")


@pytest.mark.trial
def test_the_list_of_queues_counts_by_itself(visit: Visit) -> None:
    queue = QueueFactory(name="Hotline")
    page = visit.open(reverse("admin:telephony_queue_changelist"))

    ConnectionFactory.create_batch(7, waiting=True, queue=queue)

    expect(page.get_by_role("cell", name="7", exact=True)).to_be_visible()


@pytest.mark.trial
def test_the_focus_stays_in_the_list_of_queues_while_it_changes(visit: Visit) -> None:
    queue = QueueFactory(name="Hotline")
    page = visit.open(reverse("admin:telephony_queue_changelist"))
    page.get_by_role("link", name="Hotline").focus()

    ConnectionFactory.create_batch(7, waiting=True, queue=queue)
    expect(page.get_by_role("cell", name="7", exact=True)).to_be_visible()

    expect(page.get_by_role("link", name="Hotline")).to_be_focused()
    page.locator("input.action-select").check()
    expect(page.get_by_text("1 of 1 selected")).to_be_visible()
