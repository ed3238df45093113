"""Campaigns, their clones and their groups over HTTP."""

from datetime import date, time, timedelta
from typing import Any

import pytest
from django.db import models
from django.utils import timezone

from callcentre.core.errors import ErrorCode as E
from campaigns.models import (
    Campaign,
    CampaignField,
    CampaignGroup,
    CampaignHours,
    DictionaryStatus,
    RecordStatus,
    RetryRule,
)
from campaigns.verbs.campaigns import _OWN, clone_campaign
from tests.campaigns.api_calls import CAMPAIGN, faults, shown
from tests.campaigns.factories import CampaignFactory, CampaignFieldFactory, CampaignGroupFactory, RecordFactory
from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db
CROSSED = {"predictive_min_calls": 3, "predictive_max_calls": 2}


def create(api: ApiClient, **values: Any) -> Any:
    return api.post("/api/outbounds", {"name": "New", "dialer": "preview", "crm": False, **values})


# Creating


def test_create_with_required_values_sets_defaults(api):
    assert create(api).json() == {"id": "00001", "outbound_id": "00001"}

    expected = {"id": "00001", "outbound_id": "00001", "name": "New", "dialer": "preview", "crm": False, "active": True}
    expected |= {"dialing": "running", "start_date": timezone.localdate().isoformat(), "end_date": "", "order": 50}
    assert shown(api, "00001") == expected | {"parity": 50, "parameters": {}, "group_id": None, "fields": []}


def test_create_with_all_values(api):
    parameters = {"caller_id": "+48 22 5550100", "preview_timeout": 3600, "predictive_max_calls": 100}
    values = {"id": "Ab1zZ", "name": "Żółty", "dialer": "predictive", "crm": True, "active": False}
    values |= {"start_date": "2030-01-01", "end_date": "2030-01-01", "order": 99_999, "parity": 100}
    values |= {"parameters": parameters | {"predictive_min_calls": 0.5}, "group_id": CampaignGroupFactory().pk}

    assert create(api, **values).status_code == 201

    assert shown(api, "Ab1zZ") == {**values, "outbound_id": "Ab1zZ", "dialing": "running", "fields": []}


def test_a_missing_id_becomes_the_lowest_free_number(api):
    for code in ("00001", "00003", "ABCDE", "0000a"):
        CampaignFactory(code=code)

    assert [create(api).json()["id"] for _ in range(3)] == ["00002", "00004", "00005"]


def test_ids_are_case_sensitive(api, campaign):
    assert create(api, id="demo1").status_code == 201


