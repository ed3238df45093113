"""The overview and the wallboard in a real Chromium: what happens appears without a reload, and nothing jumps."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from callcentre.overview.watch import watch
from telephony.models import Connection, Queue
from tests.browser.conftest import Visit, opened_once
from tests.overview.factories import AlarmFactory
from tests.telephony.factories import ConnectionFactory, QueueFactory
from tests.tickets.factories import TicketFactory

pytestmark = pytest.mark.usefixtures("plain_static")


def caller(queue: Queue, seconds: int = 30) -> Any:
    since = timezone.now() - timedelta(seconds=seconds)
    return ConnectionFactory(waiting=True, queue=queue, created_at=since, waiting_since=since)


@pytest.fixture
def queue(committed_db: None) -> Queue:
    found: Queue = QueueFactory(name="Hotline")
    return found


@pytest.fixture
def overview(queue: Queue, visit: Visit) -> Iterator[Page]:
    """The start page, opened once."""
    with opened_once(visit, reverse("admin:index")) as page:
        yield page


@pytest.mark.trial
def test_a_waiting_caller_appears_and_goes_by_itself(queue: Queue, overview: Page) -> None:
    tiles = overview.locator("[data-key=tiles]").first
    waiting, longest = (tiles.locator(f"[data-key={key}] .cc-number") for key in ("waiting", "longest"))
    expect(waiting).to_have_text("0")
    expect(overview.get_by_role("heading", name="Callers wait")).to_have_count(0)

    call = caller(queue, 90)
    expect(waiting).to_have_text("1")
    of_queue = overview.locator("section[data-key=waiting]").get_by_role("row", name="Hotline")
    expect(of_queue).to_contain_text(re.compile(r"1:[3-9]\d|[2-9]:\d\d"))
    expect(of_queue.locator("td.ov-danger").nth(1)).to_be_visible()
    first = longest.inner_text()
    expect(longest).not_to_have_text(first)

    Connection.objects.filter(pk=call.pk).update(
        state="ended", ended_at=timezone.now(), disposition="NO ANSWER", hung_up_by="customer"
    )
    expect(waiting).to_have_text("0")


def test_focus_selection_and_scrolling_stay(queue: Queue, overview: Page) -> None:
    link = overview.get_by_role("row", name="Hotline").get_by_role("link", name="Hotline")
    link.focus()
    overview.evaluate(
        """() => {
            const range = document.createRange();
            range.selectNodeContents(document.querySelector("section[data-key=queues] h2"));
            getSelection().removeAllRanges();
            getSelection().addRange(range);
            scrollTo(0, 60);
            window.focused = document.activeElement;
            window.scrolled = scrollY;
        }"""
    )

    for name in ("Before", "Later"):
        caller(QueueFactory(name=name), 600)
    for name in ("Before", "Later"):
        expect(overview.locator("section[data-key=queues]").get_by_role("row", name=name)).to_contain_text("1")

    expect(link).to_be_focused()
    assert overview.evaluate("window.focused === document.activeElement")
    assert overview.evaluate("getSelection().toString()") == "Queues"
    assert overview.evaluate("scrollY === window.scrolled")


@pytest.mark.trial
def test_figures_without_an_answer_say_since_when(queue: Queue, visit: Visit) -> None:
    page = visit.open(reverse("admin:index"))
    expect(page.locator(".ov-time")).to_have_text(re.compile(r"Read at \d\d:\d\d:\d\d\."))

    page.route("**/admin/overview/now", lambda route: route.abort())

    expect(page.locator(".ov-away")).to_have_text(
        re.compile(r"As of \d\d:\d\d:\d\d: the service has not answered since then\.")
    )
    page.unroute("**/admin/overview/now")
    expect(page.locator(".ov-away")).to_have_text("")


@pytest.mark.trial
def test_the_end_of_the_session_is_said(queue: Queue, visit: Visit) -> None:
    page = visit.open(reverse("admin:index"))

    page.context.clear_cookies()

    expect(page.locator(".ov-away")).to_have_text(re.compile("you are logged out"))


@pytest.mark.trial
def test_a_chart_that_is_open_as_a_table_stays_open(queue: Queue, overview: Page) -> None:
    now = timezone.now()
    ConnectionFactory(inbound=True, queue=queue, created_at=now)
    overview.locator("[data-key=chart-calls] summary").click()
    table = overview.locator("[data-key=chart-calls] tbody")
    expect(table).to_be_visible()

    TicketFactory()
    ConnectionFactory(inbound=True, queue=queue, created_at=now)

    expect(table.locator("tr").first.locator("td").nth(1)).to_have_text("2")
    expect(table).to_be_visible()
    expect(overview.locator("[data-key=chart-tickets] svg")).to_be_visible()


def test_an_alarm_appears_and_sounds_once(queue: Queue, overview: Page) -> None:
    AlarmFactory(name="Too many", subject="QUEUE_CALLERS", limit=0, queue=queue, sounds=True)
    # A click on the page allows it to sound.
    overview.locator(".ov-time").click()
    caller(queue)
    watch()

    expect(overview.get_by_text("Alarm: Too many")).to_be_visible()
    expect(overview.locator("#overview")).to_have_attribute("data-sounded", "1")

    Connection.objects.update(state="ended", ended_at=timezone.now(), disposition="NO ANSWER")
    watch()
    expect(overview.get_by_text("Alarm: Too many")).to_have_count(0)
    expect(overview.locator("#overview")).to_have_attribute("data-sounded", "1")


@pytest.mark.trial
def test_the_wallboard_shows_the_chosen_queue(queue: Queue, visit: Visit) -> None:
    QueueFactory(name="Elsewhere")
    page = visit.open(f"{reverse('wallboard')}?queue={queue.pk}")
    expect(page.get_by_role("heading", name="Hotline")).to_be_visible()
    expect(page.get_by_role("heading", name="Elsewhere")).to_have_count(0)

    caller(queue)

    expect(page.locator(f"[data-key=queue-{queue.pk}] [data-key=waiting] .cc-number")).to_have_text("1")

    # Fewer figures, larger letters; nothing is wider or higher than the screen.
    number = page.locator("[data-key=waiting] .cc-number")
    height = number.bounding_box()["height"]  # type: ignore[index]
    page.get_by_text("Choose what is shown").click()
    page.get_by_label("waiting now").check()
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(re.compile("figure=waiting"))
    expect(page.locator(".cc-tile")).to_have_count(1)
    assert number.first.bounding_box()["height"] > height  # type: ignore[index]
    fits = "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
    assert page.evaluate(fits)
    assert visit.trouble == []
