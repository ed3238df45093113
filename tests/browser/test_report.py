"""The page of the agents work report in a real Chromium: a range by one click, the chart, a file."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from reports.measures import NAMES
from reports.models import Schedule
from reports.verbs.exports import edit_schedule
from telephony.verbs import presence
from tests.backoffice import page_of
from tests.browser.conftest import SCREENS
from tests.conftest import ACTOR
from tests.reports.factories import ScheduleFactory
from tests.telephony.factories import AgentFactory


@pytest.mark.trial
@pytest.mark.parametrize("screen", SCREENS)
def test_headings_of_rows_and_columns_stay_in_sight(screen, visit):
    """Headings stay in sight while the table is scrolled, and the page is never wider than the screen."""
    presence.log_in(AgentFactory(login="anna"), ACTOR, timezone.now() - timedelta(days=40))
    first, last = timezone.localdate() - timedelta(days=35), timezone.localdate()
    visit.page.set_viewport_size(SCREENS[screen])

    address = f"{reverse('admin:reports_export_report')}?date_from={first}&date_to={last}&aggregate_by=day"
    page = visit.open(address)
    table = page.locator(".report-scroll")
    if screen == "desk":
        # The usual columns, but for the last ones, are in sight.
        assert table.evaluate("(box) => box.scrollWidth - box.clientWidth < box.clientWidth / 3")
    assert page.locator(".report-table td:first-child").evaluate_all(
        "(cells) => cells.every((cell) => cell.scrollWidth <= cell.clientWidth)"
    )
    expect(page.locator("#report-total")).to_contain_text("Total")

    page = visit.open(f"{address}&{urlencode([('columns', name) for name in NAMES])}")
    table.scroll_into_view_if_needed()
    row = page.locator(".report-table tbody tr").nth(20)
    table.evaluate("(box, row) => box.scrollTo(600, row.offsetTop - 200)", row.element_handle())

    assert table.evaluate("(box) => box.scrollLeft > 300 && box.scrollTop > 300")
    seen = """(element, box) => {
        const [a, b] = [element.getBoundingClientRect(), box.getBoundingClientRect()];
        const inside = a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
        const top = document.elementFromPoint(a.left + a.width / 2, a.top + a.height / 2);
        return inside && element.contains(top);
    }"""
    box = table.element_handle()
    agent, period = row.locator("td").nth(0), row.locator("td").nth(1)
    assert page.locator(".report-table th").first.evaluate(seen, box)
    assert agent.evaluate(seen, box)
    # On a phone, the two columns are one.
    assert (
        period.evaluate(seen, box)
        if screen == "desk"
        else agent.get_attribute("data-period") == str(first + timedelta(days=20))
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert visit.trouble == []


@pytest.mark.trial
def test_a_refused_form_keeps_the_choices_and_reports_conflicts(visit):
    agents = AgentFactory.create_batch(2)
    schedule = ScheduleFactory(name="Daily")
    page = visit.open(page_of(schedule))

    page.locator("#id_agent_ids").select_option([str(agents[0].pk)], force=True)
    page.locator("#id_hour").fill("9")
    page.locator("#id_recipients").fill("boss@example.com\nnobody")
    edit_schedule(Schedule.objects.get(), ACTOR, hour=8, name="Daily figures")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Another user has changed this meanwhile. Save again to set yours.")).to_be_visible()
    expect(page.get_by_text("This is no e-mail address: nobody.")).to_be_visible()
    page.locator("#id_recipients").fill("boss@example.com\ndeputy@example.com")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/reports/schedule/")

    schedule.refresh_from_db()
    assert (schedule.agent_ids, schedule.hour) == ([agents[0].pk], 9)
    assert (schedule.name, schedule.recipients) == ("Daily figures", ["boss@example.com", "deputy@example.com"])
    assert visit.trouble == []
