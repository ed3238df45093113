"""Rules of every operation: error bodies, request ids, languages, tolerance, paging."""

from typing import Any
from urllib.parse import quote

import pytest
from django.utils.translation import override

from callcentre.core.errors import ErrorCode
from campaigns.models import Campaign, CampaignGroup
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ApiClient
from tests.telephony.factories import AgentFactory, ConnectionFactory
from tests.tickets.factories import ChatFactory, TicketFactory
from tickets.models import Customer

pytestmark = pytest.mark.django_db

WRONG_CAMPAIGN = {"id": "A-B-C", "dialer": "manual", "crm": "perhaps", "order": 0, "parameters": {"caller_id": [1]}}
NEW_CAMPAIGN = {"name": "New", "dialer": "preview", "crm": False}


def codes(response: Any) -> set[tuple[str, int]]:
    """Return (field, code) of every fault in an answer."""
    return {(error.get("field", ""), error["code"]) for error in response.json()["errors"]}


# Error bodies


def test_all_faults_of_a_request_come_at_once_with_their_dotted_fields(api):
    response = api.post("/api/outbounds", WRONG_CAMPAIGN)

    assert response.status_code == 400
    assert codes(response) == {
        ("id", ErrorCode.CAMPAIGN_ID_MALFORMED.number),
        ("name", ErrorCode.EMPTY.number),
        ("dialer", ErrorCode.NOT_CHOICE.number),
        ("crm", ErrorCode.NOT_BOOLEAN.number),
        ("order", ErrorCode.OUT_OF_RANGE.number),
        ("parameters.caller_id", ErrorCode.NOT_TEXT.number),
    }
    assert not Campaign.objects.exists()


@pytest.mark.parametrize("body", [b'{"name": ""}', b"", b"  \n"])
def test_an_empty_required_field_reads_as_the_interface_says_and_a_fault_of_no_field_has_none(body, api):
    response = api.generic("POST", "/api/outbound_groups", body, content_type="application/json")

    assert response.json() == {
        "request_id": response["X-Request-Id"],
        "errors": [{"message": 'Field "name" cannot be empty.', "code": 100001, "field": "name"}],
    }
    assert "field" not in api.post("/api/outbound_groups", []).json()["errors"][0]


def test_codes_have_six_digits_and_none_is_used_twice():
    numbers = [code.number for code in ErrorCode.__members__.values()]

    assert all(100_000 <= number <= 999_999 for number in numbers)
    assert len(set(numbers)) == len(numbers)
    # An alias would be a second name for one number.
    assert len(ErrorCode.__members__) == len(list(ErrorCode))


def test_an_unforeseen_error_is_a_500_without_its_cause(api, monkeypatch):
    monkeypatch.setattr("telephony.api.agents.agent_or_404", lambda agent: 1 / 0)
    AgentFactory(login="anna")
    api.raise_request_exception = False

    response = api.get("/api/agents/anna")

    assert response.status_code == 500
    assert codes(response) == {("", ErrorCode.INTERNAL.number)}
    assert b"division" not in response.content


def test_an_empty_answer_has_neither_type_nor_length(api):
    response = api.get("/api/ping")

    assert (response.status_code, response.content) == (204, b"")
    assert not {"Content-Type", "Content-Length"} & response.headers.keys()


def test_every_request_has_an_id_of_its_own(api):
    ids = {api.get(path)["X-Request-Id"] for path in ("/api/ping", "/api/nothing", "/health/live", "/nothing")}

    assert len(ids) == 4
    assert all(len(one) == 13 and int(one, 16) >= 0 for one in ids)


def test_messages_are_english_unless_polish_is_wanted(api):
    def answers(*languages):
        return [api.post("/api/outbound_groups", {}, headers={"accept-language": language}) for language in languages]

    english = answers("", "en", "eo", "fr;q=0.9, en;q=0.8")
    polish = answers("pl", "pl-PL,pl;q=0.9,en;q=0.8")

    said = {"english": english, "polish": polish}
    errors = {name: [answer.json()["errors"][0] for answer in several] for name, several in said.items()}
    assert {error["message"] for error in errors["english"]} == {'Field "name" cannot be empty.'}
    assert errors["polish"][0]["message"] != errors["english"][0]["message"]
    assert {**errors["polish"][0], "message": ""} == {**errors["english"][0], "message": ""}
    assert [answer["Content-Language"] for answer in polish] == ["pl", "pl"]


def test_every_message_of_the_enum_has_a_polish_one():
    def read(code, language):
        with override(language):
            return str(code.text)

    assert [code.name for code in ErrorCode if read(code, "pl") == read(code, "en")] == []


# Tolerance


def test_unknown_keys_and_parameters_are_ignored(api):
    response = api.post("/api/outbound_groups?debug=1&name=other", {"name": "Sales", "colour": "red", "": None})

    assert response.status_code == 201
    assert response.json()["name"] == "Sales"
    assert response["Ignored-Parameters"] == "debug, name"


