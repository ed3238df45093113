"""Requests to the API about campaigns and their records."""

from typing import Any
from urllib.parse import quote

from campaigns.models import Campaign
from tests.conftest import ApiClient

# The number of the tests' record, which is in the campaign DEMO1.
NUMBER = "+48 22 123 45 67"
RECORDS = "/api/outbounds/DEMO1/records"
BATCH = "/api/batch/outbounds/DEMO1/records"


def faults(response: Any) -> set[tuple[str, int]]:
    """Return (field, code) of each fault in a refusal."""
    assert response.status_code == 400, response.content
    return {(error.get("field", ""), error["code"]) for error in response.json()["errors"]}


def shown(api: ApiClient, code: str) -> Any:
    return api.get(f"/api/outbounds/{code}").json()


def status_id(campaign: Campaign, system_status: str) -> int:
    return int(campaign.statuses.get(system_status=system_status, dictionary_status__key="").pk)


def add(api: ApiClient, number: Any = NUMBER, **values: Any) -> Any:
    return api.post(RECORDS, {"phone_number": number, **values})


def read(api: ApiClient, number: str = NUMBER, query: str = "") -> Any:
    return api.get(f"{RECORDS}/{quote(number, safe='')}{query}")


def edit(api: ApiClient, number: str = NUMBER, query: str = "", **values: Any) -> Any:
    return api.put(f"{RECORDS}/{quote(number, safe='')}{query}", values)
