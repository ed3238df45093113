"""Requests to the API about campaigns and their records."""

from typing import Any
from urllib.parse import quote

from callcentre.core.errors import ErrorCode
from campaigns.models import Campaign, RecordStatus
from tests.conftest import ApiClient

# The number of the tests' record, which is in the campaign DEMO1.
NUMBER = "+48 22 123 45 67"
CAMPAIGN = "/api/outbounds/DEMO1"
RECORDS = f"{CAMPAIGN}/records"
BATCH = "/api/batch/outbounds/DEMO1/records"
_CODES = {code.number: code for code in ErrorCode}


def faults(response: Any) -> set[tuple[str, ErrorCode]]:
    """Return (field, code) of each fault in a refusal."""
    assert response.status_code == 400, response.content
    return {(error.get("field", ""), _CODES[error["code"]]) for error in response.json()["errors"]}


def shown(api: ApiClient, code: str = "DEMO1") -> Any:
    return api.get(f"/api/outbounds/{code}").json()


def status_of(campaign: Campaign, system_status: str) -> RecordStatus:
    """Return the campaign's status for this system status that the service itself does not use."""
    return campaign.statuses.get(system_status=system_status, dictionary_status__key="")


def status_id(campaign: Campaign, system_status: str) -> int:
    return status_of(campaign, system_status).pk


def add(api: ApiClient, number: Any = NUMBER, **values: Any) -> Any:
    return api.post(RECORDS, {"phone_number": number, **values})


def read(api: ApiClient, number: str = NUMBER, query: str = "") -> Any:
    return api.get(f"{RECORDS}/{quote(number, safe='')}{query}")


def edit(api: ApiClient, number: str = NUMBER, query: str = "", **values: Any) -> Any:
    return api.put(f"{RECORDS}/{quote(number, safe='')}{query}", values)
