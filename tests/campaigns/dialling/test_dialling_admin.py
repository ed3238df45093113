"""The pages of dialling in the admin: of a campaign, of compliance, and the switch of all dialling."""

import csv
import io
import re
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, DiallingSwitch
from tests.backoffice import messages_of, page_of, staff, superuser
from tests.campaigns.factories import (
    AttemptFactory,
    CampaignFactory,
    DiallerStateFactory,
    DiallingDayFactory,
    LegalHoursFactory,
    RecordFactory,
    RecordOfferFactory,
)
from tests.statements import few_statements
from tests.telephony.factories import ConnectionFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "counted_again")]

COMPLIANCE = reverse("admin:campaigns_campaign_compliance")
DOWNLOAD = reverse("admin:campaigns_campaign_compliance_download")
SWITCHES = reverse("admin:campaigns_diallingswitch_changelist")


def page(campaign: Campaign) -> str:
    return page_of(campaign, "dialling")


def dialled(campaign: Campaign) -> Campaign:
    DiallerStateFactory(campaign=campaign, state="dialling", pace={"lines_per_agent": 1.4})
    return campaign


# The page of a campaign


def test_the_page_shows_why_nothing_is_dialled_or_the_pace_and_the_records():
    campaign, client = CampaignFactory(is_dialling=True), superuser()
    assert "No dialler process is running." in client.page(page(campaign))
    RecordFactory.create_batch(3, campaign=campaign)

    shown = client.page(page(dialled(campaign)))

    assert "Calls are placed." in shown
    assert "1.4" in shown
    assert '<span class="cc-number">3</span><span>records to call</span>' in shown
    assert "<dd><b>3</b> to be called</dd>" in shown


def test_the_charts_have_a_column_for_each_minute_and_day_with_calls():
    campaign = dialled(CampaignFactory(is_dialling=True))
    record = RecordFactory(campaign=campaign)
    now = timezone.now()
    for minutes, outcome in ((1, "answered"), (1, "busy"), (30, "dropped"), (90, "answered")):
        dialled_at = now - timedelta(minutes=minutes, seconds=5)
        AttemptFactory(record=record, dialled_at=dialled_at, ended_at=now, outcome=outcome)
    DiallingDayFactory(campaign=campaign, attempts=40, live_answers=20, drops=1)

    shown = superuser().page(page(campaign))

    assert shown.count("<rect") == 3 + 3
    assert ": 1 dropped</title>" in shown
    assert ": 20 not answered</title>" in shown


def test_the_page_costs_the_same_with_more_records():
    client = superuser()
    small, large = dialled(CampaignFactory(is_dialling=True)), dialled(CampaignFactory(is_dialling=True))
    RecordFactory.create_batch(10, campaign=large)
    client.page(page(small))

    for campaign in (small, large):
        with few_statements(15):
            client.page(page(campaign))


@pytest.mark.parametrize(
    ("switch", "is_dialling", "offered"),
    [("start", True, {"start", "stop"}), ("pause", False, {"pause", "stop"}), ("stop", False, {"pause", "stop"})],
)
def test_the_buttons_that_change_something_are_offered_and_switch_the_dialling(switch, is_dialling, offered):
    campaign, client = CampaignFactory(is_dialling=not is_dialling), superuser()
    html = client.page(page(campaign))

    response = client.post(page(campaign), {"switch": switch})

    assert set(re.findall(r'name="switch" value="(\w+)"', html)) == offered
    campaign.refresh_from_db()
    assert campaign.is_dialling == is_dialling
    assert messages_of(response)
    row = DiallingSwitch.objects.get()
    assert (row.campaign, row.action, row.actor_kind) == (campaign, switch, "user")


def test_people_who_may_only_view_get_no_buttons():
    campaign = CampaignFactory(is_dialling=True)
    viewer = staff("view_campaign")

    assert 'name="switch"' not in viewer.page(page(campaign))
    assert viewer.post(page(campaign), {"switch": "pause"}).status_code == 403
    assert Campaign.objects.get().is_dialling


def test_new_campaigns_of_the_admin_and_clones_are_paused():
    superuser().submit(reverse("admin:campaigns_campaign_add"), name="Spring", dialer="progressive")

    assert not Campaign.objects.get().is_dialling


