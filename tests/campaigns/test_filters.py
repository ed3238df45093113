"""One test for each filter of the list of records."""

from datetime import UTC, datetime
from typing import Any

import pytest

from callcentre.core.errors import ErrorCode
from campaigns.models import Campaign
from tests.campaigns.factories import CampaignFactory, RecordFactory, RecordStatusFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(db: None) -> Campaign:
    return CampaignFactory(code="DEMO1")


def found(api: ApiClient, query: str) -> list[str]:
    """Return the identifiers of the records that a query finds."""
    body = api.get(f"/api/outbounds/DEMO1/records?{query}").json()
    assert body["count"] == len(body["result"])
    return [record["identifier"] for record in body["result"]]


def test_no_filter_lists_all_records_oldest_first(api: ApiClient, campaign: Campaign) -> None:
    for name in "abc":
        RecordFactory(campaign=campaign, identifier=name)
    RecordFactory()

    assert found(api, "") == ["a", "b", "c"]


def test_filter_by_system_status(api: ApiClient, campaign: Campaign) -> None:
    for status in ("CALL", "NO_CALL", "TO_CALL"):
        RecordFactory(campaign=campaign, identifier=status, system_status=status)

    assert found(api, "system_status=CALL") == ["CALL"]
    assert found(api, "system_status[]=NO_CALL&system_status[]=TO_CALL") == ["NO_CALL", "TO_CALL"]


def test_filter_by_unknown_system_status_is_400(api: ApiClient, campaign: Campaign) -> None:
    response = api.get("/api/outbounds/DEMO1/records?system_status=DONE")

    assert response.status_code == 400
    assert response.json()["errors"][0] | {"message": ""} == {
        "message": "",
        "code": ErrorCode.NOT_CHOICE.number,
        "field": "system_status",
    }


def test_filter_by_status(api: ApiClient, campaign: Campaign) -> None:
    status = RecordStatusFactory(campaign=campaign)
    RecordFactory(campaign=campaign, identifier="a", status=status, system_status=status.system_status)
    RecordFactory(campaign=campaign, identifier="b")

    assert found(api, f"status_id={status.pk}") == ["a"]
    assert found(api, "status_id=999999999") == []
    assert found(api, f"status_id={'9' * 30}") == []


def test_filter_by_agent(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, identifier="a", agent=AgentFactory(login="anna"))
    RecordFactory(campaign=campaign, identifier="b")

    assert found(api, "agent_login=anna") == ["a"]
    assert found(api, "agent_login=nobody") == []


def test_filter_by_assigned_agent(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, identifier="a", agent=AgentFactory())
    RecordFactory(campaign=campaign, identifier="b")

    assert found(api, "has_agent=true") == ["a"]
    assert found(api, "has_agent=0") == ["b"]


def test_filter_by_identifier(api: ApiClient, campaign: Campaign) -> None:
    RecordFactory(campaign=campaign, identifier="a")
    RecordFactory(campaign=campaign, identifier="ab")

    assert found(api, "identifier=a") == ["a"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("next_call_date_from=2030-07-01", ["b", "c", "d"]),
        ("next_call_date_from=2030-07-01 10:00", ["c", "d"]),
        ("next_call_date_to=2030-07-01", ["a", "b", "c"]),
        ("next_call_date_to=2030-07-01 10:00", ["a", "b", "c"]),
        ("next_call_date_to=2030-07-01 09:59", ["a", "b"]),
        ("next_call_date_to=2030-07-01 10:00:29", ["a", "b"]),
        ("next_call_date_to=2030-07-01 10:00:30", ["a", "b", "c"]),
        ("next_call_date_from=2030-07-01&next_call_date_to=2030-07-01", ["b", "c"]),
    ],
)
def test_filter_by_next_call_includes_the_day_or_minute_of_a_bound(
    query: str, expected: list[str], api: ApiClient, campaign: Campaign
) -> None:
    # In Warsaw: 23:59:59 of June 30th, then 00:00, 10:00:30 and the next midnight.
    instants = [(6, 30, 21, 59, 59), (6, 30, 22, 0, 0), (7, 1, 8, 0, 30), (7, 1, 22, 0, 0)]
    for name, instant in zip("abcd", instants, strict=True):
        RecordFactory(campaign=campaign, identifier=name, next_call_at=datetime(2030, *instant, tzinfo=UTC))
    RecordFactory(campaign=campaign, identifier="never")

    assert found(api, query) == expected


def test_all_wrong_filters_are_reported_together(api: ApiClient, campaign: Campaign) -> None:
    query = "system_status=X&status_id=x&next_call_date_from=x&next_call_date_to=x&has_agent=x&limit=0"
    response: Any = api.get(f"/api/outbounds/DEMO1/records?{query}")

    assert response.status_code == 400
    assert {error["field"] for error in response.json()["errors"]} == {
        "system_status",
        "status_id",
        "next_call_date_from",
        "next_call_date_to",
        "has_agent",
        "limit",
    }
