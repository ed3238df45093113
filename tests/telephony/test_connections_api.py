"""The list of connections: what it says of each, in what order, and one test for each filter."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from callcentre.core.errors import ErrorCode
from telephony.models import Connection
from tests.conftest import ApiClient
from tests.telephony.factories import (
    AgentFactory,
    ConnectionFactory,
    ConnectionTopicFactory,
    QueueFactory,
    RecordingFactory,
    TranscriptionFactory,
)

pytestmark = pytest.mark.django_db

START = datetime(2026, 7, 1, 8, 0, 5, tzinfo=UTC)  # 10:00:05 in Warsaw


def found(api: ApiClient, query: str = "") -> list[str]:
    """Numbers called by the connections that a query finds."""
    body = api.get(f"/api/connections?{query}").json()
    assert body["count"] == len(body["result"])
    return [connection["dst"] for connection in body["result"]]


def test_an_answered_call_is_shown_with_all_its_keys(api):
    queue = QueueFactory()
    call = ConnectionFactory(
        created_at=START,
        answered_at=START + timedelta(seconds=7),
        ended_at=START + timedelta(seconds=65),
        src="101",
        dst="+48 22 555 01 07",
        agent=AgentFactory(login="anna"),
        queue=queue,
        customer_id=77,
    )

    assert api.get("/api/connections").json() == {
        "count": 1,
        "result": [
            {
                "date": "2026-07-01 10:00",
                "src": "101",
                "dst": "+48 22 555 01 07",
                "disposition": "ANSWERED",
                "duration": 65,
                "billsec": 58,
                "user_login": "anna",
                "connection_id": f"{int(START.timestamp())}.{call.pk}",
                "type": "OUTBOUND",
                "queue_id": queue.pk,
                "topic_id": None,
                "customer_id": 77,
                "filename": "",
                "transcription_status": "",
                "outbound_id": None,
                "record_id": None,
            }
        ],
    }


def test_open_and_unanswered_calls_have_no_talk(api):
    ConnectionFactory(unanswered=True, created_at=START, ended_at=START + timedelta(seconds=30))
    ConnectionFactory(waiting=True)

    shown = api.get("/api/connections").json()["result"]

    names = ("type", "disposition", "duration", "billsec", "user_login")
    assert [[call[name] for name in names] for call in shown] == [
        ["INBOUND", "", 0, 0, ""],
        ["OUTBOUND", "NO ANSWER", 30, 0, ""],
    ]


def test_a_call_names_its_topic_its_first_recording_and_the_state_of_its_transcription(api):
    call = ConnectionFactory()
    topic = ConnectionTopicFactory(connection=call).topic
    for name, state in ((call.uid, "removed"), (f"{call.uid}-2", "ready"), (f"{call.uid}-3", "ready")):
        RecordingFactory(connection=call, name=name, state=state)
    TranscriptionFactory(connection=call, status="ERROR")

    shown = api.get("/api/connections").json()["result"][0]

    assert (shown["topic_id"], shown["filename"], shown["transcription_status"]) == (
        topic.pk,
        f"{call.uid}-2.wav",
        "ERROR",
    )


def test_the_newest_come_first_and_of_those_of_one_second_the_later_row(api):
    for dst, minutes in (("1", 0), ("2", 5), ("3", 0)):
        ConnectionFactory(dst=dst, created_at=START + timedelta(minutes=minutes))

    assert found(api) == ["2", "3", "1"]


def test_pages_follow_one_another(api):
    for n in range(5):
        ConnectionFactory(dst=str(n), created_at=START)

    pages = [api.get(f"/api/connections?limit=2&offset={offset}").json() for offset in (0, 2, 4, 6)]

    assert [page["count"] for page in pages] == [5, 5, 5, 5]
    assert [[row["dst"] for row in page["result"]] for page in pages] == [["4", "3"], ["2", "1"], ["0"], []]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("date_from=2026-07-01", ["d", "c", "b"]),
        ("date_from=2026-07-01 10:00", ["d", "c"]),
        ("date_to=2026-07-01", ["c", "b", "a"]),
        ("date_to=2026-07-01 10:00", ["c", "b", "a"]),
        ("date_to=2026-07-01 10:00:29", ["b", "a"]),
        ("date_from=2026-07-01&date_to=2026-07-01", ["c", "b"]),
    ],
)
def test_filter_by_date_includes_day_or_minute_of_its_bounds(query, expected, api):
    # In Warsaw: 23:59:59 of June 30th, then 00:00, 10:00:30 and the next midnight.
    instants = [(6, 30, 21, 59, 59), (6, 30, 22, 0, 0), (7, 1, 8, 0, 30), (7, 1, 22, 0, 0)]
    for name, instant in zip("abcd", instants, strict=True):
        ConnectionFactory(dst=name, created_at=datetime(2026, *instant, tzinfo=UTC))

    assert found(api, query) == expected


def test_filter_by_agent_queue_and_sip_number(api):
    queue = QueueFactory()
    ConnectionFactory(dst="a", agent=AgentFactory(login="anna"), src="101")
    ConnectionFactory(dst="b", agent=AgentFactory(), queue=queue, src="anna.desk")
    ConnectionFactory(dst="c", src="102")

    assert [found(api, f"user_login={login}") for login in ("anna", "nobody")] == [["a"], []]
    assert [found(api, f"queue_id={pk}") for pk in (queue.pk, 999_999_999)] == [["b"], []]
    assert [found(api, f"src={number}") for number in ("anna.desk", "101", "10")] == [["b"], ["a"], []]


@pytest.mark.parametrize("spelling", ["%2B48225550107", "22 555 01 07", "0048 22 5550107", "tel:%2B48-22-555-0107"])
def test_filter_by_number_in_any_spelling(spelling, api):
    ConnectionFactory(inbound=True, src="+48 22 555 01 07", dst="in")
    ConnectionFactory(src="101", dst="225550107")
    ConnectionFactory(src="102", dst="225550108")

    assert found(api, f"src={spelling}") == ["in"]
    assert found(api, f"dst={spelling}") == ["225550107"]


def test_filter_by_connection_id(api):
    call, other = ConnectionFactory(dst="a"), ConnectionFactory(dst="b", created_at=START)

    assert found(api, f"connection_id={call.uid}") == ["a"]
    # The row exists, but the second belongs to another call.
    assert found(api, f"connection_id={other.uid.split('.')[0]}.{call.pk}") == []
    assert found(api, f"connection_id=0{call.uid}") == []


@pytest.mark.parametrize(
    "uid", ["1", "1.", ".1", "x.y", "1.0", "1.01", "9" * 30 + ".1", "1." + "9" * 30, "¹.²", "1.1.1"]
)
def test_a_malformed_connection_id_finds_nothing(uid, api):
    ConnectionFactory()

    assert found(api, f"connection_id={uid}") == []


def test_filters_narrow_together(api):
    anna = AgentFactory(login="anna")
    ConnectionFactory(dst="a", agent=anna, created_at=START)
    ConnectionFactory(dst="b", agent=anna, created_at=START + timedelta(days=1))
    ConnectionFactory(dst="c", created_at=START)

    assert found(api, "user_login=anna&date_to=2026-07-01") == ["a"]


def test_all_wrong_filters_are_reported_together(api):
    response: Any = api.get("/api/connections?date_from=x&date_to=2026-13-01&queue_id=x&src=%00&limit=0&offset=-1")

    assert response.status_code == 400
    assert {error["field"]: error["code"] for error in response.json()["errors"]} == {
        "date_from": ErrorCode.NOT_INSTANT.number,
        "date_to": ErrorCode.NOT_INSTANT.number,
        "queue_id": ErrorCode.NOT_INTEGER.number,
        "src": ErrorCode.NUL.number,
        "limit": ErrorCode.OUT_OF_RANGE.number,
        "offset": ErrorCode.OUT_OF_RANGE.number,
    }


def test_each_filter_is_answered_from_an_index_in_its_order():
    """No sort and no scan of the table, once it is large."""
    from django.db import connection

    agent, queue = AgentFactory(), QueueFactory()
    filters = [
        {},
        {"created_at__gte": START},
        {"agent_id": agent.pk},
        {"queue_id": queue.pk},
        {"src_number": "+48225550107"},
        {"dst_number": "+48225550107"},
    ]
    with connection.cursor() as cursor:
        # The planner uses the index that has the order, independently of the present statistics.
        for way in ("seqscan", "bitmapscan", "sort", "incremental_sort"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
    for narrowed in filters:
        plan = Connection.objects.filter(**narrowed).values("pk")[:100].explain()
        assert "Sort" not in plan, (narrowed, plan)
        assert "Index" in plan, (narrowed, plan)
