"""Campaigns and their groups over HTTP."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.errors import ErrorCode
from campaigns.models import Campaign, CampaignField, CampaignGroup
from tests.campaigns.api_calls import faults, shown
from tests.campaigns.factories import (
    CampaignFactory,
    CampaignGroupFactory,
    RecordFactory,
)
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


def create(api: ApiClient, **values: Any) -> Any:
    return api.post("/api/outbounds", {"name": "New", "dialer": "preview", "crm": False, **values})


# Creating


def test_create_with_required_values_sets_defaults(api: ApiClient) -> None:
    assert create(api).json() == {"id": "00001", "outbound_id": "00001"}

    assert shown(api, "00001") == {
        "id": "00001",
        "outbound_id": "00001",
        "name": "New",
        "dialer": "preview",
        "crm": False,
        "active": True,
        "dialing": "running",
        "start_date": timezone.localdate().isoformat(),
        "end_date": "",
        "order": 50,
        "parity": 50,
        "parameters": {},
        "group_id": None,
        "fields": [],
    }


def test_create_with_all_values(api: ApiClient) -> None:
    group = CampaignGroupFactory()
    values = {
        "id": "Ab1zZ",
        "name": "Żółty",
        "dialer": "predictive",
        "crm": True,
        "active": False,
        "start_date": "2030-01-01",
        "end_date": "2030-01-01",
        "order": 99_999,
        "parity": 100,
        "parameters": {
            "caller_id": "+48 22 5550100",
            "preview_timeout": 3600,
            "predictive_max_calls": 100,
            "predictive_min_calls": 0.5,
        },
        "group_id": group.pk,
    }

    assert create(api, **values).status_code == 201

    assert shown(api, "Ab1zZ") == {**values, "outbound_id": "Ab1zZ", "dialing": "running", "fields": []}


def test_a_missing_id_becomes_the_lowest_free_number(api: ApiClient) -> None:
    for code in ("00001", "00003", "ABCDE", "0000a"):
        CampaignFactory(code=code)

    assert [create(api).json()["id"] for _ in range(3)] == ["00002", "00004", "00005"]


@pytest.mark.parametrize("code", ["1234", "12 45", "12-45", "ąbcde", "12.45", "١٢٣٤٥"])
def test_a_malformed_id_is_refused(code: str, api: ApiClient) -> None:
    assert faults(create(api, id=code)) == {("id", ErrorCode.CAMPAIGN_ID_MALFORMED.number)}


def test_an_id_has_at_most_five_characters(api: ApiClient) -> None:
    assert {field for field, _ in faults(create(api, id="123456"))} == {"id"}


def test_a_taken_id_is_refused_and_ids_are_case_sensitive(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1")

    assert faults(create(api, id="DEMO1")) == {("id", ErrorCode.CAMPAIGN_ID_TAKEN.number)}
    assert create(api, id="demo1").status_code == 201


def test_a_campaign_cannot_end_before_it_starts(api: ApiClient) -> None:
    yesterday = (timezone.localdate() - timedelta(days=1)).isoformat()

    assert faults(create(api, start_date="2030-01-02", end_date="2030-01-01")) == {
        ("end_date", ErrorCode.END_BEFORE_START.number)
    }
    assert faults(create(api, end_date=yesterday)) == {("end_date", ErrorCode.END_BEFORE_START.number)}


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("colour", "red", ErrorCode.PARAMETER_UNKNOWN),
        ("preview_timeout", 0, ErrorCode.OUT_OF_RANGE),
        ("preview_timeout", 3601, ErrorCode.OUT_OF_RANGE),
        ("preview_timeout", "soon", ErrorCode.NOT_INTEGER),
        ("preview_timeout", 1.5, ErrorCode.NOT_INTEGER),
        ("predictive_max_calls", 100.01, ErrorCode.OUT_OF_RANGE),
        ("predictive_max_calls", "many", ErrorCode.NOT_NUMBER),
        ("predictive_min_calls", -0.01, ErrorCode.OUT_OF_RANGE),
        ("caller_id", "x" * 41, ErrorCode.TOO_LONG),
        ("caller_id", {}, ErrorCode.NOT_TEXT),
        ("caller_id", "our shop", ErrorCode.PHONE_LETTERS),
    ],
)
def test_an_unknown_parameter_or_one_out_of_range_is_refused(
    name: str, value: Any, code: ErrorCode, api: ApiClient
) -> None:
    assert faults(create(api, parameters={name: value})) == {(f"parameters.{name}", code.number)}
    assert not Campaign.objects.exists()


def test_a_wrong_caller_id_is_named_with_all_other_faults(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1")
    Campaign.objects.update(caller_id="our shop")
    given = {"end_date": "2001-01-01", "start_date": "2001-01-02", "parameters": {"caller_id": "shop"}}
    wrong = {("parameters.caller_id", ErrorCode.PHONE_LETTERS.number), ("end_date", ErrorCode.END_BEFORE_START.number)}

    assert faults(create(api, **given)) == wrong
    assert faults(api.put("/api/outbounds/DEMO1", given)) == wrong
    assert faults(api.post("/api/outbounds/DEMO1/clone", {"name": "Copy", **given})) == wrong
    # One from before the rule stays until it is changed.
    assert api.put("/api/outbounds/DEMO1", {"name": "Renamed"}).status_code == 204


def test_parameters_may_be_sent_as_strings(api: ApiClient) -> None:
    create(api, parameters={"preview_timeout": "30", "predictive_max_calls": "2.5", "caller_id": 225550100})

    assert shown(api, "00001")["parameters"] == {
        "caller_id": "225550100",
        "preview_timeout": 30,
        "predictive_max_calls": 2.5,
    }


@pytest.mark.parametrize("parameters", [None, {}, [], {"caller_id": None, "preview_timeout": ""}])
def test_empty_parameters_are_accepted_in_several_spellings(parameters: Any, api: ApiClient) -> None:
    assert create(api, parameters=parameters).status_code == 201
    assert shown(api, "00001")["parameters"] == {}


def test_the_lower_ratio_cannot_be_above_the_higher(api: ApiClient) -> None:
    crossed = {"predictive_min_calls": 3, "predictive_max_calls": 2}

    assert faults(create(api, parameters=crossed)) == {
        ("parameters.predictive_min_calls", ErrorCode.RATIOS_CROSSED.number)
    }
    assert create(api, parameters={"predictive_min_calls": 2, "predictive_max_calls": 2}).status_code == 201


def test_an_unreadable_value_has_no_second_fault(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", end_date=date(2035, 1, 1), predictive_max_calls=2)

    for response in (
        create(api, start_date="soon", end_date="2000-01-01"),
        api.put("/api/outbounds/DEMO1", {"start_date": "soon", "end_date": "2000-01-01"}),
        api.post("/api/outbounds/DEMO1/clone", {"name": "A", "start_date": "soon", "end_date": "2000-01-01"}),
    ):
        assert faults(response) == {("start_date", ErrorCode.NOT_DATE.number)}
    unread = {"predictive_max_calls": "many", "predictive_min_calls": 3}
    assert faults(api.post("/api/outbounds/DEMO1/clone", {"name": "A", "parameters": unread})) == {
        ("parameters.predictive_max_calls", ErrorCode.NOT_NUMBER.number)
    }


@pytest.mark.parametrize("group_id", [999_999, 0, -1, "9" * 30])
def test_an_unknown_group_is_refused(group_id: Any, api: ApiClient) -> None:
    assert faults(create(api, group_id=group_id)) == {("group_id", ErrorCode.GROUP_NOT_FOUND.number)}


def test_a_new_campaign_has_one_status_for_each_entry_of_the_dictionary(api: ApiClient) -> None:
    from campaigns.models import DictionaryStatus

    create(api, id="DEMO1")

    statuses = api.get("/api/outbounds/DEMO1/statuses").json()
    assert [(status["dictionary_status_id"], status["system_status"]) for status in statuses] == list(
        DictionaryStatus.objects.values_list("id", "system_status")
    )


# Editing


def test_fields_are_made_by_post_added_by_put_and_never_removed(api: ApiClient) -> None:
    code = create(api, fields=["city", "name", "city"]).json()["id"]
    api.post(f"/api/outbounds/{code}/records", {"phone_number": "22 555 0411", "record_fields": {"city": "Gdańsk"}})

    answers = [api.put(f"/api/outbounds/{code}", {"fields": names}) for names in (["zip", "name"], [], None)]

    assert [answer.status_code for answer in answers] == [204] * 3
    assert shown(api, code)["fields"] == ["city", "name", "zip"]
    (record,) = api.get(f"/api/outbounds/{code}/records").json()["result"]
    assert record["record_fields"] == {"city": "Gdańsk", "name": "", "zip": ""}


def test_a_crm_campaign_refuses_fields(api: ApiClient) -> None:
    CampaignFactory(code="CRM01", is_crm=True)

    answers = [create(api, crm=True, fields=["city"]), api.put("/api/outbounds/CRM01", {"fields": ["city"]})]

    assert [faults(answer) for answer in answers] == [{("fields", ErrorCode.FIELDS_IN_CRM.number)}] * 2
    assert not CampaignField.objects.exists()
    assert Campaign.objects.count() == 1


def test_the_fields_of_a_campaign_that_became_crm_may_be_sent_back(api: ApiClient) -> None:
    code = create(api, fields=["city"]).json()["id"]
    api.put(f"/api/outbounds/{code}", {"crm": True})

    assert api.put(f"/api/outbounds/{code}", {"fields": ["city"], "name": "Known"}).status_code == 204


@pytest.mark.parametrize(
    ("names", "field"), [("city", "fields"), (["city", ""], "fields.1"), (["x" * 101], "fields.0"), ([[1]], "fields.0")]
)
def test_names_of_fields_are_short_texts(names: Any, field: str, api: ApiClient) -> None:
    assert {name for name, _ in faults(create(api, fields=names))} == {field}
    assert not Campaign.objects.exists()


def test_an_edit_changes_given_values_and_ignores_null(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", caller_id="101", preview_timeout=30, end_date=date(2035, 1, 1))
    before = shown(api, "DEMO1")

    response = api.put(
        "/api/outbounds/DEMO1", {"name": "Renamed", "parameters": {"caller_id": "102"}, "end_date": None}
    )

    assert response.status_code == 204
    assert shown(api, "DEMO1") == before | {
        "name": "Renamed",
        "parameters": {"caller_id": "102", "preview_timeout": 30},
    }


def test_an_empty_string_clears_the_end_date_and_the_group(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", end_date=date(2035, 1, 1), group_id=CampaignGroupFactory().pk, caller_id="101")

    api.put("/api/outbounds/DEMO1", {"end_date": "", "group_id": "", "parameters": {"caller_id": ""}})

    body = shown(api, "DEMO1")
    assert (body["end_date"], body["group_id"], body["parameters"]) == ("", None, {})


@pytest.mark.parametrize("name", ["name", "dialer", "start_date", "order", "parity"])
def test_required_values_cannot_be_cleared(name: str, api: ApiClient) -> None:
    CampaignFactory(code="DEMO1")

    assert faults(api.put("/api/outbounds/DEMO1", {name: ""})) == {(name, ErrorCode.EMPTY.number)}


def test_an_edit_is_checked_with_the_unchanged_values(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", end_date=date(2035, 1, 1), predictive_min_calls=2)

    response = api.put(
        "/api/outbounds/DEMO1", {"start_date": "2035-01-02", "parameters": {"predictive_max_calls": 1}, "order": 0}
    )

    assert faults(response) == {
        ("end_date", ErrorCode.END_BEFORE_START.number),
        ("parameters.predictive_min_calls", ErrorCode.RATIOS_CROSSED.number),
        ("order", ErrorCode.OUT_OF_RANGE.number),
    }


def test_the_id_of_a_campaign_never_changes(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1")

    assert api.put("/api/outbounds/DEMO1", {"id": "DEMO2"}).status_code == 204
    assert Campaign.objects.get().code == "DEMO1"


# Agents


def test_adding_agents_is_idempotent(api: ApiClient) -> None:
    campaign = CampaignFactory(code="DEMO1")
    AgentFactory(login="anna")
    AgentFactory(login="piotr")

    for logins in (["anna"], ["anna", "piotr", "anna"]):
        assert api.post("/api/outbounds/DEMO1/add_agents", {"logins": logins}).status_code == 204

    assert list(campaign.agents.values_list("login", flat=True)) == ["anna", "piotr"]


@pytest.mark.parametrize("action", ["add_agents", "remove_agents"])
def test_all_unknown_logins_are_named_and_no_agent_changes(action: str, api: ApiClient) -> None:
    campaign = CampaignFactory(code="DEMO1")
    campaign.agents.add(AgentFactory(login="piotr"))
    AgentFactory(login="anna")

    response = api.post(f"/api/outbounds/DEMO1/{action}", {"logins": ["anna", "nobody", "piotr", "no one"]})

    assert faults(response) == {("logins", ErrorCode.AGENTS_NOT_FOUND.number)}
    assert "nobody, no one" in response.json()["errors"][0]["message"]
    assert list(campaign.agents.values_list("login", flat=True)) == ["piotr"]


def test_removing_agents_ignores_agents_outside_the_campaign(api: ApiClient) -> None:
    campaign = CampaignFactory(code="DEMO1")
    campaign.agents.add(AgentFactory(login="anna"), AgentFactory(login="piotr"))
    AgentFactory(login="ewa")

    assert api.post("/api/outbounds/DEMO1/remove_agents", {"logins": ["anna", "ewa"]}).status_code == 204
    assert list(campaign.agents.values_list("login", flat=True)) == ["piotr"]


@pytest.mark.parametrize("logins", [None, "anna", {"0": "anna"}, [None], [""], [["anna"]]])
def test_logins_are_an_array_of_texts(logins: Any, api: ApiClient) -> None:
    CampaignFactory(code="DEMO1")
    AgentFactory(login="anna")

    response = api.post("/api/outbounds/DEMO1/add_agents", {"logins": logins})

    assert {field.partition(".")[0] for field, _ in faults(response)} == {"logins"}


# Groups and numbers


def test_create_a_group(api: ApiClient) -> None:
    response = api.post("/api/outbound_groups", {"name": " Sales "})

    group = CampaignGroup.objects.get()
    assert (response.status_code, response.json()) == (201, {"id": group.pk, "name": "Sales"})
    assert api.get("/api/outbound_groups").json() == [{"id": group.pk, "name": "Sales"}]


@pytest.mark.parametrize("name", ["", None, "   ", "x" * 101])
def test_a_group_with_an_invalid_name_is_refused(name: Any, api: ApiClient) -> None:
    assert {field for field, _ in faults(api.post("/api/outbound_groups", {"name": name}))} == {"name"}


def test_groups_may_share_a_name(api: ApiClient) -> None:
    first = CampaignGroupFactory(name="Sales")

    response = api.post("/api/outbound_groups", {"name": "Sales"})

    second = response.json()
    assert (response.status_code, second["name"]) == (201, "Sales")
    assert second["id"] != first.pk
    assert api.get("/api/outbound_groups").json() == [{"id": first.pk, "name": "Sales"}, second]


def test_statistics_count_records_by_system_status(api: ApiClient) -> None:
    campaign = CampaignFactory(code="DEMO1")
    for status, count in (("TO_CALL", 4), ("NO_CALL", 1), ("ABANDONED_AFTER_N_TRIES", 1)):
        RecordFactory.create_batch(count, campaign=campaign, system_status=status)

    body = api.get("/api/outbounds/DEMO1/stats").json()

    assert (body["id"], body["records_count"], body["completion_percent"]) == ("DEMO1", 6, 33.33)
    assert body["by_system_status"]["TO_CALL"] == 4
    assert len(body["by_system_status"]) == 8


def test_statistics_of_an_empty_campaign_are_zero(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1")

    body = api.get("/api/outbounds/DEMO1/stats").json()

    assert (body["records_count"], body["completion_percent"], set(body["by_system_status"].values())) == (0, 0, {0})


def test_all_invalid_logins_are_named_at_once(api: ApiClient) -> None:
    CampaignFactory.create(code="NAMED")

    answer = api.post("/api/outbounds/NAMED/add_agents", {"logins": ["nobody", None, {}, ["a"]]})

    faults = {(error["code"], error.get("field")) for error in answer.json()["errors"]}
    assert faults == {(100001, "logins.1"), (100002, "logins.2"), (100002, "logins.3"), (110002, "logins")}