def test_the_form_has_the_settings_of_dialling_and_the_marks_of_statuses():
    campaign = CampaignFactory()

    marks = {"statuses-0-is_success": "on", "statuses-1-is_wrong_number": "on"}
    superuser().submit(page_of(campaign), wrap_up_seconds=45, preview_end="dial", detects_machines="on", **marks)

    campaign.refresh_from_db()
    assert (campaign.wrap_up_seconds, campaign.preview_end, campaign.detects_machines) == (45, "dial", True)
    first, second = campaign.statuses.all()[:2]
    assert (first.is_success, second.is_wrong_number) == (True, True)


def rows_of(response) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))


def test_compliance_shows_drop_rates_of_30_days():
    high, low = CampaignFactory(name="High"), CampaignFactory(name="Low")
    day = timezone.localdate()
    DiallingDayFactory(campaign=high, day=day, attempts=200, live_answers=100, drops=4)
    DiallingDayFactory(campaign=high, day=day - timedelta(days=29), attempts=200, live_answers=100, drops=0)
    DiallingDayFactory(campaign=high, day=day - timedelta(days=30), attempts=99, live_answers=99, drops=99)
    DiallingDayFactory(campaign=low, day=day, attempts=50, live_answers=20)

    shown = superuser().page(COMPLIANCE)
    of_one = superuser().page(f"{COMPLIANCE}?campaign={high.pk}")

    assert '<span class="cc-number">450</span><span>calls</span>' in shown
    assert '<span class="cc-number">1.82 %</span>' in shown
    assert shown.index("High") < shown.index("Low")
    assert '<span class="cc-number">2 %</span>' in of_one
    assert "Low" not in of_one
    assert '<span class="cc-warning">4 %</span>' in of_one


def test_the_figures_of_compliance_can_be_downloaded():
    campaign = CampaignFactory(name="=High")
    day = timezone.localdate()
    DiallingDayFactory(campaign=campaign, day=day, attempts=200, live_answers=100, drops=4, machines=7)

    (row,) = rows_of(superuser().get(DOWNLOAD))

    counts = {"attempts": "200", "live_answers": "100", "drops": "4", "drop_rate_percent": "4.0", "machines": "7"}
    named = {"outbound_id": campaign.code, "name": "'=High", "day": day.isoformat()}
    assert row == named | counts | {"outside_legal_hours": "0"}


def test_calls_outside_legal_hours_are_counted_from_the_attempts():
    LegalHoursFactory(prefix="48", begins_at="09:00", ends_at="20:00")
    campaign = CampaignFactory()
    yesterday = timezone.localdate() - timedelta(days=1)
    warsaw = "Europe/Warsaw"
    for hour, zone in ((10, warsaw), (8, warsaw), (9, "Europe/London"), (10, f"{warsaw} Asia/Tokyo")):
        at = datetime.combine(yesterday, time(hour, 30), ZoneInfo(warsaw))
        record = RecordFactory(campaign=campaign)
        AttemptFactory(record=record, zone=zone, dialled_at=at, ended_at=at, outcome="busy")
    foreign = {"record": RecordFactory(campaign=campaign, phone_number="+12125550100"), "zone": "America/New_York"}
    AttemptFactory(dialled_at=at, ended_at=at, outcome="not_dialled", connection=ConnectionFactory(), **foreign)

    (row,) = rows_of(superuser().get(DOWNLOAD))

    # 8:30 in Warsaw, 8:30 in London; 10:30 in Warsaw is 17:30 or 18:30 in Tokyo.
    assert row["outside_legal_hours"] == "2"


def test_all_dialling_is_switched_with_a_reason():
    client = superuser()

    client.submit(reverse("admin:campaigns_diallingswitch_add"), reason="Fire drill")

    row = DiallingSwitch.objects.get()
    assert (row.is_running, row.reason, row.actor_kind, row.campaign) == (False, "Fire drill", "user", None)
    assert "All dialling is switched off." in client.page(SWITCHES)
    client.submit(reverse("admin:campaigns_diallingswitch_add"), is_running="on")
    assert "Calls of campaigns are placed." in client.page(SWITCHES)


def test_offered_records_are_listed():
    offer = RecordOfferFactory()

    shown = superuser().page(reverse("admin:campaigns_recordoffer_changelist"))

    assert offer.agent.login in shown
    assert "open" in shown
