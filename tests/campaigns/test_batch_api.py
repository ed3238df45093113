"""Many records at once: each item stands alone, and ten thousand cost as many statements as one."""

import itertools
import tracemalloc
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from callcentre.core.errors import ErrorCode
from callcentre.models import ApiUser
from campaigns.models import Campaign, Record, RecordChange
from campaigns.verbs.new_records import NewRecord
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db

NUMBER = "+48 22 123 45 67"
PATH = "/api/batch/outbounds/DEMO1/records"
DONE = {"http_status": 204}
NEXT = "2030-07-01 12:00"


@pytest.fixture
def campaign(db: None) -> Campaign:
    return CampaignFactory(code="DEMO1", fields=["city"])


def edit(api: ApiClient, *items: Any, query: str = "") -> Any:
    response = api.put(f"{PATH}{query}", {"records": list(items)})
    assert response.status_code == 207, response.content
    return response.json()


def refused(api: ApiClient, item: dict[str, Any], query: str = "") -> str:
    """The message of the one item of a batch that fails."""
    [entry] = edit(api, item, query=query).values()
    assert entry["http_status"] == 400
    assert set(entry) == {"http_status", "message"}
    return str(entry["message"])


def message(code: ErrorCode, **params: Any) -> str:
    return str(code.text) % params


# Editing


def test_an_edited_item_says_204_and_nothing_else_under_the_number_as_it_was_sent(
    api: ApiClient, campaign: Campaign
) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert edit(api, {"phone_number": "0048 (22) 1234567", "next_call_date": NEXT}) == {"0048 (22) 1234567": DONE}
    assert campaign.records.get().next_call_at is not None


