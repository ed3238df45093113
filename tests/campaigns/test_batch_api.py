"""Edits and additions of many records over HTTP, malformed batches, and the cost of large ones."""

import itertools
import tracemalloc
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from callcentre.core.errors import ErrorCode as E
from callcentre.models import ApiUser
from campaigns.models import Record, RecordChange
from campaigns.verbs.new_records import NewRecord
from tests.campaigns.api_calls import BATCH, NUMBER, status_of
from tests.campaigns.factories import AdditionalNumberFactory, RecordFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db

DONE = {"http_status": 204}
NEXT = "2030-07-01 12:00"
OTHER = "22 765 43 21"


@pytest.fixture
def record(campaign):
    return RecordFactory(campaign=campaign, phone_number=NUMBER)


def edit(api: ApiClient, *items: Any, query: str = "") -> Any:
    response = api.put(f"{BATCH}{query}", {"records": list(items)})
    assert response.status_code == 207, response.content
    return response.json()


def refusal(code: E, **params: Any) -> dict[str, Any]:
    return {"http_status": 400, "message": str(code.text) % params}


def in_city(number: str, city: str) -> dict[str, Any]:
    return {"phone_number": number, "record_fields": {"city": city}}


# Editing


@pytest.mark.parametrize("number", ["0048 (22) 1234567", " 22 1234567 ", 221234567])
def test_an_edited_item_answers_204_under_the_number_as_sent(api, record, number):
    assert edit(api, {"phone_number": number, "next_call_date": NEXT}) == {str(number): DONE}
    record.refresh_from_db()
    assert record.next_call_at is not None


def test_an_invalid_item_stops_no_other(api, campaign):
    good, busy, unfit = (f"22 123 45 6{n}" for n in range(3))
    for number in (good, busy, unfit):
        RecordFactory(campaign=campaign, phone_number=number, in_live_call=number == busy)
    items = [{"phone_number": number, "next_call_date": NEXT} for number in ("22 999 99 99", "letters", busy, good)]

    answer = edit(api, {"phone_number": unfit, "next_call_date": NEXT, "agent_login": "nobody"}, *items)

    assert answer == {
        "22 999 99 99": {"http_status": 400, "message": "Record not found."},
        "letters": {"http_status": 400, "message": "A phone number has no letters."},
        busy: {"http_status": 400, "message": "The record is in a live call."},
        unfit: {"http_status": 400, "message": "Agent not found."},
        good: DONE,
    }
    assert [record.phone_number for record in Record.objects.exclude(next_call_at=None)] == [good]


@pytest.mark.parametrize(
    ("item", "code", "params"),
    [
        ({"status_id": 999_999_999, "record_fields": {"city": "Łódź"}}, E.STATUS_NOT_FOUND, {}),
        ({"status_id": "x"}, E.NOT_INTEGER, {"field": "status_id"}),
        ({"dictionary_status_id": 999_999_999}, E.DICTIONARY_STATUS_NOT_FOUND, {}),
        ({"next_call_date": "tomorrow"}, E.NOT_MINUTE, {"field": "next_call_date"}),
        ({"record_fields": {"colour": "red"}}, E.FIELD_UNKNOWN, {"name": "colour"}),
        ({"record_fields": "red"}, E.NOT_OBJECT, {"field": "record_fields"}),
        ({"record_fields": {"city": [1]}}, E.NOT_TEXT, {"field": "record_fields.city"}),
        ({"search_in_additional_numbers": "perhaps"}, E.NOT_BOOLEAN, {"field": "search_in_additional_numbers"}),
    ],
    ids=str,
)
def test_each_item_is_as_strict_as_a_single_edit_and_changes_nothing_with_one_fault(item, code, params, api, record):
    assert edit(api, {"phone_number": NUMBER, **item}) == {NUMBER: refusal(code, **params)}
    assert Record.objects.get().fields == {}
    assert not RecordChange.objects.exists()


def test_an_item_names_all_its_faults(api, record):
    (entry,) = edit(api, {"phone_number": NUMBER, "status_id": status_of(record.campaign, "MY_RECORD").pk}).values()

    assert all(name in entry["message"] for name in ("agent_login", "next_call_date"))


