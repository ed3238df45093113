"""One test for each filter of the list of records."""

from datetime import UTC, datetime

import pytest

from callcentre.core.errors import ErrorCode as E
from campaigns.models import Campaign
from tests.campaigns.api_calls import RECORDS, faults
from tests.campaigns.factories import RecordFactory, RecordStatusFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


def found(api: ApiClient, query: str) -> list[str]:
    """Return the identifiers of the records that a query finds."""
    body = api.get(f"{RECORDS}?{query}").json()
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


def test_filter_by_status_agent_and_identifier(api: ApiClient, campaign: Campaign) -> None:
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

    wrong = faults(api.get(f"{RECORDS}?{query}"))

    assert ("system_status", E.NOT_CHOICE) in wrong
    times = {"next_call_date_from", "next_call_date_to"}
    assert {field for field, _ in wrong} == {"system_status", "status_id", "has_agent", "limit"} | times
