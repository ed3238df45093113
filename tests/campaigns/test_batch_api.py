"""Edits of many records over HTTP, malformed batches, and the cost of large ones."""

import tracemalloc
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from callcentre.core.errors import ErrorCode
from callcentre.models import ApiUser
from campaigns.models import Campaign, Record, RecordChange
from tests.campaigns.api_calls import BATCH, NUMBER
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db

DONE = {"http_status": 204}
NEXT = "2030-07-01 12:00"


@pytest.fixture
def campaign(db: None) -> Campaign:
    return CampaignFactory(code="DEMO1", fields=["city"])


def edit(api: ApiClient, *items: Any, query: str = "") -> Any:
    response = api.put(f"{BATCH}{query}", {"records": list(items)})
    assert response.status_code == 207, response.content
    return response.json()


def refused(api: ApiClient, item: dict[str, Any], query: str = "") -> str:
    """Return the message of the only item of a batch, which is refused."""
    [entry] = edit(api, item, query=query).values()
    assert entry["http_status"] == 400
    assert set(entry) == {"http_status", "message"}
    return str(entry["message"])


def message(code: ErrorCode, **params: Any) -> str:
    return str(code.text) % params


# Editing


def test_an_edited_item_answers_204_under_the_number_as_sent(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert edit(api, {"phone_number": "0048 (22) 1234567", "next_call_date": NEXT}) == {"0048 (22) 1234567": DONE}
    assert campaign.records.get().next_call_at is not None


def test_the_key_of_an_answer_keeps_the_spaces_of_the_number(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert edit(api, {"phone_number": " 22 1234567 "}) == {" 22 1234567 ": DONE}


def test_a_phone_number_may_be_a_json_number(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert edit(api, {"phone_number": 221234567}) == {"221234567": DONE}


def test_an_unknown_agent_has_the_message_of_the_interface(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert refused(api, {"phone_number": NUMBER, "agent_login": "nobody"}) == "Agent not found."


def test_an_invalid_item_stops_no_other(api: ApiClient, campaign: Campaign) -> None:
    good, busy, unfit = (f"22 123 45 6{n}" for n in range(3))
    RecordFactory(campaign=campaign, phone_number=good)
    RecordFactory(campaign=campaign, phone_number=busy, in_live_call=True)
    RecordFactory(campaign=campaign, phone_number=unfit)

    answer = edit(
        api,
        {"phone_number": "22 999 99 99", "next_call_date": NEXT},
        {"phone_number": "letters", "next_call_date": NEXT},
        {"phone_number": busy, "next_call_date": NEXT},
        {"phone_number": unfit, "next_call_date": NEXT, "agent_login": "nobody"},
        {"phone_number": good, "next_call_date": NEXT},
    )

    assert answer == {
        "22 999 99 99": {"http_status": 400, "message": "Record not found."},
        "letters": {"http_status": 400, "message": "A phone number has no letters."},
        busy: {"http_status": 400, "message": "The record is in a live call."},
        unfit: {"http_status": 400, "message": "Agent not found."},
        good: DONE,
    }
    assert [record.phone_number for record in Record.objects.exclude(next_call_at=None)] == [good]


def test_an_item_with_one_fault_changes_nothing(api: ApiClient, campaign: Campaign) -> None:
    record = RecordFactory(campaign=campaign, phone_number=NUMBER)

    refused(api, {"phone_number": NUMBER, "record_fields": {"city": "Łódź"}, "status_id": 999_999_999})

    record.refresh_from_db()
    assert record.fields == {}
    assert not RecordChange.objects.exists()


WRONG_ITEMS: list[tuple[dict[str, Any], ErrorCode, dict[str, Any]]] = [
    ({"status_id": 999_999_999}, ErrorCode.STATUS_NOT_FOUND, {}),
    ({"status_id": "x"}, ErrorCode.NOT_INTEGER, {"field": "status_id"}),
    ({"dictionary_status_id": 999_999_999}, ErrorCode.DICTIONARY_STATUS_NOT_FOUND, {}),
    ({"next_call_date": "tomorrow"}, ErrorCode.NOT_MINUTE, {"field": "next_call_date"}),
    ({"record_fields": {"colour": "red"}}, ErrorCode.FIELD_UNKNOWN, {"name": "colour"}),
    ({"record_fields": "red"}, ErrorCode.NOT_OBJECT, {"field": "record_fields"}),
    ({"record_fields": {"city": [1]}}, ErrorCode.NOT_TEXT, {"field": "record_fields.city"}),
    (
        {"search_in_additional_numbers": "perhaps"},
        ErrorCode.NOT_BOOLEAN,
        {"field": "search_in_additional_numbers"},
    ),
]


@pytest.mark.parametrize(("item", "code", "params"), WRONG_ITEMS, ids=str)
def test_each_item_is_as_strict_as_a_single_edit(
    item: dict[str, Any], code: ErrorCode, params: dict[str, Any], api: ApiClient, campaign: Campaign
) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert refused(api, {"phone_number": NUMBER, **item}) == message(code, **params)


def test_an_item_names_all_its_faults(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    status = campaign.statuses.get(system_status="MY_RECORD", dictionary_status__key="")

    text = refused(api, {"phone_number": NUMBER, "status_id": status.pk})

    assert "agent_login" in text
    assert "next_call_date" in text


def test_fields_cannot_be_set_in_a_crm_campaign(api: ApiClient) -> None:
    RecordFactory(campaign=CampaignFactory(code="DEMO1", crm=True), phone_number=NUMBER)

    text = refused(api, {"phone_number": NUMBER, "record_fields": {"city": "Łódź"}})

    assert text == message(ErrorCode.FIELDS_IN_CRM)


def test_a_number_of_two_records_cannot_be_edited(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    RecordFactory(campaign=campaign, phone_number="221234567", duplicate=True)

    text = refused(api, {"phone_number": NUMBER, "next_call_date": NEXT})

    assert text == message(ErrorCode.NUMBER_AMBIGUOUS)
    assert not Record.objects.exclude(next_call_at=None).exists()


def test_a_batch_ignores_fields_of_the_single_edit_only(api: ApiClient, campaign: Campaign) -> None:
    record = RecordFactory(campaign=campaign, phone_number=NUMBER, identifier="ID-7")

    assert edit(api, {"phone_number": NUMBER, "identifier": "ID-8", "order": 5, "note": "x"}) == {NUMBER: DONE}

    record.refresh_from_db()
    assert (record.identifier, record.order, record.last_note) == ("ID-7", None, "")


def test_a_batch_writes_history(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    edit(
        api,
        {
            "phone_number": NUMBER,
            "dictionary_status_id": campaign.statuses.get(
                system_status="CALL_PROGRESSIVE", dictionary_status__key=""
            ).dictionary_status_id,
        },
    )

    change = RecordChange.objects.get()
    assert (change.action, change.actor_kind, change.actor_name) == ("edit", "api_user", "all")
    assert (change.from_system_status, change.to_system_status) == ("TO_CALL", "CALL_PROGRESSIVE")


# The same record twice


def test_a_second_spelling_of_one_record_is_refused(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    answer = edit(
        api,
        {"phone_number": NUMBER, "record_fields": {"city": "Łódź"}},
        {"phone_number": "221234567", "record_fields": {"city": "Kraków"}},
    )

    assert answer == {
        NUMBER: DONE,
        "221234567": {"http_status": 400, "message": message(ErrorCode.SAME_RECORD_TWICE)},
    }
    assert list(campaign.records.get().fields.values()) == ["Łódź"]


@pytest.mark.parametrize("times", [2, 3])
def test_the_same_spelling_twice_answers_400_and_applies_the_first(
    times: int, api: ApiClient, campaign: Campaign
) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    items = [{"phone_number": NUMBER, "record_fields": {"city": f"City {n}"}} for n in range(times)]

    assert edit(api, *items) == {NUMBER: {"http_status": 400, "message": message(ErrorCode.FIRST_APPLIED)}}
    assert list(campaign.records.get().fields.values()) == ["City 0"]


def test_the_same_spelling_twice_answers_the_fault_of_the_first(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    answer = edit(
        api,
        {"phone_number": NUMBER, "agent_login": "nobody"},
        {"phone_number": NUMBER, "record_fields": {"city": "Łódź"}},
    )

    assert answer == {NUMBER: {"http_status": 400, "message": "Agent not found."}}
    assert campaign.records.get().fields == {}


def test_own_and_additional_number_mean_the_same_record(api: ApiClient, campaign: Campaign) -> None:
    record = RecordFactory(campaign=campaign, phone_number=NUMBER)
    AdditionalNumberFactory(record=record, phone_number="601000001")

    answer = edit(api, {"phone_number": NUMBER}, {"phone_number": "601000001"}, query="?search_in_additional_numbers=1")

    assert answer == {
        NUMBER: DONE,
        "601000001": {"http_status": 400, "message": message(ErrorCode.SAME_RECORD_TWICE)},
    }


# Additional numbers


@pytest.mark.parametrize(
    ("query", "item", "status"),
    [
        ("", {}, 400),
        ("?search_in_additional_numbers=true", {}, 204),
        ("?search_in_additional_numbers=true", {"search_in_additional_numbers": False}, 400),
        ("?search_in_additional_numbers=false", {"search_in_additional_numbers": "1"}, 204),
        ("?search_in_additional_numbers=1", {"search_in_additional_numbers": None}, 204),
    ],
)
def test_search_in_additional_numbers_of_an_item_overrides_the_query(
    query: str, item: dict[str, Any], status: int, api: ApiClient, campaign: Campaign
) -> None:
    AdditionalNumberFactory(record__campaign=campaign, phone_number="601000001")

    answer = edit(api, {"phone_number": "601000001", **item}, query=query)

    assert answer["601000001"]["http_status"] == status


# Malformed bodies


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "records"),
        ({"records": None}, "records"),
        ({"records": []}, "records"),
        ({"records": {}}, "records"),
        ({"records": "x"}, "records"),
        ({"records": {"phone_number": NUMBER}}, "records"),
        ({"records": [{"phone_number": NUMBER}, "x"]}, "records.1"),
        ({"records": [{"phone_number": NUMBER}, None]}, "records.1"),
        ({"records": [{"phone_number": NUMBER}, {}]}, "records.1.phone_number"),
        ({"records": [{"phone_number": NUMBER}, {"phone_number": ""}]}, "records.1.phone_number"),
        ({"records": [{"phone_number": NUMBER}, {"phone_number": ["22"]}]}, "records.1.phone_number"),
        ([], ""),
        ([{"phone_number": NUMBER}], ""),
    ],
    ids=str,
)
def test_a_malformed_body_is_refused(body: Any, field: str, api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    for method in (api.put, api.post):
        response = method(BATCH, body)
        assert response.status_code == 400
        assert [error.get("field", "") for error in response.json()["errors"]] == [field]
    assert Record.objects.count() == 1


def test_a_batch_has_ten_thousand_items_at_most(api: ApiClient, campaign: Campaign) -> None:
    items = [{"phone_number": f"22{n:07}"} for n in range(10_001)]

    response = api.put(BATCH, {"records": items})

    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == ErrorCode.TOO_MANY.number


# Size


def _items(count: int, campaign: Campaign) -> list[dict[str, Any]]:
    status = campaign.statuses.get(system_status="MY_RECORD", dictionary_status__key="")
    return [
        {
            "phone_number": f"+48 22 {n:07}",
            "status_id": status.pk,
            "agent_login": "anna",
            "next_call_date": NEXT,
            "record_fields": {"city": f"City {n}"},
        }
        for n in range(count)
    ]


@pytest.mark.trial
@pytest.mark.slow("sends ten thousand items")
@pytest.mark.parametrize("method", ["put", "post"])
def test_statements_and_memory_of_ten_thousand_items(method: str, api: ApiClient, campaign: Campaign) -> None:
    AgentFactory(login="anna")
    ApiUser.objects.update(last_used_at=timezone.now())
    costs = []
    for count in (1, 10_000):
        items = _items(count, campaign)
        Record.objects.all().delete()
        if method == "put":
            records = [
                Record(campaign=campaign, phone_number=item["phone_number"], number=f"+4822{n:07}")
                for n, item in enumerate(items)
            ]
            Record.objects.bulk_create(records, batch_size=2000)
        with CaptureQueriesContext(connection) as captured:
            tracemalloc.start()
            response = getattr(api, method)(BATCH, {"records": items})
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert {entry.get("http_status", 201) for entry in response.json().values()} <= {204, 201}
        assert len(response.json()) == count
        costs.append(len(captured))

    assert costs[0] == costs[1]
    # The request, the answer and the test's log of statements take about 15 MB of it.
    assert peak < 100_000_000
    assert Record.objects.filter(system_status="MY_RECORD").count() == 10_000