@pytest.mark.parametrize(
    ("values", "field", "code"),
    [
        *(
            ({"id": code}, "id", E.CAMPAIGN_ID_MALFORMED)
            for code in ("1234", "12 45", "12-45", "ąbcde", "12.45", "١٢٣٤٥")
        ),
        ({"id": "123456"}, "id", E.TOO_LONG),
        ({"id": "DEMO1"}, "id", E.CAMPAIGN_ID_TAKEN),
        ({"start_date": "2030-01-02", "end_date": "2030-01-01"}, "end_date", E.END_BEFORE_START),
        ({"end_date": (timezone.localdate() - timedelta(days=1)).isoformat()}, "end_date", E.END_BEFORE_START),
        # A value that cannot be read has no second fault.
        ({"start_date": "soon", "end_date": "2000-01-01"}, "start_date", E.NOT_DATE),
        *(({"group_id": pk}, "group_id", E.GROUP_NOT_FOUND) for pk in (999_999, 0, -1, "9" * 30)),
        ({"fields": ["city"], "crm": True}, "fields", E.FIELDS_IN_CRM),
        ({"fields": "city"}, "fields", E.NOT_LIST),
        ({"fields": ["city", ""]}, "fields.1", E.EMPTY),
        ({"fields": ["x" * 101]}, "fields.0", E.TOO_LONG),
        ({"fields": [[1]]}, "fields.0", E.NOT_TEXT),
        ({"parameters": {"colour": "red"}}, "parameters.colour", E.PARAMETER_UNKNOWN),
        *(({"parameters": {"preview_timeout": t}}, "parameters.preview_timeout", E.OUT_OF_RANGE) for t in (0, 3601)),
        *(({"parameters": {"preview_timeout": t}}, "parameters.preview_timeout", E.NOT_INTEGER) for t in ("soon", 1.5)),
        ({"parameters": {"predictive_max_calls": 100.01}}, "parameters.predictive_max_calls", E.OUT_OF_RANGE),
        ({"parameters": {"predictive_max_calls": "many"}}, "parameters.predictive_max_calls", E.NOT_NUMBER),
        ({"parameters": {"predictive_min_calls": -0.01}}, "parameters.predictive_min_calls", E.OUT_OF_RANGE),
        ({"parameters": CROSSED}, "parameters.predictive_min_calls", E.RATIOS_CROSSED),
        ({"parameters": {"caller_id": "x" * 41}}, "parameters.caller_id", E.TOO_LONG),
        ({"parameters": {"caller_id": {}}}, "parameters.caller_id", E.NOT_TEXT),
        ({"parameters": {"caller_id": "our shop"}}, "parameters.caller_id", E.PHONE_LETTERS),
    ],
)
def test_a_wrong_value_of_a_new_campaign_is_refused_with_one_fault(values, field, code, api, campaign):
    assert faults(create(api, **values)) == {(field, code)}
    assert Campaign.objects.get() == campaign
    assert CampaignField.objects.count() == 2


def test_a_wrong_caller_id_is_named_with_all_other_faults(api, campaign):
    Campaign.objects.update(caller_id="our shop")
    given = {"end_date": "2001-01-01", "start_date": "2001-01-02", "parameters": {"caller_id": "shop"}}
    wrong = {("parameters.caller_id", E.PHONE_LETTERS), ("end_date", E.END_BEFORE_START)}

    assert faults(create(api, **given)) == wrong
    assert faults(api.put(CAMPAIGN, given)) == wrong
    assert faults(api.post(f"{CAMPAIGN}/clone", {"name": "Copy", **given})) == wrong
    # One from before the rule stays until it is changed.
    assert api.put(CAMPAIGN, {"name": "Renamed"}).status_code == 204


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (None, {}),
        ({}, {}),
        ([], {}),
        ({"caller_id": None, "preview_timeout": ""}, {}),
        (
            {"preview_timeout": "30", "predictive_max_calls": "2.5", "caller_id": 225550100},
            {"preview_timeout": 30, "predictive_max_calls": 2.5, "caller_id": "225550100"},
        ),
    ],
)
def test_parameters_may_be_empty_or_strings(given, stored, api):
    assert create(api, parameters=given).status_code == 201
    assert shown(api, "00001")["parameters"] == stored


def test_an_unreadable_value_of_an_edit_or_a_clone_has_no_second_fault(api):
    CampaignFactory(code="DEMO1", end_date=date(2035, 1, 1), predictive_max_calls=2)
    dates = {"start_date": "soon", "end_date": "2000-01-01"}
    unread = {"predictive_max_calls": "many", "predictive_min_calls": 3}

    assert faults(api.put(CAMPAIGN, dates)) == {("start_date", E.NOT_DATE)}
    assert faults(api.post(f"{CAMPAIGN}/clone", {"name": "A", **dates})) == {("start_date", E.NOT_DATE)}
    wrong = faults(api.post(f"{CAMPAIGN}/clone", {"name": "A", "parameters": unread}))
    assert wrong == {("parameters.predictive_max_calls", E.NOT_NUMBER)}


def test_a_new_campaign_has_one_status_for_each_entry_of_the_dictionary(api, campaign):
    statuses = api.get(f"{CAMPAIGN}/statuses").json()

    found = [(status["dictionary_status_id"], status["system_status"]) for status in statuses]
    assert found == list(DictionaryStatus.objects.values_list("id", "system_status"))


