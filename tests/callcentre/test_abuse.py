"""Hostile requests: the answer is always one of ours and never a 500."""

from typing import Any

import pytest
from django.conf import settings

from callcentre.core.errors import ErrorCode
from tests.callcentre.test_api import NEW_CAMPAIGN, codes
from tests.campaigns.factories import CampaignFactory, RecordFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "path", ["outbounds", "outbounds/DEMO1/records", "outbounds/DEMO1/add_agents", "outbound_groups"]
)
def test_a_body_that_is_no_object_is_400(path, api):
    CampaignFactory(code="DEMO1")

    for body in (b"[]", b"[{}]", b'"text"', b"1", b"null", b"true"):
        response = api.generic("POST", f"/api/{path}", body, content_type="application/json")
        assert codes(response) == {("", ErrorCode.BODY_NOT_OBJECT.number)}, body


def test_a_body_of_another_type_is_415(api):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/html"):
        response = api.generic("POST", "/api/outbound_groups", b"name=Sales", content_type=kind)
        assert response.status_code == 415, kind
        assert codes(response) == {("", ErrorCode.MEDIA_TYPE.number)}, kind


def test_json_has_many_content_types(api):
    for kind in ("application/json;charset=UTF-8", "Application/JSON", "application/vnd.api+json"):
        body = b'{"name": "Sales of %s"}' % kind.encode()
        assert api.generic("POST", "/api/outbound_groups", body, content_type=kind).status_code == 201, kind


class Unreadable:
    """A request body that fails when it is read."""

    def read(self, size: int = -1) -> bytes:
        raise AssertionError("the body was read")

    readline = __iter__ = read


@pytest.mark.parametrize("key", [None, "a-key"])
def test_too_large_a_body_is_413_by_its_length_before_it_is_read(key, api):
    environ: dict[str, Any] = {"wsgi.input": Unreadable()} | ({"HTTP_IDEMPOTENCY_KEY": key} if key else {})
    environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(settings.MAX_UPLOAD_MB * 1024 * 1024 + 1)}

    response = api.generic("POST", "/api/outbound_groups", b"", **environ)

    assert response.status_code == 413
    assert codes(response) == {("", ErrorCode.TOO_LARGE.number)}


NASTY = [
    *("\0", "a\0b", "🙂" * 10_000, "x" * 1_000_000, "\u202e\u200b", "' OR 1=1 --", "%s%s{}"),
    *(-1, 0, 2**31, 2**63, 10**30, 1e308, -0.0, 1.5, True, [], {}, [[]], [None], {"": ""}, {"\0": "\0"}),
    *("9" * 5000, "٣", "2026-02-30", "0001-01-01", "9999-12-31", "0001-01-01 00:00", "9999-12-31 23:59"),
]
FIELDS_OF = {
    "outbounds": (
        *("id", "name", "dialer", "crm", "active", "start_date", "end_date", "order", "parity", "parameters"),
        "group_id",
    ),
    "outbounds/DEMO1/clone": ("new_id", "name", "start_date", "end_date", "parameters"),
    "outbounds/DEMO1/add_agents": ("logins",),
    "outbounds/DEMO1/remove_agents": ("logins",),
    "outbound_groups": ("name",),
    "outbounds/DEMO1/records": (
        *("phone_number", "status_id", "dictionary_status_id", "identifier", "agent_login", "next_call_date"),
        *("record_fields", "order", "additional_numbers"),
    ),
    "batch/outbounds/DEMO1/records": ("records",),
}
RIGHT_BODY: dict[str, dict[str, Any]] = {
    "outbounds": NEW_CAMPAIGN,
    "outbounds/DEMO1/clone": {"name": "Copy"},
    "outbounds/DEMO1/records": {"phone_number": "+48221234567"},
}


# In CI, tests/test_fuzz.py tries the other fields with values by their types.
@pytest.mark.walk(
    *("outbounds-start_date", "outbounds-parameters", "outbounds/DEMO1/add_agents-logins"),
    *("outbounds/DEMO1/records-next_call_date", "outbounds/DEMO1/records-record_fields"),
    *("outbounds/DEMO1/records-additional_numbers", "batch/outbounds/DEMO1/records-records"),
)
@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in FIELDS_OF.items() for name in names])
def test_no_field_value_causes_a_500(path, name, api):
    CampaignFactory(code="DEMO1", fields=["city"])

    for value in NASTY:
        response = api.post(f"/api/{path}", {**RIGHT_BODY.get(path, {}), name: value})
        assert response.status_code in (201, 204, 400), (value, response.content)


