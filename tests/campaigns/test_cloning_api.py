"""Campaigns cloned over HTTP."""

from datetime import date
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.errors import ErrorCode
from campaigns.models import Campaign
from campaigns.verbs.campaigns import clone_campaign
from tests.campaigns.api_calls import faults, shown
from tests.campaigns.factories import (
    CampaignFactory,
    CampaignFieldFactory,
    CampaignGroupFactory,
    RecordFactory,
    RecordStatusFactory,
)
from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


def test_a_clone_copies_settings_parameters_group_fields_statuses_and_agents(api: ApiClient) -> None:
    source = CampaignFactory(
        code="DEMO1",
        dialer="predictive",
        is_active=False,
        order=7,
        parity=8,
        group_id=CampaignGroupFactory().pk,
        caller_id="101",
        preview_timeout=30,
    )
    CampaignFieldFactory(campaign=source, name="zip", order=2)
    CampaignFieldFactory(campaign=source, name="city", order=1)
    RecordStatusFactory(campaign=source, name="Own", order=1)
    source.agents.add(AgentFactory(login="anna"))
    RecordFactory(campaign=source)

    response = api.post("/api/outbounds/DEMO1/clone", {"new_id": "CLONE", "name": "Copy"})

    assert (response.status_code, response.json()) == (201, {"id": "CLONE"})
    same = {"id": "", "outbound_id": "", "name": ""}
    assert shown(api, "CLONE") | same == shown(api, "DEMO1") | same
    assert shown(api, "CLONE")["fields"] == ["city", "zip"]
    assert [agent["login"] for agent in api.get("/api/outbounds/CLONE/agents").json()] == ["anna"]
    statuses = [
        [{**status, "status_id": 0} for status in api.get(f"/api/outbounds/{code}/statuses").json()]
        for code in ("DEMO1", "CLONE")
    ]
    assert statuses[0] == statuses[1]
    assert not Campaign.objects.get(code="CLONE").records.exists()


def test_a_clone_has_each_setting_of_its_source(settings: Any) -> None:
    settings.SWITCH_BACKEND = "simulated"
    own = {"id", "code", "name", "created_at", "updated_at", "start_date", "end_date", "is_dialling"}
    # They are copied with rows or files of the clone's own.
    copied = {"zone_field", "drop_message"}
    values = {
        "dialer": "preview",
        "is_crm": True,
        "is_active": False,
        "order": 7,
        "parity": 8,
        "group": CampaignGroupFactory(),
        "caller_id": "101",
        "preview_timeout": 30,
        "predictive_min_calls": 1.5,
        "predictive_max_calls": 2.5,
        "wrap_up_seconds": 12,
        "number_turn": "outcome",
        "preview_end": "dial",
        "holiday_country": "PL",
        "ignores_hours": True,
        "detects_machines": True,
        "script": "Good morning.",
    }
    assert {field.name for field in Campaign._meta.concrete_fields} == own | copied | values.keys()

    clone = clone_campaign(CampaignFactory(**values), ACTOR, name="Copy")

    assert {name: getattr(clone, name) for name in values} == values


def test_a_clone_has_statuses_of_its_own(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1")

    api.post("/api/outbounds/DEMO1/clone", {"new_id": "CLONE", "name": "Copy"})

    ids = [
        {status["status_id"] for status in api.get(f"/api/outbounds/{code}/statuses").json()}
        for code in ("DEMO1", "CLONE")
    ]
    assert ids[0].isdisjoint(ids[1])


def test_given_parameters_of_a_clone_override_its_source(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", caller_id="101", preview_timeout=30)

    api.post("/api/outbounds/DEMO1/clone", {"new_id": "CLONE", "name": "Copy", "parameters": {"preview_timeout": 60}})

    assert shown(api, "CLONE")["parameters"] == {"caller_id": "101", "preview_timeout": 60}


def test_an_empty_parameter_of_a_clone_overrides_its_source(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", caller_id="101", preview_timeout=30, predictive_max_calls=2, predictive_min_calls=1)
    empty = {"caller_id": "", "preview_timeout": "", "predictive_max_calls": "", "predictive_min_calls": None}

    api.post("/api/outbounds/DEMO1/clone", {"new_id": "CLONE", "name": "Copy", "parameters": empty})

    assert shown(api, "CLONE")["parameters"] == {"predictive_min_calls": 1}


def test_a_clone_does_not_copy_dates(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", start_date=date(2020, 1, 1), end_date=date(2020, 2, 1))

    api.post("/api/outbounds/DEMO1/clone", {"new_id": "CLONE", "name": "Copy"})

    body = shown(api, "CLONE")
    assert (body["start_date"], body["end_date"]) == (timezone.localdate().isoformat(), "")


def test_ratios_of_a_clone_are_checked_with_those_of_its_source(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", predictive_max_calls=2)

    response = api.post(
        "/api/outbounds/DEMO1/clone",
        {"new_id": "DEMO1", "name": "", "end_date": "2000-01-01", "parameters": {"predictive_min_calls": 3}},
    )

    assert faults(response) == {
        ("new_id", ErrorCode.CAMPAIGN_ID_TAKEN.number),
        ("name", ErrorCode.EMPTY.number),
        ("end_date", ErrorCode.END_BEFORE_START.number),
        ("parameters.predictive_min_calls", ErrorCode.RATIOS_CROSSED.number),
    }