# Editing


def test_fields_are_made_by_post_added_by_put_and_never_removed(api):
    code = create(api, fields=["city", "name", "city"]).json()["id"]
    api.post(f"/api/outbounds/{code}/records", {"phone_number": "22 555 0411", "record_fields": {"city": "Gdańsk"}})

    answers = [api.put(f"/api/outbounds/{code}", {"fields": names}) for names in (["zip", "name"], [], None)]

    assert [answer.status_code for answer in answers] == [204] * 3
    assert shown(api, code)["fields"] == ["city", "name", "zip"]
    (record,) = api.get(f"/api/outbounds/{code}/records").json()["result"]
    assert record["record_fields"] == {"city": "Gdańsk", "name": "", "zip": ""}


def test_a_campaign_that_became_crm_gets_no_new_fields_and_its_own_may_be_sent_back(api, campaign):
    api.put(CAMPAIGN, {"crm": True})

    assert api.put(CAMPAIGN, {"fields": ["city"], "name": "Known"}).status_code == 204
    assert faults(api.put(CAMPAIGN, {"fields": ["zip"]})) == {("fields", E.FIELDS_IN_CRM)}
    assert CampaignField.objects.count() == 2


def test_an_edit_changes_given_values_and_ignores_null_and_the_id(api):
    CampaignFactory(code="DEMO1", caller_id="101", preview_timeout=30, end_date=date(2035, 1, 1))
    before = shown(api)

    given = {"id": "DEMO2", "name": "Renamed", "parameters": {"caller_id": "102"}, "end_date": None}
    assert api.put(CAMPAIGN, given).status_code == 204

    assert shown(api) == before | {"name": "Renamed", "parameters": {"caller_id": "102", "preview_timeout": 30}}


def test_an_empty_string_clears_the_end_date_and_the_group(api):
    CampaignFactory(code="DEMO1", end_date=date(2035, 1, 1), group_id=CampaignGroupFactory().pk, caller_id="101")

    api.put(CAMPAIGN, {"end_date": "", "group_id": "", "parameters": {"caller_id": ""}})

    body = shown(api)
    assert (body["end_date"], body["group_id"], body["parameters"]) == ("", None, {})


@pytest.mark.parametrize("name", ["name", "dialer", "start_date", "order", "parity"])
def test_required_values_cannot_be_cleared(name, api, campaign):
    assert faults(api.put(CAMPAIGN, {name: ""})) == {(name, E.EMPTY)}


def test_an_edit_is_checked_with_the_unchanged_values(api):
    CampaignFactory(code="DEMO1", end_date=date(2035, 1, 1), predictive_min_calls=2)

    response = api.put(CAMPAIGN, {"start_date": "2035-01-02", "parameters": {"predictive_max_calls": 1}, "order": 0})

    ratios = ("parameters.predictive_min_calls", E.RATIOS_CROSSED)
    assert faults(response) == {("end_date", E.END_BEFORE_START), ratios, ("order", E.OUT_OF_RANGE)}


def test_agents_are_added_and_removed_any_number_of_times(api, campaign):
    for login in ("anna", "ewa", "piotr"):
        AgentFactory(login=login)
    found = []

    for action, logins in (
        *(("add_agents", ["anna"]), ("add_agents", ["anna", "piotr", "anna"])),
        # The second is not in the campaign.
        ("remove_agents", ["anna", "ewa"]),
    ):
        assert api.post(f"{CAMPAIGN}/{action}", {"logins": logins}).status_code == 204
        found.append(list(campaign.agents.values_list("login", flat=True)))

    assert found == [["anna"], ["anna", "piotr"], ["piotr"]]


