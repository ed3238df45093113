"""Pages that poll, in a real Chromium: their requests are marked, so that they do not extend the session."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, Response, expect

from callcentre.models import User
from campaigns.models import Campaign
from tests.backoffice import page_of
from tests.browser.conftest import Visit
from tests.campaigns.factories import CampaignFactory, DiallingDayFactory, RecordImportFactory
from tests.reports.factories import ExportFactory
from tests.telephony.factories import AgentFactory, QueueFactory
from tests.tickets.factories import ChatFactory, TicketFactory
from tests.webhooks.factories import ResendFactory
from webhooks.models import Resend

pytestmark = pytest.mark.usefixtures("plain_static")


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
def test_requests_of_scripts_are_marked(page: str, visit: Visit) -> None:
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
def test_writing_a_reply_extends_the_session_and_looking_does_not(visit: Visit) -> None:
    visit.page.clock.install()
    page = visit.open(ticket())
    looking = answer_of_poll(page)

    page.locator(".jodit-wysiwyg").click()
    page.keyboard.type("Here is our offer.")
    writing = answer_of_poll(page)

    assert looking.request.headers.get("x-poll") == "1"
    assert "x-poll" not in writing.request.headers


@pytest.mark.trial
def test_the_page_of_a_resend_shows_its_end_by_itself(visit: Visit) -> None:
    resend = ResendFactory()
    page = visit.open(page_of(resend))
    expect(page.get_by_text("It begins in a moment.")).to_be_visible()

    Resend.objects.update(state=Resend.State.FINISHED, done_count=3, total_count=3, finished_at=timezone.now())

    expect(page.get_by_text("3 deliveries were made due.")).to_be_visible()
    expect(page.get_by_role("link", name="What still waits")).to_be_visible()


@pytest.mark.trial
def test_the_page_of_dialling_shows_a_pause_and_new_calls_by_itself(visit: Visit) -> None:
    campaign = CampaignFactory(is_dialling=True)
    page = visit.open(page_of(campaign, "dialling"))
    expect(page.get_by_text("No dialler process is running.")).to_be_visible()

    Campaign.objects.update(is_dialling=False)
    DiallingDayFactory(campaign=campaign, day=timezone.localdate(), attempts=90, live_answers=40, drops=1)

    expect(page.get_by_text("The dialling of the campaign is paused.")).to_be_visible()
    expect(page.get_by_text("today: 1 of 40 answers")).to_be_visible()
