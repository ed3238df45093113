"""One record over HTTP: adding and reading."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from callcentre.core.errors import ErrorCode
from campaigns.models import AdditionalNumber, Campaign
from campaigns.verbs.records import remove_record
from tests.campaigns.api_calls import NUMBER, add, edit, faults, read, status_id
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(db: None) -> Campaign:
    return CampaignFactory(code="DEMO1", fields=["city", "first_name"])


# Adding


def test_a_new_record_is_to_be_called_and_keeps_the_number_as_sent(api: ApiClient, campaign: Campaign) -> None:
    record_id = add(api).json()["record_id"]

    body = read(api).json()
    assert body | {"create_date": ""} == {
        "record_id": int(record_id),
        "phone_number": NUMBER,
        "system_status": "TO_CALL",
        "status": "To be called",
        "status_id": status_id(campaign, "TO_CALL"),
        "call_date": "",
        "create_date": "",
        "next_call_date": "",
        "agent_name": "",
        "agent_login": "",
        "last_note": "",
        "identifier": "",
        "order": "",
    }


def test_a_new_record_with_all_values(api: ApiClient, campaign: Campaign) -> None:
    AgentFactory(login="anna", name="Anna", surname="Nowak")

    add(
        api,
        status_id=str(status_id(campaign, "MY_RECORD")),
        identifier="ID-7",
        agent_login="anna",
        next_call_date="2030-07-01 12:00",
        record_fields={"city": "Łódź"},
        order=5,
    )

    body = read(api, query="?include_record_fields=1").json()
    expected = {
        "system_status": "MY_RECORD",
        "identifier": "ID-7",
        "agent_login": "anna",
        "agent_name": "Anna Nowak",
        "next_call_date": "2030-07-01 12:00",
        "order": 5,
        "record_fields": {"city": "Łódź", "first_name": ""},
    }
    assert {name: body[name] for name in expected} == expected


@pytest.mark.parametrize("spelling", ["+48221234567", "22 123-45-67", "0048 22 1234567", "(22) 123 45 67", 221234567])
def test_a_number_is_added_once_in_any_spelling(spelling: Any, api: ApiClient, campaign: Campaign) -> None:
    add(api)

    assert faults(add(api, spelling)) == {("phone_number", ErrorCode.NUMBER_DUPLICATED.number)}
    assert campaign.records.count() == 1


def test_two_campaigns_may_have_the_same_number(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(phone_number=NUMBER)

    assert add(api).status_code == 201


@pytest.mark.parametrize("number", ["22 CALL ME", "x", "+48 22 ąę", "tel:abc"])
def test_letters_in_a_number_are_refused(number: str, api: ApiClient, campaign: Campaign) -> None:
    assert faults(add(api, number)) == {("phone_number", ErrorCode.PHONE_LETTERS.number)}
    assert not campaign.records.exists()


@pytest.mark.parametrize("number", ["101", "*9", "112", "7"])
def test_extensions_and_short_numbers_are_accepted(number: str, api: ApiClient, campaign: Campaign) -> None:
    response = add(api, number)
    if not number.isdecimal():
        assert response.status_code == 400
        return

    assert response.status_code == 201
    assert read(api, number).json()["phone_number"] == number


@pytest.mark.parametrize("number", ["", None, " ", "+", "()", "-", "tel:"])
def test_a_number_without_digits_is_refused(number: Any, api: ApiClient, campaign: Campaign) -> None:
    assert {field for field, _ in faults(add(api, number))} == {"phone_number"}


def test_tel_and_parameters_are_stripped(api: ApiClient, campaign: Campaign) -> None:
    add(api, "tel:+48-22-123-45-67;ext=5")

    assert read(api, "22 1234567").json()["phone_number"] == "tel:+48-22-123-45-67;ext=5"


def test_my_record_needs_agent_and_next_call(api: ApiClient, campaign: Campaign) -> None:
    assert faults(add(api, status_id=status_id(campaign, "MY_RECORD"))) == {
        ("agent_login", ErrorCode.AGENT_REQUIRED.number),
        ("next_call_date", ErrorCode.NEXT_CALL_REQUIRED.number),
    }
    assert not campaign.records.exists()


def test_call_no_sooner_than_needs_next_call(api: ApiClient, campaign: Campaign) -> None:
    assert faults(add(api, status_id=status_id(campaign, "CALL_NO_SOONER_THAN"))) == {
        ("next_call_date", ErrorCode.NEXT_CALL_REQUIRED.number)
    }


def test_an_unreadable_value_is_not_missing_too(api: ApiClient, campaign: Campaign) -> None:
    wrong: dict[str, Any] = {"status_id": status_id(campaign, "MY_RECORD"), "agent_login": [], "next_call_date": "soon"}
    RecordFactory(campaign=campaign, phone_number="+48221234568")

    for response in (add(api, **wrong), edit(api, "+48221234568", **wrong)):
        assert faults(response) == {
            ("agent_login", ErrorCode.NOT_TEXT.number),
            ("next_call_date", ErrorCode.NOT_MINUTE.number),
        }


def test_all_faults_of_a_record_are_named_at_once(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER, identifier="ID-7")

    response = add(
        api,
        status_id=999_999_999,
        agent_login="nobody",
        next_call_date="tomorrow",
        identifier="ID-7",
        record_fields={"colour": "red", "city": "Łódź"},
        order="first",
        additional_numbers=["22 765 43 21", None, {}, "letters"],
    )

    assert faults(response) == {
        ("phone_number", ErrorCode.NUMBER_DUPLICATED.number),
        ("status_id", ErrorCode.STATUS_NOT_FOUND.number),
        ("agent_login", ErrorCode.AGENT_NOT_FOUND.number),
        ("next_call_date", ErrorCode.NOT_MINUTE.number),
        ("identifier", ErrorCode.IDENTIFIER_TAKEN.number),
        ("record_fields.colour", ErrorCode.FIELD_UNKNOWN.number),
        ("order", ErrorCode.NOT_INTEGER.number),
        ("additional_numbers.1", ErrorCode.EMPTY.number),
        ("additional_numbers.2", ErrorCode.NOT_TEXT.number),
        ("additional_numbers.3", ErrorCode.PHONE_LETTERS.number),
    }


def test_a_status_of_another_campaign_is_refused(api: ApiClient, campaign: Campaign) -> None:
    foreign = CampaignFactory().statuses.first()

    assert faults(add(api, status_id=foreign.pk)) == {("status_id", ErrorCode.STATUS_NOT_FOUND.number)}


def test_a_dictionary_status_selects_the_status_of_the_campaign(api: ApiClient, campaign: Campaign) -> None:
    status = campaign.statuses.get(system_status="NO_CALL", dictionary_status__key="")

    add(api, dictionary_status_id=status.dictionary_status_id)

    assert read(api).json()["status_id"] == status.pk


def test_both_ids_may_be_given_if_they_agree(api: ApiClient, campaign: Campaign) -> None:
    call, no_call = (
        campaign.statuses.get(system_status="CALL", dictionary_status__key=""),
        campaign.statuses.get(system_status="NO_CALL", dictionary_status__key=""),
    )

    disagreeing = add(api, status_id=call.pk, dictionary_status_id=no_call.dictionary_status_id)
    assert faults(disagreeing) == {("dictionary_status_id", ErrorCode.STATUSES_DISAGREE.number)}

    assert add(api, status_id=call.pk, dictionary_status_id=call.dictionary_status_id).status_code == 201


def test_an_unknown_dictionary_status_is_refused(api: ApiClient, campaign: Campaign) -> None:
    assert faults(add(api, dictionary_status_id=999_999)) == {
        ("dictionary_status_id", ErrorCode.DICTIONARY_STATUS_NOT_FOUND.number)
    }


def test_an_identifier_is_unique_in_its_campaign_only(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(identifier="ID-7")
    assert add(api, identifier="ID-7").status_code == 201

    assert faults(add(api, "22 765 43 21", identifier="ID-7")) == {("identifier", ErrorCode.IDENTIFIER_TAKEN.number)}


def test_several_records_may_have_no_identifier(api: ApiClient, campaign: Campaign) -> None:
    assert [add(api, f"22 123 45 6{n}", identifier="").status_code for n in range(3)] == [201] * 3


@pytest.mark.parametrize("fields", [{"city": "Łódź"}, {"city": ""}, {"unknown": "x"}])
def test_fields_cannot_be_set_in_a_crm_campaign(fields: dict[str, str], api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", crm=True)

    assert faults(add(api, record_fields=fields)) == {("record_fields", ErrorCode.FIELDS_IN_CRM.number)}


def test_an_empty_map_of_fields_is_accepted_in_a_crm_campaign(api: ApiClient) -> None:
    CampaignFactory(code="DEMO1", crm=True)

    assert add(api, record_fields={}).status_code == 201
    assert read(api, query="?include_record_fields=true").json()["record_fields"] == {}


def test_a_date_without_time_is_midnight(api: ApiClient, campaign: Campaign) -> None:
    add(api, next_call_date="2030-07-01")

    assert campaign.records.get().next_call_at == datetime(2030, 6, 30, 22, 0, tzinfo=UTC)


# Reading


@pytest.mark.parametrize(
    "path",
    [
        "+48221234567",
        "%2B48221234567",
        "48221234567",
        "221234567",
        "0048221234567",
        "22%20123%2045%2067",
        "22-123-45-67",
        "+48%20(22)%20123-45-67",
        "22/1234567",
        "22%2F123%2F4567",
        "tel:+48-22-123-45-67",
        "%E2%80%AA+48221234567%E2%80%AC",
        "22.123.45.67",
        "221234567/",
    ],
)
def test_a_record_is_found_by_any_spelling_of_its_number(path: str, api: ApiClient, campaign: Campaign) -> None:
    record = RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert api.get(f"/api/outbounds/DEMO1/records/{path}").json()["record_id"] == record.pk


@pytest.mark.parametrize("path", ["229999999", "letters", "%20", "+", "1" * 70, "%2B"])
def test_an_unknown_number_is_404(path: str, api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert api.get(f"/api/outbounds/DEMO1/records/{path}").status_code == 404
    assert api.put(f"/api/outbounds/DEMO1/records/{path}", {}).status_code == 404


def test_a_record_of_another_campaign_is_404(api: ApiClient, campaign: Campaign) -> None:
    other = RecordFactory(phone_number=NUMBER, identifier="ID-7")

    assert read(api).status_code == 404
    assert api.get("/api/outbounds/DEMO1/records_by_identifier/ID-7").status_code == 404
    assert api.get(f"/api/outbounds/{other.campaign.code}/records/{other.number}").status_code == 200


def test_the_oldest_of_duplicates_is_read(api: ApiClient, campaign: Campaign) -> None:
    oldest = RecordFactory(campaign=campaign, phone_number=NUMBER)
    RecordFactory(campaign=campaign, phone_number=NUMBER, duplicate=True)

    assert read(api).json()["record_id"] == oldest.pk


def test_the_next_duplicate_is_read_after_the_oldest_is_deleted(api: ApiClient, campaign: Campaign) -> None:
    from callcentre.core.actor import SYSTEM

    oldest = RecordFactory(campaign=campaign, phone_number=NUMBER)
    second, third = RecordFactory.create_batch(2, campaign=campaign, phone_number=NUMBER, duplicate=True)

    remove_record(oldest, SYSTEM)

    assert read(api).json()["record_id"] == second.pk
    remove_record(third, SYSTEM)
    assert edit(api, order=1).status_code == 204


@pytest.mark.parametrize("identifier", ["ID-7", "id/with/slash", "Zażółć 7", "1.5", "a?b", "%41", "+48 22"])
def test_a_record_is_found_by_its_identifier(identifier: str, api: ApiClient, campaign: Campaign) -> None:
    record = RecordFactory(campaign=campaign, identifier=identifier)

    path = f"/api/outbounds/DEMO1/records_by_identifier/{quote(identifier, safe='')}"
    assert api.get(path).json()["record_id"] == record.pk


def test_an_exact_identifier_precedes_one_without_the_trailing_slash(api: ApiClient, campaign: Campaign) -> None:
    ids = {text: RecordFactory(campaign=campaign, identifier=text).pk for text in ("abc", "abc/", "abc//", "x")}

    def found(path: str) -> Any:
        return api.get(f"/api/outbounds/DEMO1/records_by_identifier/{path}").json()["record_id"]

    assert [found(path) for path in ("abc", "abc%2F", "abc/", "abc%2F/", "x/")] == [
        ids["abc"],
        ids["abc/"],
        ids["abc/"],
        ids["abc//"],
        ids["x"],
    ]


@pytest.mark.parametrize("identifier", ["a\nb", "a\tb", "a\x1bb", "a\x7fb", "a\u2028b"])
def test_an_identifier_has_no_control_characters(identifier: str, api: ApiClient, campaign: Campaign) -> None:
    assert faults(add(api, identifier=identifier)) == {("identifier", ErrorCode.NOT_ONE_LINE.number)}
    assert not campaign.records.exists()


def test_fields_are_included_on_request(api: ApiClient, campaign: Campaign) -> None:
    add(api, record_fields={"first_name": "Ewa"})

    assert "record_fields" not in read(api).json()
    assert "record_fields" not in read(api, query="?include_record_fields=false").json()
    assert read(api, query="?include_record_fields=true").json()["record_fields"] == {"city": "", "first_name": "Ewa"}


# Additional numbers


def test_additional_numbers_are_searched_on_request(api: ApiClient, campaign: Campaign) -> None:
    record_id = int(add(api, additional_numbers=["+48 601 000 001"]).json()["record_id"])

    assert read(api, "601000001").status_code == 404
    found = read(api, "601000001", "?search_in_additional_numbers=true").json()
    assert (found["record_id"], found["phone_number"]) == (record_id, NUMBER)


def test_a_records_own_number_precedes_an_additional_one(api: ApiClient, campaign: Campaign) -> None:
    AdditionalNumberFactory(record__campaign=campaign, phone_number=NUMBER)
    own = RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert read(api, query="?search_in_additional_numbers=1").json()["record_id"] == own.pk


def test_an_additional_number_is_no_duplicate(api: ApiClient, campaign: Campaign) -> None:
    add(api, additional_numbers=["601000001"])

    assert add(api, "601 000 001").status_code == 201
    assert add(api, "601 000 002", additional_numbers=[NUMBER, "601000001"]).status_code == 201


def test_repeated_additional_numbers_are_stored_once(api: ApiClient, campaign: Campaign) -> None:
    add(api, additional_numbers=["601000001", "+48 601 000 001", "22 1234567"])

    assert list(AdditionalNumber.objects.values_list("number", flat=True)) == ["+48601000001"]


def test_additional_numbers_of_another_campaign_are_not_found(api: ApiClient, campaign: Campaign) -> None:
    AdditionalNumberFactory(phone_number="601000001")

    assert read(api, "601000001", "?search_in_additional_numbers=true").status_code == 404