@pytest.mark.parametrize("action", ["add_agents", "remove_agents"])
def test_all_unknown_logins_are_named_and_no_agent_changes(action, api, campaign):
    campaign.agents.add(AgentFactory(login="piotr"))
    AgentFactory(login="anna")

    response = api.post(f"{CAMPAIGN}/{action}", {"logins": ["anna", "nobody", "piotr", "no one"]})
    unread = api.post(f"{CAMPAIGN}/{action}", {"logins": ["nobody", None, {}, ["a"]]})

    assert faults(response) == {("logins", E.AGENTS_NOT_FOUND)}
    assert "nobody, no one" in response.json()["errors"][0]["message"]
    entries = {("logins.1", E.EMPTY), ("logins.2", E.NOT_TEXT), ("logins.3", E.NOT_TEXT)}
    assert faults(unread) == entries | {("logins", E.AGENTS_NOT_FOUND)}
    assert list(campaign.agents.values_list("login", flat=True)) == ["piotr"]


def test_groups_are_made_and_may_share_a_name(api):
    answers = [api.post("/api/outbound_groups", {"name": name}) for name in (" Sales ", "Sales")]

    made = [{"id": group.pk, "name": "Sales"} for group in CampaignGroup.objects.order_by("id")]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(201, one) for one in made]
    assert api.get("/api/outbound_groups").json() == made
    for name in ("", "x" * 101):
        assert {field for field, _ in faults(api.post("/api/outbound_groups", {"name": name}))} == {"name"}


def test_statistics_count_records_by_system_status(api, campaign):
    empty = api.get(f"{CAMPAIGN}/stats").json()
    for status, count in (("TO_CALL", 4), ("NO_CALL", 1), ("ABANDONED_AFTER_N_TRIES", 1)):
        RecordFactory.create_batch(count, campaign=campaign, system_status=status)

    body = api.get(f"{CAMPAIGN}/stats").json()

    assert (empty["records_count"], empty["completion_percent"], {*empty["by_system_status"].values()}) == (0, 0, {0})
    assert (body["id"], body["records_count"], body["completion_percent"]) == ("DEMO1", 6, 33.33)
    assert body["by_system_status"]["TO_CALL"] == 4
    assert len(body["by_system_status"]) == 8


# Cloning


def clone(api: ApiClient, **parameters: Any) -> Any:
    """Clone DEMO1 as CLONE and return the answer."""
    return api.post(f"{CAMPAIGN}/clone", {"new_id": "CLONE", "name": "Copy", "parameters": parameters})


def test_a_clone_copies_settings_parameters_group_fields_statuses_and_agents_and_no_dates(api):
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


def test_a_clone_takes_over_each_column_of_its_source_unless_a_list_says_not(settings):
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
    of_own_name = (RecordStatus, {"name": "Bad number"})
    for model, own in ((CampaignField, {}), (CampaignHours, {}), (RetryRule, {}), of_own_name):
        one, other = (model.objects.get(campaign=campaign, **own) for campaign in (source, copy))
        assert values_of(one, "campaign_id") == values_of(other, "campaign_id")


def test_given_parameters_of_a_clone_override_its_source_also_empty_ones(api):
    CampaignFactory(code="DEMO1", caller_id="101", preview_timeout=30, predictive_max_calls=2, predictive_min_calls=1)

    clone(api, caller_id="", preview_timeout=60, predictive_max_calls="", predictive_min_calls=None)

    assert shown(api, "CLONE")["parameters"] == {"preview_timeout": 60, "predictive_min_calls": 1}


def test_ratios_of_a_clone_are_checked_with_those_of_its_source(api):
    CampaignFactory(code="DEMO1", predictive_max_calls=2)
    wrong = {"new_id": "DEMO1", "name": "", "end_date": "2000-01-01", "parameters": {"predictive_min_calls": 3}}

    assert faults(api.post(f"{CAMPAIGN}/clone", wrong)) == {
        ("new_id", E.CAMPAIGN_ID_TAKEN),
        ("name", E.EMPTY),
        ("end_date", E.END_BEFORE_START),
        ("parameters.predictive_min_calls", E.RATIOS_CROSSED),
    }
