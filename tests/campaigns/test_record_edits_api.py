"""Edits of one record over HTTP, and their history."""

from typing import Any

import pytest

from callcentre.core.errors import ErrorCode
from campaigns.models import AdditionalNumber, Campaign, Record, RecordChange
from tests.campaigns.api_calls import NUMBER, add, edit, faults, read, status_id
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(db: None) -> Campaign:
    return CampaignFactory(code="DEMO1", fields=["city", "first_name"])


# Editing


def test_an_edit_changes_only_given_values(api: ApiClient, campaign: Campaign) -> None:
    add(api, identifier="ID-7", order=5, record_fields={"city": "Łódź", "first_name": "Ewa"})
    before = read(api, query="?include_record_fields=1").json()

    assert edit(api, next_call_date="2030-07-01 12:00", record_fields={"city": "Kraków"}).status_code == 204

    assert read(api, query="?include_record_fields=1").json() == before | {
        "next_call_date": "2030-07-01 12:00",
        "record_fields": {"city": "Kraków", "first_name": "Ewa"},
    }


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_field_value_clears_it(empty: Any, api: ApiClient, campaign: Campaign) -> None:
    add(api, record_fields={"city": "Łódź", "first_name": "Ewa"})

    edit(api, record_fields={"city": empty})

    assert read(api, query="?include_record_fields=1").json()["record_fields"] == {"city": "", "first_name": "Ewa"}


def test_null_keeps_a_value_and_an_empty_string_clears_it(api: ApiClient, campaign: Campaign) -> None:
    AgentFactory(login="anna")
    add(api, agent_login="anna", next_call_date="2030-07-01 12:00", identifier="ID-7", order=5)
    before = read(api).json()

    edit(api, agent_login=None, next_call_date=None, identifier=None, order=None)
    assert read(api).json() == before

    edit(api, agent_login="", next_call_date="", identifier="", order="")
    assert read(api).json() == before | {
        "agent_login": "",
        "agent_name": "",
        "next_call_date": "",
        "identifier": "",
        "order": "",
    }


def test_an_edit_cannot_clear_the_agent_and_next_call_of_my_record(api: ApiClient, campaign: Campaign) -> None:
    record = RecordFactory(campaign=campaign, phone_number=NUMBER, of_agent=True)

    assert faults(edit(api, agent_login="", next_call_date="")) == {
        ("agent_login", ErrorCode.AGENT_REQUIRED.number),
        ("next_call_date", ErrorCode.NEXT_CALL_REQUIRED.number),
    }
    assert Record.objects.get(pk=record.pk).agent == record.agent


def test_editing_a_record_in_a_live_call_is_409(api: ApiClient, campaign: Campaign) -> None:
    record = RecordFactory(campaign=campaign, phone_number=NUMBER, in_live_call=True)

    response = edit(api, order=5)

    assert response.status_code == 409
    assert response.json()["errors"][0]["code"] == ErrorCode.RECORD_BUSY.number
    record.refresh_from_db()
    assert record.order is None


def test_a_record_of_a_lost_call_can_be_edited(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER, of_lost_call=True)

    assert edit(api, status_id=status_id(campaign, "CALL")).status_code == 204


def test_a_number_of_two_records_cannot_be_edited(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    RecordFactory(campaign=campaign, phone_number="22-123-45-67", duplicate=True)

    assert faults(edit(api, order=5)) == {("phone_number", ErrorCode.NUMBER_AMBIGUOUS.number)}
    assert not Record.objects.filter(order=5).exists()


def test_an_edit_searches_additional_numbers_on_request(api: ApiClient, campaign: Campaign) -> None:
    record = AdditionalNumberFactory(record__campaign=campaign, phone_number="601000001").record

    assert edit(api, "601000001", order=5).status_code == 404
    assert edit(api, "601000001", "?search_in_additional_numbers=1", order=5).status_code == 204
    record.refresh_from_db()
    assert record.order == 5


def test_an_additional_number_of_two_records_edits_neither(api: ApiClient, campaign: Campaign) -> None:
    for _ in range(2):
        AdditionalNumberFactory(record__campaign=campaign, phone_number="601000001")

    response = edit(api, "601000001", "?search_in_additional_numbers=1", order=5)

    assert faults(response) == {("phone_number", ErrorCode.NUMBER_AMBIGUOUS.number)}


def test_an_edit_replaces_the_additional_numbers(api: ApiClient, campaign: Campaign) -> None:
    add(api, additional_numbers=["601000001", "601000002"])

    edit(api, additional_numbers=["601 000 003"])
    assert list(AdditionalNumber.objects.values_list("phone_number", flat=True)) == ["601 000 003"]

    edit(api, additional_numbers=[])
    assert not AdditionalNumber.objects.exists()


def test_an_edit_sets_the_note(api: ApiClient, campaign: Campaign) -> None:
    add(api)

    edit(api, note="Call after six.")

    assert read(api).json()["last_note"] == "Call after six."


def test_an_edit_refuses_the_identifier_of_another_record(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, identifier="ID-1")
    add(api, identifier="ID-7")

    assert faults(edit(api, identifier="ID-1")) == {("identifier", ErrorCode.IDENTIFIER_TAKEN.number)}
    assert edit(api, identifier="ID-7", order=1).status_code == 204


# History


def test_the_history_has_actor_changes_and_both_statuses(api: ApiClient, campaign: Campaign) -> None:
    add(api)
    edit(api, status_id=status_id(campaign, "NO_CALL"), order=5)

    created, edited = RecordChange.objects.order_by("id")

    assert (created.action, created.from_status, created.to_status) == ("create", "", "To be called")
    assert (edited.action, edited.actor_kind, edited.actor_name) == ("edit", "api_user", "all")
    assert (edited.from_status, edited.to_status) == ("To be called", "Do not call")
    assert (edited.from_system_status, edited.to_system_status) == ("TO_CALL", "NO_CALL")
    assert edited.changes == {"order": [None, 5]}


def test_an_edit_without_changes_writes_no_history(api: ApiClient, campaign: Campaign) -> None:
    add(api, order=5)

    edit(api, order=5, status_id=status_id(campaign, "TO_CALL"))

    assert RecordChange.objects.count() == 1


def test_a_change_of_additional_numbers_is_in_the_history(api: ApiClient, campaign: Campaign) -> None:
    add(api)

    edit(api, additional_numbers=["601000001"])

    assert RecordChange.objects.filter(action="edit").count() == 1


def test_a_refused_edit_writes_no_history(api: ApiClient, campaign: Campaign) -> None:
    add(api)

    edit(api, order=5, agent_login="nobody")

    assert RecordChange.objects.count() == 1
    assert campaign.records.get().order is None