def test_a_batch_writes_history_and_ignores_fields_of_the_single_edit_only(api, record):
    status = status_of(record.campaign, "CALL_PROGRESSIVE")
    others = {"identifier": "ID-8", "order": 5, "note": "x"}

    edit(api, {"phone_number": NUMBER, "dictionary_status_id": status.dictionary_status_id, **others})

    record.refresh_from_db()
    assert (record.status, record.identifier, record.order, record.last_note) == (status, "", None, "")
    change = RecordChange.objects.get()
    assert (change.action, change.actor_kind, change.actor_name) == ("edit", "api_user", "all")
    assert (change.from_system_status, change.to_system_status) == ("TO_CALL", "CALL_PROGRESSIVE")


@pytest.mark.parametrize(
    ("items", "answer", "cities"),
    [
        # Another spelling of the number.
        (
            [in_city(NUMBER, "Łódź"), in_city("221234567", "Kraków")],
            {NUMBER: DONE, "221234567": refusal(E.SAME_RECORD_TWICE)},
            ["Łódź"],
        ),
        (
            [in_city(NUMBER, "Łódź"), in_city("601000001", "x")],
            {NUMBER: DONE, "601000001": refusal(E.SAME_RECORD_TWICE)},
            ["Łódź"],
        ),
        # The same spelling: the first is applied, or its fault is answered.
        *(
            ([in_city(NUMBER, c) for c in cities], {NUMBER: refusal(E.FIRST_APPLIED)}, ["a"])
            for cities in ("ab", "abc")
        ),
        (
            [{"phone_number": NUMBER, "agent_login": "nobody"}, in_city(NUMBER, "Łódź")],
            {NUMBER: {"http_status": 400, "message": "Agent not found."}},
            [],
        ),
    ],
)
def test_the_first_of_several_items_of_one_record_is_applied(api, record, items, answer, cities):
    AdditionalNumberFactory(record=record, phone_number="601000001")

    assert edit(api, *items, query="?search_in_additional_numbers=1") == answer
    record.refresh_from_db()
    assert list(record.fields.values()) == cities


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
def test_search_in_additional_numbers_of_an_item_overrides_the_query(query, item, status, api, campaign):
    AdditionalNumberFactory(record__campaign=campaign, phone_number="601000001")

    answer = edit(api, {"phone_number": "601000001", **item}, query=query)

    assert answer["601000001"]["http_status"] == status


# Adding


def test_the_answer_has_the_result_of_each_number(api, record):
    items = [
        {"phone_number": OTHER, "identifier": "ID-1"},
        {"phone_number": "221234567"},
        {"phone_number": "+48227654321"},
        {"phone_number": "22 000 00 01", "identifier": "ID-1"},
        {"phone_number": "22 000 00 02", "agent_login": "nobody"},
    ]

    response = api.post(BATCH, {"records": items})

    added = Record.objects.get(identifier="ID-1")
    assert response.status_code == 201
    assert response.json() == {
        OTHER: {"status": "ADDED", "record_id": str(added.pk)},
        "221234567": {"status": "ALREADY_EXISTS", "record_id": str(record.pk)},
        "+48227654321": {"status": "ALREADY_EXISTS", "record_id": str(added.pk)},
        "22 000 00 01": {"status": "FAILED", "message": str(E.IDENTIFIER_TAKEN.text)},
        "22 000 00 02": {"status": "FAILED", "message": "Agent not found."},
    }
    assert Record.objects.count() == 2


def added(api: ApiClient, *items: tuple[str, str] | tuple[str, str, str]) -> dict[str, str]:
    """Add records with these numbers, identifiers and agents; return number -> its record's number, or the status."""
    names = ("phone_number", "identifier", "agent_login")
    answer = api.post(BATCH, {"records": [dict(zip(names, item, strict=False)) for item in items]}).json()
    numbers = {str(record.pk): record.phone_number for record in Record.objects.all()}
    return {number: numbers.get(entry.get("record_id"), entry["status"]) for number, entry in answer.items()}


