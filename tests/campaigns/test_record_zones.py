"""The zone of a record: of the campaign's field, else of the customer, else of the number."""

from typing import Any

import pytest

from campaigns.models import Campaign, Record
from campaigns.verbs.campaigns import edit_campaign
from campaigns.verbs.records import fill_zones
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.campaigns.import_files import import_text
from tests.conftest import ACTOR
from tests.tickets.factories import CustomerFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign():
    campaign: Campaign = CampaignFactory(code="SPR26", fields=["tz"])
    campaign.zone_field = campaign.fields.get()
    campaign.save()
    return campaign


def zones() -> dict[str, tuple[str, str]]:
    return {record.phone_number: (record.zone, record.calling_code) for record in Record.objects.order_by("id")}


@pytest.mark.parametrize(
    ("number", "fields", "expected"),
    [
        ("22 555 01 17", {}, ("Europe/Warsaw", "48")),
        ("+1 212 555 01 17", {}, ("America/New_York", "1")),
        ("+34 612 345 678", {}, ("Atlantic/Canary Europe/Madrid", "34")),
        ("101", {}, ("", "")),
        ("22 555 01 17", {"tz": "america/new_york"}, ("America/New_York", "48")),
        # No zone: not callable, rather than called at a wrong hour.
        ("22 555 01 17", {"tz": "New York"}, ("?", "48")),
        ("22 555 01 17", {"tz": ""}, ("Europe/Warsaw", "48")),
    ],
)
def test_a_new_record_gets_its_zone(api, campaign, number, fields, expected):
    path = "/api/outbounds/SPR26/records"
    assert api.post(path, {"phone_number": number, "record_fields": fields}).status_code == 201

    assert zones() == {number: expected}


def test_an_edit_of_the_field_changes_the_zone(api, campaign):
    api.post("/api/outbounds/SPR26/records", {"phone_number": "+48225550117"})

    api.put("/api/outbounds/SPR26/records/+48225550117", {"record_fields": {"tz": "Asia/Tokyo"}})
    assert zones() == {"+48225550117": ("Asia/Tokyo", "48")}

    batch = {"records": [{"phone_number": "+48225550117", "record_fields": {"tz": ""}}]}
    api.put("/api/batch/outbounds/SPR26/records", batch)
    assert zones() == {"+48225550117": ("Europe/Warsaw", "48")}


def test_an_edit_that_changes_nothing_writes_nothing(api, campaign):
    record = RecordFactory(campaign=campaign, zone="", calling_code="", order=5)

    api.put(f"/api/outbounds/SPR26/records/{record.number}", {"order": 5})

    assert not record.history.exists()


def test_a_record_of_a_customer_gets_the_zone_of_the_customer_and_keeps_it(api):
    CampaignFactory(code="CRM26", crm=True)
    CustomerFactory(phone_numbers=["+48225550117"], time_zone="Asia/Tokyo")
    CustomerFactory(phone_numbers=["+48225550118"])
    records = "/api/outbounds/CRM26/records"

    api.post(records, {"phone_number": "22 555 01 17"})
    api.post(f"/api/batch{records[4:]}", {"records": [{"phone_number": f"+4822555011{n}"} for n in (8, 9)]})
    api.put(f"{records}/+48225550117", {"order": 5})

    assert zones() == {
        "22 555 01 17": ("Asia/Tokyo", "48"),
        "+48225550118": ("Europe/Warsaw", "48"),
        "+48225550119": ("Europe/Warsaw", "48"),
    }


def test_zones_are_computed_anew_when_the_campaign_names_another_field(campaign):
    key = str(campaign.zone_field_id)
    tokyo = RecordFactory(campaign=campaign, zone="Europe/Warsaw", fields={key: "Asia/Tokyo"})
    old = RecordFactory(campaign=campaign, zone="", calling_code="")
    right = RecordFactory(campaign=campaign)

    assert fill_zones(campaign) == 2

    assert zones() == {
        tokyo.phone_number: ("Asia/Tokyo", "48"),
        old.phone_number: ("Europe/Warsaw", "48"),
        right.phone_number: ("Europe/Warsaw", "48"),
    }


def test_the_change_of_the_field_starts_the_task(campaign, monkeypatch, django_capture_on_commit_callbacks):
    sent: list[Any] = []
    monkeypatch.setattr("campaigns.verbs.campaigns.enqueue", lambda *task: sent.append(task))

    edit_campaign(campaign, ACTOR, name="Other")
    edit_campaign(campaign, ACTOR, zone_field=None)

    assert sent == [("campaigns.fill_zones", campaign.pk)]


def test_an_import_reads_the_zone_of_each_row(campaign):
    import_text(campaign, "phone_number,tz\n+48225550117,\n+48225550118,Asia/Tokyo\n+12125550117,nowhere\n")

    assert zones() == {
        "+48225550117": ("Europe/Warsaw", "48"),
        "+48225550118": ("Asia/Tokyo", "48"),
        "+12125550117": ("?", "1"),
    }


def test_an_import_reads_the_zones_of_customers():
    CustomerFactory(phone_numbers=["+48225550117"], time_zone="Asia/Tokyo")

    import_text(CampaignFactory(crm=True), "phone_number\n+48225550117\n+48225550118\n")

    assert zones() == {"+48225550117": ("Asia/Tokyo", "48"), "+48225550118": ("Europe/Warsaw", "48")}
