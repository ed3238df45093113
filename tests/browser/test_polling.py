"""Pages that poll, in a real Chromium: their requests are marked, so that they do not extend the session."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Response

from callcentre.models import User
from tests.backoffice import page_of
from tests.campaigns.factories import CampaignFactory, RecordImportFactory
from tests.reports.factories import ExportFactory
from tests.telephony.factories import AgentFactory, QueueFactory
from tests.tickets.factories import ChatFactory, TicketFactory
from tests.webhooks.factories import ResendFactory


def board() -> str:
    AgentFactory()
    return reverse("admin:index")


def queues() -> str:
    QueueFactory()
    return reverse("admin:telephony_queue_changelist")


def ticket() -> str:
    AgentFactory(user=User.objects.get(is_superuser=True))
    return page_of(TicketFactory())


def desk() -> str:
    AgentFactory(user=User.objects.get(is_superuser=True))
    return reverse("desk")


PAGES: dict[str, Callable[[], str]] = {
    "desk": desk,
    "board": board,
    "queues": queues,
    "ticket": ticket,
    "queue": lambda: page_of(QueueFactory()),
    "chat": lambda: page_of(ChatFactory()),
    "import": lambda: page_of(RecordImportFactory(state="queued")),
    "export": lambda: page_of(ExportFactory()),
    "resend": lambda: page_of(ResendFactory()),
    "dialling": lambda: page_of(CampaignFactory(), "dialling"),
}


def answer_of_poll(page: Page) -> Response:
    """Return the next answer to a poll, 13 seconds later by the clock of the page. Afterwards the server is idle."""
    with page.expect_response(lambda response: response.request.resource_type == "fetch") as answer:
        page.clock.fast_forward("00:13")
    return answer.value


@pytest.mark.walk("ticket")
@pytest.mark.parametrize("page", PAGES)
def test_requests_of_scripts_are_marked(page, visit):
    asked: list[Any] = []
    path = PAGES[page]()
    visit.page.clock.install()
    shown = visit.open(path)
    # The browser itself may ask later for the icon of the site.
    shown.on("request", lambda sent: asked.append(sent) if sent.resource_type in ("fetch", "xhr") else None)

    for _ in range(2):
        answer_of_poll(shown)

    assert {sent.headers.get("x-poll") for sent in asked} == {"1"}


@pytest.mark.trial
def test_writing_a_reply_extends_the_session_and_looking_does_not(visit):
    visit.page.clock.install()
    page = visit.open(ticket())
    looking = answer_of_poll(page)

    page.locator(".jodit-wysiwyg").click()
    page.keyboard.type("Here is our offer.")
    writing = answer_of_poll(page)

    assert looking.request.headers.get("x-poll") == "1"
    assert "x-poll" not in writing.request.headers