@pytest.mark.parametrize(
    ("existing", "items", "results", "kept"),
    [
        # A refused item does not reserve its number.
        (
            {"identifier": "TAKEN"},
            [(NUMBER, "TAKEN"), ("221234567", "FREE")],
            ["FAILED", "221234567"],
            ("FREE", "221234567"),
        ),
        # A number that exists or is repeated does not reserve the identifier.
        (
            {"phone_number": NUMBER},
            [(NUMBER, "ID-1"), (OTHER, "ID-1"), ("22 765 43 22", "ID-1")],
            [NUMBER, OTHER, "FAILED"],
            ("ID-1", OTHER),
        ),
        ({}, [(NUMBER, ""), ("221234567", "ID-1"), (OTHER, "ID-1")], [NUMBER, NUMBER, OTHER], ("ID-1", OTHER)),
        # One of two items with the same spelling is valid.
        ({}, [(NUMBER, "", "nobody"), (NUMBER, "ID-1")], [NUMBER], ("ID-1", NUMBER)),
    ],
)
def test_a_refused_item_reserves_neither_number_nor_identifier(api, campaign, *, existing, items, results, kept):
    RecordFactory(campaign=campaign, **existing)

    answer = added(api, *items)

    assert list(answer.values()) == results
    assert campaign.records.get(identifier=kept[0]).phone_number == kept[1]


def test_work_for_repeats_of_one_number_is_linear(api, campaign, monkeypatch):
    reads = 0

    class Counted(NewRecord):
        def __getattribute__(self, name):
            nonlocal reads
            reads += name == "number"
            return super().__getattribute__(name)

    monkeypatch.setattr("campaigns.api.records.NewRecord", Counted)
    parts = itertools.product(*([digit, f"{digit}-"] for digit in "0048221234"), ["567"])
    spellings = ["".join(part) for part in parts]

    answer = added(api, *((spelling, "") for spelling in spellings))

    assert answer == dict.fromkeys(spellings, campaign.records.get().phone_number)
    assert reads < 20 * len(spellings)


def test_added_records_have_the_order_of_the_request(api, campaign):
    numbers = [f"22 123 45 {n}" for n in (67, 12, 99, 45, 10)]

    api.post(BATCH, {"records": [{"phone_number": number} for number in numbers]})

    assert list(campaign.records.order_by("id").values_list("phone_number", flat=True)) == numbers


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], ""),
        ([{"phone_number": NUMBER}], ""),
        ({}, "records"),
        *(({"records": records}, "records") for records in (None, "x", {"phone_number": NUMBER})),
        ({"records": []}, "records"),
        ({"records": {}}, "records"),
        *(({"records": [{"phone_number": NUMBER}, item]}, "records.1") for item in ("x", None)),
        *(
            ({"records": [{"phone_number": NUMBER}, item]}, "records.1.phone_number")
            for item in ({}, {"phone_number": ""}, {"phone_number": ["22"]})
        ),
    ],
    ids=str,
)
def test_a_malformed_body_is_refused(body, field, api, record):
    for method in (api.put, api.post):
        response = method(BATCH, body)
        assert response.status_code == 400
        assert [error.get("field", "") for error in response.json()["errors"]] == [field]
    assert Record.objects.count() == 1


def test_a_batch_has_ten_thousand_items_at_most(api, campaign):
    response = api.put(BATCH, {"records": [{"phone_number": f"22{n:07}"} for n in range(10_001)]})

    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == E.TOO_MANY.number


@pytest.mark.trial
@pytest.mark.slow("sends ten thousand items")
@pytest.mark.parametrize("method", ["put", "post"])
def test_statements_and_memory_of_ten_thousand_items(method, api, campaign):
    AgentFactory(login="anna")
    ApiUser.objects.update(last_used_at=timezone.now())
    own = {"status_id": status_of(campaign, "MY_RECORD").pk, "agent_login": "anna", "next_call_date": NEXT}
    costs = []
    for count in (1, 10_000):
        items = [in_city(f"+48 22 {n:07}", f"City {n}") | own for n in range(count)]
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
