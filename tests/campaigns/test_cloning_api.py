"""Campaigns cloned over HTTP and by the verb."""

from datetime import date, time
from typing import Any

import pytest
from django.db import models
from django.utils import timezone

from callcentre.core.errors import ErrorCode as E
from campaigns.models import Campaign, CampaignField, CampaignHours, RecordStatus, RetryRule
from campaigns.verbs.campaigns import _OWN, clone_campaign
from tests.campaigns.api_calls import CAMPAIGN, faults, shown
from tests.campaigns.factories import CampaignFactory, CampaignFieldFactory, CampaignGroupFactory, RecordFactory
from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


def clone(api: ApiClient, **parameters: Any) -> Any:
    """Clone DEMO1 as CLONE and return the answer."""
    return api.post(f"{CAMPAIGN}/clone", {"new_id": "CLONE", "name": "Copy", "parameters": parameters})


def test_a_clone_copies_settings_parameters_group_fields_statuses_and_agents_and_no_dates(api: ApiClient) -> None:
    dates = {"start_date": date(2020, 1, 1), "end_date": date(2020, 2, 1)}
    values = {"dialer": "predictive", "is_active": False, "order": 7, "parity": 8, "caller_id": "101", **dates}
    source = CampaignFactory(code="DEMO1", group_id=CampaignGroupFactory().pk, preview_timeout=30, **values)
    CampaignFieldFactory(campaign=source, name="zip", order=2)
    CampaignFieldFactory(campaign=source, name="city", order=1)
    source.agents.add(AgentFactory(login="anna"))
    RecordFactory(campaign=source)

    response = clone(api)

    assert (response.status_code, response.json()) == (201, {"id": "CLONE"})
    own = {"id": "CLONE", "outbound_id": "CLONE", "name": "Copy"}
    own |= {"start_date": timezone.localdate().isoformat(), "end_date": "", "dialing": "paused"}
    assert shown(api, "CLONE") == shown(api) | own
    assert shown(api, "CLONE")["fields"] == ["city", "zip"]
    assert [agent["login"] for agent in api.get("/api/outbounds/CLONE/agents").json()] == ["anna"]
    old, new = (api.get(f"/api/outbounds/{code}/statuses").json() for code in ("DEMO1", "CLONE"))
    assert {status.pop("status_id") for status in old}.isdisjoint({status.pop("status_id") for status in new})
    assert old == new
    assert not Campaign.objects.get(code="CLONE").records.exists()


def values_of(row: models.Model, *but: str) -> dict[str, Any]:
    columns = [field.attname for field in row._meta.concrete_fields if not field.primary_key]
    return {name: getattr(row, name) for name in columns if name not in but}


def test_a_clone_takes_over_each_column_of_its_source_unless_a_list_says_not(settings: Any) -> None:
    settings.SWITCH_BACKEND = "simulated"
    values = {"dialer": "preview", "is_crm": True, "is_active": False, "order": 7, "parity": 8, "caller_id": "101"}
    values |= {"preview_timeout": 30, "predictive_min_calls": 1.5, "predictive_max_calls": 2.5, "wrap_up_seconds": 12}
    values |= {"number_turn": "outcome", "preview_end": "dial", "holiday_country": "PL", "ignores_hours": True}
    values |= {"detects_machines": True, "script": "Good morning.", "group_id": CampaignGroupFactory().pk}
    assert {field.attname for field in Campaign._meta.concrete_fields} == _OWN | values.keys()
    made = CampaignFactory(**values)
    CampaignField.objects.create(campaign=made, name="city", order=7)
    CampaignHours.objects.create(campaign=made, weekday=3, begins_at=time(9), ends_at=time(17))
    marks = {"is_success": True, "is_wrong_number": True}
    RecordStatus.objects.create(campaign=made, name="Bad number", system_status="NO_CALL", order=9, **marks)
    RetryRule.objects.create(campaign=made, outcome="busy", delay_seconds=60, is_multiplied=True, most_attempts=4)
    source = Campaign.objects.get(pk=made.pk)

    copy = Campaign.objects.get(pk=clone_campaign(source, ACTOR, name="Clone").pk)

    assert values_of(copy, *_OWN) == values_of(source, *_OWN) == values
    for model, own in (
        (CampaignField, {}),
        (CampaignHours, {}),
        (RetryRule, {}),
        (RecordStatus, {"name": "Bad number"}),
    ):
        one, other = (model.objects.get(campaign=campaign, **own) for campaign in (source, copy))
        assert values_of(one, "campaign_id") == values_of(other, "campaign_id")


def test_given_parameters_of_a_clone_override_its_source(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", caller_id="101", preview_timeout=30)

    clone(api, preview_timeout=60)

    assert shown(api, "CLONE")["parameters"] == {"caller_id": "101", "preview_timeout": 60}


def test_an_empty_parameter_of_a_clone_overrides_its_source(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", caller_id="101", preview_timeout=30, predictive_max_calls=2, predictive_min_calls=1)

    clone(api, caller_id="", preview_timeout="", predictive_max_calls="", predictive_min_calls=None)

    assert shown(api, "CLONE")["parameters"] == {"predictive_min_calls": 1}


def test_ratios_of_a_clone_are_checked_with_those_of_its_source(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", predictive_max_calls=2)
    wrong = {"new_id": "DEMO1", "name": "", "end_date": "2000-01-01", "parameters": {"predictive_min_calls": 3}}

    assert faults(api.post(f"{CAMPAIGN}/clone", wrong)) == {
        ("new_id", E.CAMPAIGN_ID_TAKEN),
        ("name", E.EMPTY),
        ("end_date", E.END_BEFORE_START),
        ("parameters.predictive_min_calls", E.RATIOS_CROSSED),
    }
