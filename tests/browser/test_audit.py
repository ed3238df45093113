"""The audit log in a real Chromium: who changed a campaign, by a page and by the API."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.campaigns.factories import CampaignFactory
from tests.conftest import ApiClient

pytestmark = pytest.mark.usefixtures("plain_static")


def test_log_names_who_changed_a_campaign_by_page_and_by_api(visit: Visit, api: ApiClient) -> None:
    campaign = CampaignFactory(name="Spring", wrap_up_seconds=30)
    page = visit.open(f"/admin/campaigns/campaign/{campaign.pk}/change/")
    page.locator("#tabs-items a").filter(has_text="Dialler").click()
    page.locator("#id_wrap_up_seconds").fill("45")
    page.locator("#id_wrap_up_seconds").press("Enter")
    page.wait_for_load_state()
    api.put(f"/api/outbounds/{campaign.code}", {"name": "Summer"}, REMOTE_ADDR="192.0.2.7")

    page.goto(page.url.split("/admin/")[0] + f"/admin/campaigns/campaign/{campaign.pk}/history/")

    rows = page.locator("#result_list tbody tr")
    expect(rows.nth(0)).to_contain_text("name: Spring → Summer")
    expect(rows.nth(0)).to_contain_text("API user")
    expect(rows.nth(0)).to_contain_text("192.0.2.7")
    expect(rows.nth(1)).to_contain_text("30 → 45")
    expect(rows.nth(1)).to_contain_text("127.0.0.1")