def test_the_number_as_sent_keeps_its_blanks_as_a_key(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert edit(api, {"phone_number": " 22 1234567 "}) == {" 22 1234567 ": DONE}


def test_a_number_may_be_sent_as_a_number(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert edit(api, {"phone_number": 221234567}) == {"221234567": DONE}


def test_an_unknown_agent_reads_as_the_interface_says(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    assert refused(api, {"phone_number": NUMBER, "agent_login": "nobody"}) == "Agent not found."


def test_one_bad_item_never_stops_another(api: ApiClient, campaign: Campaign) -> None:
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


def test_an_item_is_edited_whole_or_not_at_all(api: ApiClient, campaign: Campaign) -> None:
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


def test_an_item_names_all_that_is_wrong_with_it(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    status = campaign.statuses.get(system_status="MY_RECORD")

    text = refused(api, {"phone_number": NUMBER, "status_id": status.pk})

    assert "agent_login" in text
    assert "next_call_date" in text


def test_fields_cannot_be_set_in_a_crm_campaign(api: ApiClient) -> None:
    RecordFactory(campaign=CampaignFactory(code="DEMO1", crm=True), phone_number=NUMBER)

    text = refused(api, {"phone_number": NUMBER, "record_fields": {"city": "Łódź"}})

    assert text == message(ErrorCode.FIELDS_IN_CRM)


def test_a_number_that_two_records_have_cannot_be_edited(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    RecordFactory(campaign=campaign, phone_number="221234567", duplicate=True)

    text = refused(api, {"phone_number": NUMBER, "next_call_date": NEXT})

    assert text == message(ErrorCode.NUMBER_AMBIGUOUS)
    assert not Record.objects.exclude(next_call_at=None).exists()


def test_what_only_our_own_edit_knows_is_ignored_in_a_batch(api: ApiClient, campaign: Campaign) -> None:
    record = RecordFactory(campaign=campaign, phone_number=NUMBER, identifier="ID-7")

    assert edit(api, {"phone_number": NUMBER, "identifier": "ID-8", "order": 5, "note": "x"}) == {NUMBER: DONE}

    record.refresh_from_db()
    assert (record.identifier, record.order, record.last_note) == ("ID-7", None, "")


def test_a_batch_leaves_history_like_a_single_edit(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    edit(
        api,
        {
            "phone_number": NUMBER,
            "dictionary_status_id": campaign.statuses.get(system_status="CALL_PROGRESSIVE").dictionary_status_id,
        },
    )

    change = RecordChange.objects.get()
    assert (change.action, change.actor_kind, change.actor_name) == ("edit", "api_user", "all")
    assert (change.from_system_status, change.to_system_status) == ("TO_CALL", "CALL_PROGRESSIVE")


# The same record twice


def test_two_spellings_of_one_record_edit_it_once_and_refuse_the_later(api: ApiClient, campaign: Campaign) -> None:
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
def test_one_spelling_twice_says_400_and_that_the_first_was_applied(
    times: int, api: ApiClient, campaign: Campaign
) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)
    items = [{"phone_number": NUMBER, "record_fields": {"city": f"City {n}"}} for n in range(times)]

    assert edit(api, *items) == {NUMBER: {"http_status": 400, "message": message(ErrorCode.FIRST_APPLIED)}}
    assert list(campaign.records.get().fields.values()) == ["City 0"]


def test_one_spelling_twice_whose_first_item_fails_says_why(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    answer = edit(
        api,
        {"phone_number": NUMBER, "agent_login": "nobody"},
        {"phone_number": NUMBER, "record_fields": {"city": "Łódź"}},
    )

    assert answer == {NUMBER: {"http_status": 400, "message": "Agent not found."}}
    assert campaign.records.get().fields == {}


def test_a_record_by_its_own_and_by_its_additional_number_is_the_same_record(
    api: ApiClient, campaign: Campaign
) -> None:
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
def test_an_items_wish_to_search_additional_numbers_wins_over_the_querys(
    query: str, item: dict[str, Any], status: int, api: ApiClient, campaign: Campaign
) -> None:
    AdditionalNumberFactory(record__campaign=campaign, phone_number="601000001")

    answer = edit(api, {"phone_number": "601000001", **item}, query=query)

    assert answer["601000001"]["http_status"] == status


# Bodies that are refused whole


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
def test_a_body_that_is_no_array_of_objects_with_numbers_is_refused_whole(
    body: Any, field: str, api: ApiClient, campaign: Campaign
) -> None:
    RecordFactory(campaign=campaign, phone_number=NUMBER)

    for method in (api.put, api.post):
        response = method(PATH, body)
        assert response.status_code == 400
        assert [error.get("field", "") for error in response.json()["errors"]] == [field]
    assert Record.objects.count() == 1


def test_a_batch_has_ten_thousand_items_at_most(api: ApiClient, campaign: Campaign) -> None:
    items = [{"phone_number": f"22{n:07}"} for n in range(10_001)]

    response = api.put(PATH, {"records": items})

    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == ErrorCode.TOO_MANY.number


# Adding


def test_each_added_number_says_what_became_of_it(api: ApiClient, campaign: Campaign) -> None:
    existing = RecordFactory(campaign=campaign, phone_number=NUMBER)
    items = [
        {"phone_number": "22 765 43 21", "identifier": "ID-1"},
        {"phone_number": "221234567"},
        {"phone_number": "+48227654321"},
        {"phone_number": "22 000 00 01", "identifier": "ID-1"},
        {"phone_number": "22 000 00 02", "agent_login": "nobody"},
    ]

    response = api.post(PATH, {"records": items})

    added = campaign.records.get(identifier="ID-1")
    assert response.status_code == 201
    assert response.json() == {
        "22 765 43 21": {"status": "ADDED", "record_id": str(added.pk)},
        "221234567": {"status": "ALREADY_EXISTS", "record_id": str(existing.pk)},
        "+48227654321": {"status": "ALREADY_EXISTS", "record_id": str(added.pk)},
        "22 000 00 01": {"status": "FAILED", "message": message(ErrorCode.IDENTIFIER_TAKEN)},
        "22 000 00 02": {"status": "FAILED", "message": "Agent not found."},
    }
    assert campaign.records.count() == 2


def added(api: ApiClient, *items: dict[str, Any]) -> dict[str, Any]:
    """The status of each number, or the id of its record."""
    answer = api.post(PATH, {"records": list(items)}).json()
    return {number: entry.get("record_id", entry["status"]) for number, entry in answer.items()}


def test_a_refused_item_takes_no_number_from_a_later_one(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, identifier="TAKEN")

    answer = added(
        api,
        {"phone_number": NUMBER, "identifier": "TAKEN"},
        {"phone_number": "221234567", "identifier": "FREE"},
    )

    record = campaign.records.get(identifier="FREE")
    assert answer == {NUMBER: "FAILED", "221234567": str(record.pk)}


def test_a_number_that_exists_takes_no_identifier_from_a_later_one(api: ApiClient, campaign: Campaign) -> None:
    existing = RecordFactory(campaign=campaign, phone_number=NUMBER)

    answer = added(
        api,
        {"phone_number": NUMBER, "identifier": "ID-1"},
        {"phone_number": "22 765 43 21", "identifier": "ID-1"},
        {"phone_number": "22 765 43 22", "identifier": "ID-1"},
    )

    record = campaign.records.get(identifier="ID-1")
    assert record.phone_number == "22 765 43 21"
    assert answer == {NUMBER: str(existing.pk), "22 765 43 21": str(record.pk), "22 765 43 22": "FAILED"}


def test_a_repeat_of_a_repeat_takes_nothing_from_a_later_item(api: ApiClient, campaign: Campaign) -> None:
    answer = added(
        api,
        {"phone_number": NUMBER},
        {"phone_number": "221234567", "identifier": "ID-1"},
        {"phone_number": "22 765 43 21", "identifier": "ID-1"},
    )

    first, second = campaign.records.order_by("id")
    assert second.identifier == "ID-1"
    assert answer == {NUMBER: str(first.pk), "221234567": str(first.pk), "22 765 43 21": str(second.pk)}


def test_a_number_spelled_alike_twice_is_added_if_one_item_can_be(api: ApiClient, campaign: Campaign) -> None:
    answer = added(api, {"phone_number": NUMBER, "agent_login": "nobody"}, {"phone_number": NUMBER})

    assert answer == {NUMBER: str(campaign.records.get().pk)}


def test_the_work_for_repeats_of_one_number_grows_with_their_count_and_not_with_its_square(
    api: ApiClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0

    class Counted(NewRecord):
        def __getattribute__(self, name: str) -> Any:
            nonlocal reads
            reads += name == "number"
            return super().__getattribute__(name)

    monkeypatch.setattr("campaigns.api.records.NewRecord", Counted)
    spellings = [
        "".join(parts) for parts in itertools.product(*([digit, f"{digit}-"] for digit in "0048221234"), ["567"])
    ]

    answer = added(api, *({"phone_number": spelling} for spelling in spellings))

    assert answer == dict.fromkeys(spellings, str(campaign.records.get().pk))
    assert reads < 20 * len(spellings)


def test_records_added_together_are_in_the_order_in_which_they_were_sent(api: ApiClient, campaign: Campaign) -> None:
    numbers = [f"22 123 45 {n}" for n in (67, 12, 99, 45, 10)]

    api.post(PATH, {"records": [{"phone_number": number} for number in numbers]})

    assert list(campaign.records.order_by("id").values_list("phone_number", flat=True)) == numbers


# Size


def _items(count: int, campaign: Campaign) -> list[dict[str, Any]]:
    status = campaign.statuses.get(system_status="MY_RECORD")
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


@pytest.mark.parametrize("method", ["put", "post"])
def test_ten_thousand_items_cost_the_statements_of_one_and_bounded_memory(
    method: str, api: ApiClient, campaign: Campaign
) -> None:
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
            response = getattr(api, method)(PATH, {"records": items})
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert {entry.get("http_status", 201) for entry in response.json().values()} <= {204, 201}
        assert len(response.json()) == count
        costs.append(len(captured))

    assert costs[0] == costs[1]
    # Of which the request, the answer and the log of statements that the test keeps are about 15 MB.
    assert peak < 100_000_000
    assert Record.objects.filter(system_status="MY_RECORD").count() == 10_000