@pytest.mark.parametrize("name", ["agent_login", "user_login"])
def test_lists_beyond_the_interface_take_both_names_of_an_agents_login(name, api):
    campaign, anna = CampaignFactory(code="DEMO1"), AgentFactory(login="anna")
    for agent in (anna, AgentFactory(login="jan")):
        RecordFactory(campaign=campaign, agent=agent)
        ConnectionFactory(agent=agent)
        ChatFactory(agent=agent)

    counts = [
        (answer.json()["count"], "Ignored-Parameters" in answer)
        for path in ("outbounds/DEMO1/records", "connections", "chats")
        for answer in [api.get(f"/api/{path}?{name}=anna")]
    ]

    assert counts == [(1, False)] * 3


@pytest.mark.parametrize("query", ["limit", "offset", "status_id", "next_call_date_from", "has_agent", "agent_login"])
def test_a_parameter_without_value_counts_as_absent(query, api):
    CampaignFactory(code="DEMO1")

    assert api.get(f"/api/outbounds/DEMO1/records?{query}=&{query}").status_code == 200


def test_a_get_with_a_json_content_type_and_no_body_is_fine(api):
    assert api.generic("GET", "/api/agents", "", content_type="application/json").status_code == 200


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_before_json_is_ignored(mark, api):
    response = api.generic("POST", "/api/outbound_groups", mark + b'{"name": "Sales"}', content_type="application/json")

    assert response.status_code == 201
    assert CampaignGroup.objects.get().name == "Sales"


@pytest.mark.parametrize("body", [b"", b"  \n", b"\xef\xbb\xbf"])
def test_a_put_without_a_body_is_refused_and_one_without_fields_changes_nothing(body, api):
    record = RecordFactory(campaign__code="DEMO1")
    paths = ["/api/outbounds/DEMO1", f"/api/outbounds/DEMO1/records/{quote(record.phone_number)}"]
    paths.append(f"/api/tickets/{TicketFactory().pk}")

    refused = [api.generic("PUT", path, body, content_type="application/json") for path in paths]

    not_object = (400, {("", ErrorCode.BODY_NOT_OBJECT.number)})
    assert [(response.status_code, codes(response)) for response in refused] == [not_object] * 3
    assert [api.put(path, {}).status_code for path in paths] == [204] * 3
    assert api.generic("PUT", "/api/outbounds/XXXXX", body, content_type="application/json").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "system_status[]=CALL&system_status[]=NO_CALL",
        "system_status=CALL&system_status=NO_CALL",
        "system_status[0]=CALL&system_status[1]=NO_CALL",
        "system_status%5B%5D=CALL&system_status%5B7%5D=NO_CALL&system_status=",
    ],
)
def test_lists_in_queries_have_three_spellings(query, api):
    campaign = CampaignFactory(code="DEMO1")
    for status in ("CALL", "NO_CALL", "TO_CALL"):
        RecordFactory(campaign=campaign, system_status=status)

    response = api.get(f"/api/outbounds/DEMO1/records?{query}")

    assert {record["system_status"] for record in response.json()["result"]} == {"CALL", "NO_CALL"}


# Paging


@pytest.fixture
def three_records(db):
    campaign = CampaignFactory(code="DEMO1")
    return [RecordFactory(campaign=campaign).pk for _ in range(3)]


def page(api: ApiClient, query: str) -> Any:
    return api.get(f"/api/outbounds/DEMO1/records?{query}")


@pytest.mark.parametrize("name", ["limit", "offset"])
@pytest.mark.parametrize("value", ["-1", "1.5", "٣", "-" + "9" * 5000, "0x10", "1 2"])
def test_a_malformed_limit_or_offset_is_400(name, value, api, three_records):
    response = page(api, f"{name}={value}")

    assert response.status_code == 400
    assert {field for field, _ in codes(response)} == {name}


@pytest.mark.parametrize(("path", "most"), [("outbounds/DEMO1/records", 100), ("tickets", 100), ("customers", 1000)])
def test_wrong_limit_and_offset_are_400_together_and_name_the_maximum(path, most, api, three_records):
    limit, offset = api.get(f"/api/{path}?limit=0&offset=-1").json()["errors"]

    assert limit == {"field": "limit", "code": 100006, "message": f'Field "limit" must be between 1 and {most}.'}
    assert offset["field"] == "offset"


@pytest.mark.slow("writes many rows")
def test_a_page_holds_a_hundred_at_most_and_of_customers_a_thousand(api):
    RecordFactory.create_batch(101, campaign=CampaignFactory(code="DEMO1"))
    Customer.objects.bulk_create(Customer(surname="Kowal") for _ in range(1001))
    cases = [("outbounds/DEMO1/records", 101, limit, 100) for limit in ("", 100, 101, 1000, "9" * 5000)]
    cases += [("customers", 1001, limit, count) for limit, count in (("", 100), (1000, 1000), (1001, 1000))]

    for path, total, limit, count in cases:
        body = api.get(f"/api/{path}?limit={limit}").json()
        assert (body["count"], len(body["result"])) == (total, count), (path, limit)


def test_pages_follow_each_other_without_overlap_or_gap_and_end_empty(api, three_records):
    pages = [page(api, f"limit=1&offset={offset}").json()["result"] for offset in range(3)]

    assert [record["record_id"] for [record] in pages] == three_records
    for offset in ("3", "9223372036854775807", "9223372036854775808", "9" * 5000):
        assert page(api, f"offset={offset}").json() == {"count": 3, "result": []}, offset
