"""Lists in a real Chromium: an export, an action on all that match that is cancelled half-way, and a phone."""

import csv
import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from playwright.sync_api import expect

from callcentre.core import due_work
from callcentre.core.exporting import jobs
from callcentre.lists import actions, exports
from callcentre.lists.models import ListAction
from telephony.models import Agent
from tests.admin_pages import list_of
from tests.browser.conftest import PATIENCE, barriers
from tests.telephony.factories import AgentFactory
from tickets.models import Company

_COMPANIES = """
INSERT INTO tickets_company (name, updated_at) SELECT 'company ' || n, now() FROM generate_series(1, 100000) AS n
"""


@pytest.fixture
def half_way(monkeypatch):
    """Let a worker wait after its fourth row until the event is set."""
    event, rows = threading.Event(), 0
    apply = actions._Worker._apply

    def slowly(self: Any, row: str) -> actions._Outcome:
        nonlocal rows
        rows += 1
        if rows == 5:
            event.wait(PATIENCE / 1000)
        return apply(self, row)

    monkeypatch.setattr(actions._Worker, "_apply", slowly)
    monkeypatch.setattr(actions, "PORTION", 2)
    return event


@pytest.fixture
def half_written(monkeypatch):
    """Let a worker tell its progress after each portion of an export, and wait in the middle until the event is set."""
    event, portions = threading.Event(), exports.portions

    def halting(rows: QuerySet[Any]) -> Iterator[list[Any]]:
        for place, portion in enumerate(portions(rows)):
            if place == 50_000 // exports.PORTION:
                event.wait(PATIENCE / 1000)
            yield portion

    monkeypatch.setattr(exports, "portions", halting)
    monkeypatch.setattr(due_work, "PROGRESS_SECONDS", 0.05)
    return event


@pytest.fixture
def workers(monkeypatch, own_storage):
    """Do queued work at once, each piece in a thread, as on a worker."""
    works: dict[str, Callable[..., object]] = {
        "lists.build_exports": exports.build_next,
        "lists.run_action": actions.run,
    }
    threads: list[threading.Thread] = []

    def work(task: str, *arguments: int) -> None:
        try:
            works[task](*arguments)
        finally:
            connection.close()

    def enqueue(task: str, *arguments: int) -> None:
        threads.append(threading.Timer(0.3, work, [task, *arguments]))
        threads[-1].start()

    for module in (jobs, actions):
        monkeypatch.setattr(module, "enqueue", enqueue)
    yield
    for thread in threads:
        thread.join()


@pytest.fixture
def page(visit, workers):
    return visit.page


@pytest.mark.trial
def test_a_list_is_exported_with_its_filter(page):
    AgentFactory.create_batch(60, is_active=True)
    AgentFactory(is_active=False)
    page.goto(f"{list_of(Agent)}?is_active__exact=1")

    page.locator("summary", has_text="Export").click()
    page.get_by_role("button", name="CSV").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()

    text = Path(download.value.path()).read_text(encoding="utf-8-sig")
    assert len(list(csv.DictReader(io.StringIO(text)))) == 60


@pytest.mark.trial
def test_a_list_of_100_000_rows_is_exported_with_progress(page, half_written):
    with connection.cursor() as cursor:
        cursor.execute(_COMPANIES)
    page.goto(list_of(Company))

    page.locator("summary", has_text="Export").click()
    page.get_by_role("button", name="CSV").click()
    expect(page.locator("[data-show=rows]")).to_have_text("50,000", timeout=PATIENCE)
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "49")
    half_written.set()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()

    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
        names = [row["Name"] for row in csv.DictReader(file)]
    assert len(names) == 100_000
    assert set(names) == {f"company {number}" for number in range(1, 100_001)}


def test_an_action_on_all_that_match_is_cancelled_half_way_and_says_what_it_did(page, half_way):
    AgentFactory.create_batch(60, is_active=True)
    page.goto(list_of(Agent))

    page.locator("input.action-select").first.check()
    page.get_by_role("link", name="Select all that match:").click()
    page.locator("select[name=action]").select_option(label="Deactivate")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("For all rows that match: 60.")).to_be_visible()
    page.get_by_role("button", name="Deactivate").click()
    # The worker waits within its third portion.
    expect(page.locator("[data-show=rows]")).to_have_text("4", timeout=PATIENCE)
    threading.Timer(1.0, half_way.set).start()
    page.get_by_role("button", name="Cancel the action").click()

    expect(page.get_by_text("Not reached")).to_be_visible(timeout=PATIENCE)
    job = ListAction.objects.get()
    assert (job.state, job.total_count) == ("cancelled", 60)
    assert 4 <= job.done_count < 60
    assert Agent.objects.filter(is_active=False).count() == job.done_count
    expect(page.locator("dl.cc-facts")).to_contain_text(str(60 - job.done_count))
    assert barriers(page) == []


def test_a_list_on_a_phone_is_dense_and_no_wider_than_the_screen(page):
    AgentFactory.create_batch(50, is_active=True)
    page.set_viewport_size({"width": 390, "height": 844})

    page.goto(list_of(Agent))

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # Rows of at most four lines, fifteen at first.
    height = "document.querySelector('#result_list').getBoundingClientRect().height"
    rows = page.locator("#result_list > tbody:visible")
    expect(rows).to_have_count(15)
    assert page.evaluate(height) < 15 * 100

    page.get_by_role("button", name="More rows").click()
    expect(rows).to_have_count(30)
    expect(rows.nth(15).locator(":focus")).to_have_count(1)

    page.locator("#action-toggle").check()
    expect(rows).to_have_count(50)
    expect(page.get_by_role("button", name="More rows")).to_be_hidden()
    assert page.evaluate(height) < 50 * 100
