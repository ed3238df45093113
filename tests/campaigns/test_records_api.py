"""Records over HTTP: adding, reading and listing."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from callcentre.core.errors import ErrorCode as E
from campaigns.models import AdditionalNumber
from campaigns.verbs.records import remove_record
from tests.campaigns.api_calls import CAMPAIGN, NUMBER, RECORDS, add, edit, faults, read, status_id, status_of
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory, RecordStatusFactory
from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db
OTHER = "22 765 43 21"


# Adding


def test_a_new_record_is_to_be_called_and_keeps_the_number_as_sent(api, campaign):
    record_id = add(api).json()["record_id"]

    body = read(api).json()
    empty = ("call_date", "create_date", "next_call_date", "agent_name", "agent_login", "last_note", "identifier")
    assert body | {"create_date": ""} == {
        "record_id": int(record_id),
        "phone_number": NUMBER,
        "system_status": "TO_CALL",
        "status": "To be called",
        "status_id": status_id(campaign, "TO_CALL"),
        **dict.fromkeys((*empty, "order"), ""),
    }


def test_a_new_record_with_all_values(api, campaign):
    AgentFactory(login="anna", name="Anna", surname="Nowak")
    values = {"identifier": "ID-7", "agent_login": "anna", "next_call_date": "2030-07-01 12:00", "order": 5}

    add(api, status_id=str(status_id(campaign, "MY_RECORD")), record_fields={"city": "Łódź"}, **values)

    bodies = [read(api, query=query).json() for query in ("?include_record_fields=1", "?include_record_fields=0", "")]
    made = {"system_status": "MY_RECORD", "agent_name": "Anna Nowak"}
    expected = values | made | {"record_fields": {"city": "Łódź", "first_name": ""}}
    assert {name: bodies[0][name] for name in expected} == expected
    assert not any("record_fields" in body for body in bodies[1:])


@pytest.mark.parametrize("spelling", ["+48221234567", "22 123-45-67", "0048 22 1234567", "(22) 123 45 67", 221234567])
def test_a_number_is_added_once_in_any_spelling(spelling, api, campaign):
    RecordFactory(phone_number=NUMBER)  # of another campaign
    assert add(api).status_code == 201

    assert faults(add(api, spelling)) == {("phone_number", E.NUMBER_DUPLICATED)}
    assert campaign.records.count() == 1


@pytest.mark.parametrize("number", ["101", "112", "7", "tel:+48-22-123-45-67;ext=5"])
def test_extensions_short_numbers_and_addresses_of_phones_are_accepted(number, api, campaign):
    assert add(api, number).status_code == 201
    assert read(api, number.partition(";")[0]).json()["phone_number"] == number


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        *(({"phone_number": number}, {E.PHONE_LETTERS}) for number in ("22 CALL ME", "x", "+48 22 ąę", "tel:abc")),
        *(({"phone_number": number}, {E.EMPTY}) for number in ("", None, " ", "+", "()", "-", "tel:")),
        ({"phone_number": "*9"}, {E.PHONE_INVALID}),
        *(({"identifier": f"a{sign}b"}, {E.NOT_ONE_LINE}) for sign in "\n\t\x1b\x7f\u2028"),
        ({"status": "MY_RECORD"}, {E.AGENT_REQUIRED, E.NEXT_CALL_REQUIRED}),
        ({"status": "CALL_NO_SOONER_THAN"}, {E.NEXT_CALL_REQUIRED}),
        ({"dictionary_status_id": 999_999}, {E.DICTIONARY_STATUS_NOT_FOUND}),
    ],
)
def test_a_wrong_value_of_a_new_record_is_refused(values, codes, api, campaign):
    if status := values.get("status"):
        values = {"status_id": status_id(campaign, status)}
    of_codes = {E.AGENT_REQUIRED: "agent_login", E.NEXT_CALL_REQUIRED: "next_call_date"}

    found = faults(api.post(RECORDS, {"phone_number": NUMBER, **values}))

    assert found == {(of_codes.get(code, next(iter(values))), code) for code in codes}
    assert not campaign.records.exists()


def test_an_unreadable_value_is_not_missing_too(api, campaign):
    wrong: dict[str, Any] = {"status_id": status_id(campaign, "MY_RECORD"), "agent_login": [], "next_call_date": "soon"}
    RecordFactory(campaign=campaign, phone_number="+48221234568")

    for response in (add(api, **wrong), edit(api, "+48221234568", **wrong)):
        assert faults(response) == {("agent_login", E.NOT_TEXT), ("next_call_date", E.NOT_MINUTE)}


def test_all_faults_of_a_record_are_named_at_once(api, campaign):
    RecordFactory(campaign=campaign, phone_number=NUMBER, identifier="ID-7")
    values = {"status_id": 999_999_999, "agent_login": "nobody", "next_call_date": "tomorrow", "identifier": "ID-7"}
    fields = {"record_fields": {"colour": "red", "city": "Łódź"}, "order": "first"}

    response = add(api, **values, **fields, additional_numbers=[OTHER, None, {}, "letters"])

    assert faults(response) == {
        ("phone_number", E.NUMBER_DUPLICATED),
        ("status_id", E.STATUS_NOT_FOUND),
        ("agent_login", E.AGENT_NOT_FOUND),
        ("next_call_date", E.NOT_MINUTE),
        ("identifier", E.IDENTIFIER_TAKEN),
        ("record_fields.colour", E.FIELD_UNKNOWN),
        ("order", E.NOT_INTEGER),
        ("additional_numbers.1", E.EMPTY),
        ("additional_numbers.2", E.NOT_TEXT),
        ("additional_numbers.3", E.PHONE_LETTERS),
    }


def test_a_status_is_chosen_by_its_id_that_of_the_dictionary_or_both(api, campaign):
    foreign, call, no_call = CampaignFactory().statuses.first(), *(status_of(campaign, s) for s in ("CALL", "NO_CALL"))
    both = {"status_id": call.pk, "dictionary_status_id": call.dictionary_status_id}

    assert faults(add(api, status_id=foreign.pk)) == {("status_id", E.STATUS_NOT_FOUND)}
    disagreeing = add(api, **both | {"dictionary_status_id": no_call.dictionary_status_id})
    assert faults(disagreeing) == {("dictionary_status_id", E.STATUSES_DISAGREE)}
    assert add(api, **both).status_code == 201
    add(api, OTHER, dictionary_status_id=no_call.dictionary_status_id)
    assert read(api, OTHER).json()["status_id"] == no_call.pk


def test_an_identifier_is_unique_in_its_campaign_only_and_several_records_have_none(api, campaign):
    RecordFactory(identifier="ID-7")
    assert add(api, identifier="ID-7").status_code == 201

    assert faults(add(api, OTHER, identifier="ID-7")) == {("identifier", E.IDENTIFIER_TAKEN)}
    assert [add(api, f"22 123 45 8{n}", identifier="").status_code for n in range(3)] == [201] * 3


def test_fields_cannot_be_set_in_a_crm_campaign_but_an_empty_map_is_accepted(api):
    CampaignFactory(code="DEMO1", crm=True)

    for fields in ({"city": "Łódź"}, {"city": ""}, {"unknown": "x"}):
        assert faults(add(api, record_fields=fields)) == {("record_fields", E.FIELDS_IN_CRM)}
    assert add(api, record_fields={}).status_code == 201
    assert read(api, query="?include_record_fields=true").json()["record_fields"] == {}


# Reading


@pytest.mark.parametrize(
    "path",
    [
        *("+48221234567", "%2B48221234567", "48221234567", "221234567", "0048221234567", "22%20123%2045%2067"),
        *("22-123-45-67", "+48%20(22)%20123-45-67", "22/1234567", "22%2F123%2F4567", "tel:+48-22-123-45-67"),
        *("%E2%80%AA+48221234567%E2%80%AC", "22.123.45.67", "221234567/"),
    ],
)
def test_a_record_is_found_by_any_spelling_of_its_number(path, api, campaign):
    record = RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert api.get(f"{RECORDS}/{path}").json()["record_id"] == record.pk


@pytest.mark.parametrize("path", ["229999999", "letters", "%20", "+", "1" * 70, "%2B"])
def test_an_unknown_number_is_404(path, api, campaign):
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert api.get(f"{RECORDS}/{path}").status_code == 404
    assert api.put(f"{RECORDS}/{path}", {}).status_code == 404


def test_a_record_of_another_campaign_is_404(api, campaign):
    other = RecordFactory(phone_number=NUMBER, identifier="ID-7")

    assert read(api).status_code == 404
    assert api.get(f"{CAMPAIGN}/records_by_identifier/ID-7").status_code == 404
    assert api.get(f"/api/outbounds/{other.campaign.code}/records/{other.number}").status_code == 200


def test_the_oldest_of_duplicates_is_read_and_the_next_one_after_its_deletion(api, campaign):
    oldest = RecordFactory(campaign=campaign, phone_number=NUMBER)
    second, third = RecordFactory.create_batch(2, campaign=campaign, phone_number=NUMBER, duplicate=True)
    assert read(api).json()["record_id"] == oldest.pk

    remove_record(oldest, ACTOR)

    assert read(api).json()["record_id"] == second.pk
    remove_record(third, ACTOR)
    assert edit(api, order=1).status_code == 204


@pytest.mark.parametrize("identifier", ["ID-7", "id/with/slash", "Zażółć 7", "1.5", "a?b", "%41", "+48 22"])
def test_a_record_is_found_by_its_identifier(identifier, api, campaign):
    record = RecordFactory(campaign=campaign, identifier=identifier)

    path = f"{CAMPAIGN}/records_by_identifier/{quote(identifier, safe='')}"
    assert api.get(path).json()["record_id"] == record.pk


def test_an_exact_identifier_precedes_one_without_the_trailing_slash(api, campaign):
    ids = {RecordFactory(campaign=campaign, identifier=text).pk: text for text in ("abc", "abc/", "abc//", "x")}
    paths = ("abc", "abc%2F", "abc/", "abc%2F/", "x/")

    found = [api.get(f"{CAMPAIGN}/records_by_identifier/{path}").json()["record_id"] for path in paths]

    assert [ids[pk] for pk in found] == ["abc", "abc/", "abc/", "abc//", "x"]


def test_additional_numbers_are_searched_on_request_after_those_of_records(api, campaign):
    AdditionalNumberFactory(phone_number="601000001")  # of another campaign
    query = "?search_in_additional_numbers=true"
    assert read(api, "601000001", query).status_code == 404
    record_id = int(add(api, additional_numbers=["+48 601 000 001"]).json()["record_id"])

    assert read(api, "601000001").status_code == 404
    found = read(api, "601000001", query).json()
    assert (found["record_id"], found["phone_number"]) == (record_id, NUMBER)
    own = RecordFactory(campaign=campaign, phone_number="601000001")
    assert read(api, "601000001", query).json()["record_id"] == own.pk


def test_an_additional_number_is_no_duplicate_and_is_stored_once(api, campaign):
    add(api, additional_numbers=["601000001", "+48 601 000 001", "22 1234567"])

    assert list(AdditionalNumber.objects.values_list("number", flat=True)) == ["+48601000001"]
    assert add(api, "601 000 001").status_code == 201
    assert add(api, "601 000 002", additional_numbers=[NUMBER, "601000001"]).status_code == 201


# Listing


def found(api: ApiClient, query: str) -> list[str]:
    """Return the identifiers of the records that a query finds."""
    body = api.get(f"{RECORDS}?{query}").json()
    assert body["count"] == len(body["result"])
    return [record["identifier"] for record in body["result"]]


def test_no_filter_lists_all_records_oldest_first_and_one_those_of_a_status(api, campaign):
    for status in ("CALL", "NO_CALL", "TO_CALL"):
        RecordFactory(campaign=campaign, identifier=status, system_status=status)
    RecordFactory()

    assert found(api, "") == ["CALL", "NO_CALL", "TO_CALL"]
    assert found(api, "system_status=CALL") == ["CALL"]
    assert found(api, "system_status[]=NO_CALL&system_status[]=TO_CALL") == ["NO_CALL", "TO_CALL"]


def test_filter_by_status_agent_and_identifier(api, campaign):
    status = RecordStatusFactory(campaign=campaign)
    own = {"status": status, "system_status": status.system_status, "agent": AgentFactory(login="anna")}
    RecordFactory(campaign=campaign, identifier="a", **own)
    RecordFactory(campaign=campaign, identifier="ab")

    for query in (f"status_id={status.pk}", "agent_login=anna", "has_agent=true", "identifier=a"):
        assert found(api, query) == ["a"]
    assert found(api, "has_agent=0") == ["ab"]
    for query in ("status_id=999999999", f"status_id={'9' * 30}", "agent_login=nobody"):
        assert found(api, query) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("next_call_date_from=2030-07-01 10:00", ["c", "d"]),
        ("next_call_date_to=2030-07-01 10:00", ["a", "b", "c"]),
        ("next_call_date_to=2030-07-01 09:59", ["a", "b"]),
        ("next_call_date_from=2030-07-01&next_call_date_to=2030-07-01", ["b", "c"]),
    ],
)
def test_filter_by_next_call_includes_the_day_or_minute_of_a_bound(query, expected, api, campaign):
    # In Warsaw: 23:59:59 of June 30th, then 00:00, 10:00:30 and the next midnight.
    instants = [(6, 30, 21, 59, 59), (6, 30, 22, 0, 0), (7, 1, 8, 0, 30), (7, 1, 22, 0, 0)]
    for name, instant in zip("abcd", instants, strict=True):
        RecordFactory(campaign=campaign, identifier=name, next_call_at=datetime(2030, *instant, tzinfo=UTC))
    RecordFactory(campaign=campaign, identifier="never")

    assert found(api, query) == expected


def test_all_wrong_filters_are_reported_together(api, campaign):
    query = "system_status=X&status_id=x&next_call_date_from=x&next_call_date_to=x&has_agent=x&limit=0"

    wrong = faults(api.get(f"{RECORDS}?{query}"))

    assert ("system_status", E.NOT_CHOICE) in wrong
    times = {"next_call_date_from", "next_call_date_to"}
    assert {field for field, _ in wrong} == {"system_status", "status_id", "has_agent", "limit"} | times
