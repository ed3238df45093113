"""Setting up calls and handling them, over HTTP."""

from typing import Any

import pytest

from telephony.models import CallCommand, Connection
from tests.telephony.factories import AgentFactory, ConnectionFactory, QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("switch")]


def codes(response: Any) -> set[tuple[str, int]]:
    return {(error.get("field", ""), error["code"]) for error in response.json()["errors"]}


def test_a_call_is_stored_and_answered_without_a_body(api):
    agent = AgentFactory(number="101")

    response = api.post("/api/connections/call", {"sip": 101, "phone_number": "22 555 01 07"})

    connection = Connection.objects.get()
    assert (response.status_code, response.content) == (204, b"")
    assert (connection.state, connection.agent, connection.dst_number) == ("queued", agent, "+48225550107")
    assert connection.request_id == response["X-Request-Id"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {("sip", 100001), ("phone_number", 100001)}),
        ({"sip": "999", "phone_number": "0800-FLOWERS"}, {("sip", 140301), ("phone_number", 121001)}),
        ({"sip": "101", "phone_number": "tel:"}, {("phone_number", 100001)}),
        ({"sip": "101", "phone_number": "1" * 65}, {("phone_number", 121003)}),
        ({"sip": ["101"], "phone_number": "+48225550107"}, {("sip", 100002)}),
        ({"sip": "102", "phone_number": "+48225550107"}, {("sip", 140301)}),
        ({"sip": "999", "phone_number": "#"}, {("sip", 140301), ("phone_number", 121002)}),
    ],
)
def test_all_faults_of_a_call_are_reported(api, body, expected):
    AgentFactory(number="101")
    AgentFactory(number="102", left=True)

    response = api.post("/api/connections/call", body)

    assert (response.status_code, codes(response)) == (400, expected)
    assert not Connection.objects.exists()


def test_a_call_is_named_by_its_id_with_a_dot(api):
    connection = ConnectionFactory(talking=True)
    paths = [f"/api/connections/{name}/hold" for name in (connection.uid, connection.pk, f"1.{connection.pk}")]

    assert [api.post(path).status_code for path in paths] == [204, 404, 404]
    assert CallCommand.objects.get().connection == connection


def test_a_transfer_names_one_place(api):
    talking, queue = ConnectionFactory(talking=True), QueueFactory()
    path = f"/api/connections/{talking.uid}/transfer"

    refusals = [
        api.post(path),
        api.post(path, {"queue_id": queue.pk, "number": "101"}),
        api.post(path, {"queue_id": 9}),
    ]
    accepted = api.post(path, {"queue_id": str(queue.pk), "number": ""})

    assert [refusal.status_code for refusal in refusals] == [400] * 3
    assert accepted.status_code == 204
    assert CallCommand.objects.get().arguments == {"queue_id": queue.pk}
