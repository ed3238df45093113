"""Additions of many records over HTTP."""

import itertools
from typing import Any

import pytest

from callcentre.core.errors import ErrorCode
from campaigns.models import Campaign
from campaigns.verbs.new_records import NewRecord
from tests.campaigns.api_calls import BATCH, NUMBER
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ApiClient

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(db: None) -> Campaign:
    return CampaignFactory(code="DEMO1", fields=["city"])


def test_the_answer_has_the_result_of_each_number(api: ApiClient, campaign: Campaign) -> None:
    existing = RecordFactory(campaign=campaign, phone_number=NUMBER)
    items = [
        {"phone_number": "22 765 43 21", "identifier": "ID-1"},
        {"phone_number": "221234567"},
        {"phone_number": "+48227654321"},
        {"phone_number": "22 000 00 01", "identifier": "ID-1"},
        {"phone_number": "22 000 00 02", "agent_login": "nobody"},
    ]

    response = api.post(BATCH, {"records": items})

    added = campaign.records.get(identifier="ID-1")
    assert response.status_code == 201
    assert response.json() == {
        "22 765 43 21": {"status": "ADDED", "record_id": str(added.pk)},
        "221234567": {"status": "ALREADY_EXISTS", "record_id": str(existing.pk)},
        "+48227654321": {"status": "ALREADY_EXISTS", "record_id": str(added.pk)},
        "22 000 00 01": {"status": "FAILED", "message": str(ErrorCode.IDENTIFIER_TAKEN.text)},
        "22 000 00 02": {"status": "FAILED", "message": "Agent not found."},
    }
    assert campaign.records.count() == 2


def added(api: ApiClient, *items: dict[str, Any]) -> dict[str, Any]:
    """Add the items; return number -> id of its record, or the status."""
    answer = api.post(BATCH, {"records": list(items)}).json()
    return {number: entry.get("record_id", entry["status"]) for number, entry in answer.items()}


def test_a_refused_item_does_not_reserve_its_number(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, identifier="TAKEN")

    answer = added(
        api,
        {"phone_number": NUMBER, "identifier": "TAKEN"},
        {"phone_number": "221234567", "identifier": "FREE"},
    )

    record = campaign.records.get(identifier="FREE")
    assert answer == {NUMBER: "FAILED", "221234567": str(record.pk)}


def test_an_existing_number_does_not_reserve_the_identifier(api: ApiClient, campaign: Campaign) -> None:
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


def test_a_repeated_number_does_not_reserve_the_identifier(api: ApiClient, campaign: Campaign) -> None:
    answer = added(
        api,
        {"phone_number": NUMBER},
        {"phone_number": "221234567", "identifier": "ID-1"},
        {"phone_number": "22 765 43 21", "identifier": "ID-1"},
    )

    first, second = campaign.records.order_by("id")
    assert second.identifier == "ID-1"
    assert answer == {NUMBER: str(first.pk), "221234567": str(first.pk), "22 765 43 21": str(second.pk)}


def test_the_same_spelling_twice_is_added_if_one_item_is_valid(api: ApiClient, campaign: Campaign) -> None:
    answer = added(api, {"phone_number": NUMBER, "agent_login": "nobody"}, {"phone_number": NUMBER})

    assert answer == {NUMBER: str(campaign.records.get().pk)}


def test_work_for_repeats_of_one_number_is_linear(
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


def test_added_records_have_the_order_of_the_request(api: ApiClient, campaign: Campaign) -> None:
    numbers = [f"22 123 45 {n}" for n in (67, 12, 99, 45, 10)]

    api.post(BATCH, {"records": [{"phone_number": number} for number in numbers]})

    assert list(campaign.records.order_by("id").values_list("phone_number", flat=True)) == numbers
