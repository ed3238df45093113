"""Campaigns in the admin: front page, list, permissions, groups, dictionary statuses."""

import re
from datetime import date, timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from campaigns import progress
from campaigns.models import CampaignGroup, DictionaryStatus, SystemStatus
from tests.backoffice import shown, superuser
from tests.campaigns.factories import CampaignFactory, CampaignGroupFactory, RecordFactory, RecordImportFactory
from tests.statements import few_statements

INDEX = reverse("admin:index")
LIST = reverse("admin:campaigns_campaign_changelist")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "counted_again")]


def test_the_front_page_shows_progress_of_active_campaigns_and_the_time_of_counting(time_machine):
    time_machine.move_to("2026-11-21 12:30:15+00:00", tick=False)
    campaign = CampaignFactory(name="Spring offer")
    CampaignFactory(name="Over and done", is_active=False)
    RecordFactory.create_batch(3, campaign=campaign)
    RecordFactory(campaign=campaign, system_status=SystemStatus.NO_CALL)

    page = superuser().page(INDEX)

    assert "Spring offer" in page
    assert "Over and done" not in page
    assert "Records counted at 13:30:15" in page
    assert "25 %" in page


def test_queries_of_the_front_page_do_not_grow_with_campaigns():
    for campaign in CampaignFactory.create_batch(30):
        RecordFactory(campaign=campaign)
        RecordImportFactory(campaign=campaign)
    client = superuser()

    # Records are counted at most once in thirty seconds.
    for statements in (28, 26):
        with few_statements(statements):
            client.page(INDEX)


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        ({"start_date": 3}, "starts on"),
        ({"start_date": -3, "end_date": 0}, "no records"),
        ({"start_date": -3, "end_date": -1}, "ended on"),
    ],
)
def test_the_front_page_shows_why_an_active_campaign_is_not_dialled(values, warning):
    CampaignFactory(**{name: timezone.localdate() + timedelta(days=days) for name, days in values.items()})

    assert warning in superuser().page(INDEX)


def test_the_list_keeps_dates_on_one_line_and_groups_digits():
    campaign = CampaignFactory(start_date=date(2026, 11, 2), end_date=date(2026, 12, 18))
    CampaignFactory(start_date=date(2026, 11, 3))
    cache.set(progress.KEY, progress.Snapshot(timezone.now(), {campaign.pk: progress.Progress(total=1200)}))

    page = superuser().page(LIST)

    assert '<span class="cc-day">2026-11-02</span> – <span class="cc-day">2026-12-18</span>' in page
    assert '<span class="cc-day">2026-11-03</span> – <span class="cc-day">…</span>' in page
    assert "1,200" in page


@pytest.mark.parametrize(
    ("when", "expected"), [("now", "Now"), ("future", "Future"), ("over", "Over"), ("inactive", "Inactive")]
)
def test_filter_campaigns_by_their_dates(when, expected):
    today = timezone.localdate()
    CampaignFactory(name="It is Now")
    CampaignFactory(name="It is Future", start_date=today + timedelta(days=1))
    CampaignFactory(name="It is Over", start_date=today - timedelta(days=9), end_date=today - timedelta(days=1))
    CampaignFactory(name="It is Inactive", is_active=False)

    page = superuser().page(LIST, running=when)

    assert [name for name in ("Now", "Future", "Over", "Inactive") if f"It is {name}" in page] == [expected]


def test_a_campaign_is_found_by_its_id():
    campaigns = [CampaignFactory(code=code) for code in ("SPRNG", "AUTMN")]

    assert shown(superuser().page(LIST, q="sprng"), *campaigns) == campaigns[:1]


def test_groups_with_the_same_name_are_listed_with_their_ids():
    client = superuser()

    for _ in range(2):
        client.submit(reverse("admin:campaigns_campaigngroup_add"), name="Spring")

    page = client.page(reverse("admin:campaigns_campaigngroup_changelist"))
    ids = set(CampaignGroup.objects.filter(name="Spring").values_list("pk", flat=True))
    assert len(ids) == 2
    assert {int(number) for number in re.findall(r'class="field-id[^>]*>\s*(\d+)\s*<', page)} == ids


def test_deleting_a_group_keeps_its_campaigns():
    campaign = CampaignFactory(group=CampaignGroupFactory())

    superuser().post(reverse("admin:campaigns_campaigngroup_delete", args=[campaign.group_id]), {"post": "yes"})

    campaign.refresh_from_db()
    assert campaign.group is None


def test_renaming_a_dictionary_status_keeps_its_system_status():
    status = DictionaryStatus.objects.get(system_status=SystemStatus.NO_CALL, key="")

    superuser().submit(
        reverse("admin:campaigns_dictionarystatus_change", args=[status.pk]), name="Never", system_status="TO_CALL"
    )

    status.refresh_from_db()
    assert (status.name, status.system_status) == ("Never", SystemStatus.NO_CALL)
