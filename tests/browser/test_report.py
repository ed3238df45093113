"""The page of the agents work report in a real Chromium: a range by one click, the chart, a file."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from reports.models import Export
from tests.browser.conftest import Visit
from tests.conftest import ACTOR
from tests.reports.exports import built
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.usefixtures("plain_static")


def test_a_range_is_shown_drawn_and_downloaded(visit: Visit) -> None:
    agent = AgentFactory(login="anna")
    agent.log_in(ACTOR, timezone.now() - timedelta(days=2))
    page = visit.open(reverse("admin:reports_export_report"))

    page.get_by_role("link", name="Yesterday").click()
    expect(page.locator(".report-table tbody tr")).to_have_count(1)
    expect(page.locator("#report-calls")).to_be_visible()
    drawn = "Object.keys(Chart.instances || {}).length > 0"
    page.wait_for_function(drawn)
    page.get_by_role("button", name="CSV").click()
    expect(page.locator("#export-progress")).to_be_visible()
    built(Export.objects.get())
    with page.expect_download() as download:
        page.locator("a[href$='/download/']").click()

    assert download.value.suggested_filename == Export.objects.get().file_name
    assert visit.trouble == []


def test_the_chart_can_be_read_by_light_and_in_the_dark(visit: Visit) -> None:
    AgentFactory(login="anna").log_in(ACTOR, timezone.now() - timedelta(days=2))
    are = """([colour]) => {
        const charts = Object.values(Chart.instances || {});
        const texts = charts.flatMap(({ legend, scales }) => [legend.options.labels, scales.y.options.ticks]);
        return texts.length && texts.every((text) => text.color === colour);
    }"""

    page = visit.open(reverse("admin:reports_export_report"))
    page.get_by_role("link", name="Yesterday").click()

    page.wait_for_function(are, arg=["#6b7280"])
    page.evaluate("document.documentElement.classList.add('dark')")
    page.wait_for_function(are, arg=["#9ca3af"])
    assert visit.trouble == []