@pytest.mark.parametrize("name", ["start_date", "end_date", "order", "parity", "group_id", "parameters", "active"])
def test_no_value_in_a_partial_edit_causes_a_500(name, api):
    CampaignFactory(code="DEMO1")

    for value in [*NASTY, "", None]:
        response = api.put("/api/outbounds/DEMO1", {name: value})
        assert response.status_code in (204, 400), (value, response.content)


RECORD_FIELDS = [*FIELDS_OF["outbounds/DEMO1/records"][1:], "note"]


@pytest.mark.parametrize("name", RECORD_FIELDS)
def test_no_value_in_an_edit_of_a_record_causes_a_500(name, api):
    RecordFactory(campaign=CampaignFactory(code="DEMO1", fields=["city"]), phone_number="+48221234567")

    for value in [*NASTY, "", None]:
        single = api.put("/api/outbounds/DEMO1/records/+48221234567", {name: value})
        assert single.status_code in (204, 400), (value, single.content)
        item = {"phone_number": "+48221234567", name: value}
        assert api.put("/api/batch/outbounds/DEMO1/records", {"records": [item]}).status_code == 207


def test_no_path_causes_a_500(api):
    CampaignFactory(code="DEMO1")

    for path in (
        *("outbounds/%00", "outbounds/%00/records", "outbounds/DEMO1/records/%00", "outbounds/DEMO1/records/%ff%fe"),
        *("outbounds/DEMO1/records/%ED%A0%80", "outbounds/DEMO1/records/" + "9" * 5000),
        *("outbounds/DEMO1/records_by_identifier/%00", "outbounds/DEMO1/records_by_identifier/" + "x" * 5000),
        *("agents/%00", "agents/%ED%A0%80", "%00", "outbounds/%0a", "outbounds/DEMO1%0a"),
    ):
        assert api.get(f"/api/{path}").status_code == 404, path


@pytest.mark.parametrize(
    "name",
    [
        *("limit", "offset", "system_status", "status_id", "agent_login", "identifier", "next_call_date_from"),
        *("next_call_date_to", "has_agent"),
    ],
)
def test_no_query_causes_a_500(name, api):
    CampaignFactory(code="DEMO1")

    for value in ("%00", "%ED%A0%80", "9" * 5000, "-1", "9" * 30, "%F0%9F%99%82", "[", "0001-01-01"):
        for query in (f"{name}={value}", f"{name}[]={value}", f"{name}[0]={value}"):
            assert api.get(f"/api/outbounds/DEMO1/records?{query}").status_code in (200, 400), query


@pytest.mark.parametrize(
    "path", ["outbounds/DEMO1/records", "outbounds/DEMO1/records/600", "connections", "tickets", "schema"]
)
def test_too_many_parameters_are_400(path, api):
    RecordFactory(campaign=CampaignFactory(code="DEMO1"), phone_number="600")

    response = api.get(f"/api/{path}?{'a&' * 10_001}")

    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == ErrorCode.BAD_REQUEST.number


def test_malformed_json_is_400_with_a_code_of_its_own(api):
    for body in (b"{", b'{"name": }', b"{'name': 1}", b"\xff\xfe{}", b"nul", b'{"a":1}{"b":2}', b"NaN"):
        response = api.generic("POST", "/api/outbound_groups", body, content_type="application/json")
        assert response.status_code == 400, body
        assert codes(response) == {("", ErrorCode.NOT_JSON.number)}, body


def test_nasty_json_and_ten_megabytes_of_garbage_are_400(api):
    for body in (
        *(b'{"name": "\\ud800"}', b'{"\\udfff": 1}', b"[" * 100_000, b'{"a":' * 100_000, b"[" * 500 + b"]" * 500),
        *(b'{"name": ' + b"9" * 100_000 + b"}", b'{"name": 1e999}', b"\xed\xa0\x80", b"\xef\xbb\xbf{}"),
        *(b"x" * 10_000_000, b'{"name": "' + b"x" * 10_000_000 + b'"}'),
    ):
        response = api.generic("POST", "/api/outbound_groups", body, content_type="application/json")
        assert response.status_code == 400, body[:100]
        assert len(response.content) < 1000
