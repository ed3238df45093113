"""Queues in a real Chromium: who waits is shown without anybody reloading the page."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect, sync_playwright

from telephony.models import Queue
from tests.callcentre.factories import UserFactory
from tests.telephony.factories import ConnectionFactory, QueueFactory

CHROMIUM = shutil.which("chromium") or ""

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium on this machine"),
    pytest.mark.usefixtures("plain_static"),
]


@pytest.fixture
def session_id(committed_db: None, settings: Any) -> str:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    client = Client()
    client.force_login(UserFactory(admin=True))
    return client.cookies["sessionid"].value


@pytest.fixture
def page(session_id: str, live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    # Playwright's loop runs in the thread of the test, which asks the database all the same.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(base_url=live_server.url, viewport={"width": 1400, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": session_id, "url": live_server.url}])
        page = context.new_page()
        yield page
        page.goto("about:blank")  # it asks no more
        browser.close()


def test_a_caller_who_comes_and_goes_is_seen_on_the_page_of_his_queue(page: Page) -> None:
    queue: Queue = QueueFactory(name="Hotline")
    page.goto(reverse("admin:telephony_queue_change", args=[queue.pk]))
    page.get_by_label("Name").fill("Hotline 2")
    expect(page.get_by_text("Nobody.")).to_be_visible()

    call = ConnectionFactory(waiting=True, queue=queue, src="+48225550107")
    expect(page.get_by_role("cell", name="+48225550107")).to_be_visible(timeout=30_000)
    call.delete()
    expect(page.get_by_text("Nobody.")).to_be_visible(timeout=30_000)

    # What somebody types meanwhile stays.
    expect(page.get_by_label("Name")).to_have_value("Hotline 2")


def test_the_list_of_queues_counts_by_itself(page: Page) -> None:
    queue = QueueFactory(name="Hotline")
    page.goto(reverse("admin:telephony_queue_changelist"))

    ConnectionFactory.create_batch(7, waiting=True, queue=queue)

    expect(page.get_by_role("cell", name="7", exact=True)).to_be_visible(timeout=30_000)
