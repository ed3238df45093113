"""Edits of one record over HTTP, and their history."""

from typing import Any

import pytest

from callcentre.core.errors import ErrorCode as E
from campaigns.models import AdditionalNumber, Record, RecordChange
from tests.campaigns.api_calls import NUMBER, add, edit, faults, read, status_id
from tests.campaigns.factories import AdditionalNumberFactory, RecordFactory
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db
WITH_FIELDS, SEARCH = "?include_record_fields=1", "?search_in_additional_numbers=1"


@pytest.mark.parametrize("empty", ["", None])
def test_an_edit_changes_only_given_values_and_an_empty_field_is_cleared(empty, api, campaign):
    add(api, identifier="ID-7", order=5, record_fields={"city": "Łódź", "first_name": "Ewa"})
    before = read(api, query=WITH_FIELDS).json()

    changes = {"next_call_date": "2030-07-01 12:00", "note": "Call after six."}
    assert edit(api, **changes, record_fields={"city": "Kraków"}).status_code == 204

    after = before | {"next_call_date": "2030-07-01 12:00", "last_note": "Call after six."}
    assert read(api, query=WITH_FIELDS).json() == after | {"record_fields": {"city": "Kraków", "first_name": "Ewa"}}
    edit(api, record_fields={"city": empty})
    assert read(api, query=WITH_FIELDS).json()["record_fields"] == {"city": "", "first_name": "Ewa"}


def test_null_keeps_a_value_and_an_empty_string_clears_it(api, campaign):
    AgentFactory(login="anna")
    add(api, agent_login="anna", next_call_date="2030-07-01 12:00", identifier="ID-7", order=5)
    before = read(api).json()
    names = ("agent_login", "next_call_date", "identifier", "order")
    nulls: dict[str, Any] = dict.fromkeys(names)

    edit(api, **nulls)
    assert read(api).json() == before

    edit(api, **dict.fromkeys(names, ""))
    assert read(api).json() == before | dict.fromkeys((*names, "agent_name"), "")


def test_an_edit_cannot_clear_the_agent_and_next_call_of_my_record(api, campaign):
    record = RecordFactory(campaign=campaign, phone_number=NUMBER, of_agent=True)

    wrong = {("agent_login", E.AGENT_REQUIRED), ("next_call_date", E.NEXT_CALL_REQUIRED)}
    assert faults(edit(api, agent_login="", next_call_date="")) == wrong
    assert Record.objects.get(pk=record.pk).agent == record.agent


def test_a_record_can_be_edited_unless_it_is_in_a_live_call(api, campaign):
    record = RecordFactory(campaign=campaign, phone_number=NUMBER, in_live_call=True)
    RecordFactory(campaign=campaign, phone_number="22 765 43 21", of_lost_call=True)

    response = edit(api, order=5)

    assert (response.status_code, response.json()["errors"][0]["code"]) == (409, E.RECORD_BUSY.number)
    record.refresh_from_db()
    assert record.order is None
    assert edit(api, "22 765 43 21", status_id=status_id(campaign, "CALL")).status_code == 204


def test_a_number_of_two_records_edits_neither(api, campaign):
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    RecordFactory(campaign=campaign, phone_number="22-123-45-67", duplicate=True)
    for _ in range(2):
        AdditionalNumberFactory(record__campaign=campaign, phone_number="601000001")

    for response in (edit(api, order=5), edit(api, "601000001", SEARCH, order=5)):
        assert faults(response) == {("phone_number", E.NUMBER_AMBIGUOUS)}
    assert not Record.objects.filter(order=5).exists()


def test_an_edit_searches_additional_numbers_on_request(api, campaign):
    record = AdditionalNumberFactory(record__campaign=campaign, phone_number="601000001").record

    assert edit(api, "601000001", order=5).status_code == 404
    assert edit(api, "601000001", SEARCH, order=5).status_code == 204
    record.refresh_from_db()
    assert record.order == 5


def test_an_edit_replaces_the_additional_numbers_and_says_so_in_the_history(api, campaign):
    add(api, additional_numbers=["601000001", "601000002"])

    edit(api, additional_numbers=["601 000 003"])
    assert list(AdditionalNumber.objects.values_list("phone_number", flat=True)) == ["601 000 003"]

    edit(api, additional_numbers=[])
    assert not AdditionalNumber.objects.exists()
    assert RecordChange.objects.filter(action="edit").count() == 2


def test_an_edit_refuses_the_identifier_of_another_record(api, campaign):
    RecordFactory(campaign=campaign, identifier="ID-1")
    add(api, identifier="ID-7")

    assert faults(edit(api, identifier="ID-1")) == {("identifier", E.IDENTIFIER_TAKEN)}
    assert edit(api, identifier="ID-7", order=1).status_code == 204


def test_the_history_has_actor_changes_and_both_statuses(api, campaign):
    add(api)
    values: dict[str, Any] = {"status_id": status_id(campaign, "NO_CALL"), "order": 5}
    edit(api, **values)
    # Neither a refused edit nor one without changes is in it.
    edit(api, order=7, agent_login="nobody")
    edit(api, **values)

    created, edited = RecordChange.objects.order_by("id")

    assert (created.action, created.from_status, created.to_status) == ("create", "", "To be called")
    assert (edited.action, edited.actor_kind, edited.actor_name) == ("edit", "api_user", "all")
    assert (edited.from_status, edited.to_status) == ("To be called", "Do not call")
    assert (edited.from_system_status, edited.to_system_status) == ("TO_CALL", "NO_CALL")
    assert edited.changes == {"order": [None, 5]}
    assert campaign.records.get().order == 5
