from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse

from telephony.admin import connection_search
from telephony.models import Connection
from tests.backoffice import page_of, staff, superuser
from tests.statements import few_statements
from tests.telephony.factories import (
    AgentFactory,
    CallCommandFactory,
    ConnectionFactory,
    ConnectionTopicFactory,
    LegFactory,
    OfferFactory,
    QueueFactory,
    RecordingFactory,
    TranscriptionFactory,
    TransferFactory,
)

LIST = reverse("admin:telephony_connection_changelist")
START = datetime(2026, 7, 1, 8, 0, 5, tzinfo=UTC)  # 10:00:05 in Warsaw
MINUTE = timedelta(minutes=1)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def found(**query: Any) -> list[str]:
    """Numbers called by the connections that the list shows."""
    response = superuser().get(LIST, query)
    assert response.status_code == 200
    return [call.dst for call in response.context["cl"].result_list]


def test_the_list_of_calls_shows_parties_and_results():
    call = ConnectionFactory(created_at=START, agent=AgentFactory(login="anna"), queue=QueueFactory(name="Hotline"))

    page = superuser().page(LIST)

    for text in (call.dst, "anna", "Hotline", "2026-07-01 10:00:05", "1:00", "answered"):
        assert text in page, text


def test_the_newest_come_first_whatever_their_ids():
    for dst, minutes in (("1", 5), ("2", 0), ("3", 9)):
        ConnectionFactory(dst=dst, created_at=START + timedelta(minutes=minutes))

    assert found() == ["3", "1", "2"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"direction": "INBOUND"}, ["in-missed", "in"]),
        ({"disposition": "ANSWERED"}, ["out", "in"]),
        ({"disposition": "NO ANSWER", "direction": "INBOUND"}, ["in-missed"]),
        ({"disposition": "NO ANSWER", "direction": "OUTBOUND"}, []),
        ({"disposition": "open"}, ["now"]),
        ({"disposition": "open", "direction": "INBOUND"}, []),
        ({"disposition": "nonsense"}, ["now", "in-missed", "out", "in"]),
        ({"date_from": "2026-07-02"}, ["now", "in-missed"]),
        ({"date_to": "2026-07-01", "disposition": "ANSWERED"}, ["out", "in"]),
        ({"date_from": "2026-07-02", "disposition": "ANSWERED"}, []),
        ({"date_from": "2026-07-02", "direction": "INBOUND"}, ["in-missed"]),
        ({"q": "22 555 01 07"}, ["in-missed"]),
        ({"q": "+48225550107", "disposition": "ANSWERED"}, []),
        ({"q": "nobody"}, []),
    ],
)
def test_connections_are_found_by(query, expected):
    ConnectionFactory(dst="in", inbound=True, created_at=START)
    ConnectionFactory(dst="out", created_at=START + timedelta(hours=1))
    ConnectionFactory(
        dst="in-missed", inbound=True, unanswered=True, src="+48225550107", created_at=START + timedelta(days=1)
    )
    ConnectionFactory(dst="now", talking=True, created_at=START + timedelta(days=2))

    assert found(**query) == expected


def test_connections_are_found_by_agent_by_queue_and_by_id():
    call = ConnectionFactory(dst="a", agent=AgentFactory(), queue=QueueFactory())
    ConnectionFactory(dst="b")

    assert found(agent__id__exact=call.agent_id) == ["a"]
    assert found(queue__id__exact=call.queue_id, disposition="ANSWERED") == ["a"]
    assert found(q=call.uid) == ["a"]


def test_a_page_of_results_knows_whether_there_is_another():
    for minutes in range(120):
        ConnectionFactory(dst=str(minutes), created_at=START + timedelta(minutes=minutes))

    pages = [found(disposition="ANSWERED", p=page) for page in (1, 2, 3)]

    assert [len(page) for page in pages] == [50, 50, 20]
    assert [dst for page in pages for dst in page] == [str(minutes) for minutes in reversed(range(120))]


def test_the_page_of_a_call_shows_its_course():
    anna = AgentFactory(login="anna")
    call = ConnectionFactory(inbound=True, agent=anna, cause=16, hung_up_by="customer")
    OfferFactory(connection=call, agent=anna, outcome="answered")
    LegFactory(connection=call, channel_id="x", cause=17, tech_cause="486")
    TransferFactory(connection=call, number="+48225550199", actor_name="tester")
    CallCommandFactory(connection=call, error="The call is over.")
    ConnectionTopicFactory(connection=call, topic__name="Complaint")
    RecordingFactory(connection=call, ready=True)
    TranscriptionFactory(connection=call, finished=True)

    page = superuser().page(page_of(call))

    for text in (call.uid, "answered", "486", "+48225550199", "The call is over.", "Complaint", "<audio", "my invoice"):
        assert text in page, text


def test_the_page_of_a_call_takes_the_same_queries_however_much_happened():
    client = superuser()
    for count in (1, 10):
        call = ConnectionFactory(inbound=True)
        for _ in range(count):
            OfferFactory(connection=call, ended_at=START + timedelta(days=900), offered_at=START)
            LegFactory(connection=call, agent=AgentFactory())
            TransferFactory(connection=call, from_agent=AgentFactory(), queue=QueueFactory())
        with few_statements(14):
            client.get(page_of(call))


def test_viewers_of_calls_get_no_recordings():
    call = ConnectionFactory()
    RecordingFactory(connection=call, ready=True)
    TranscriptionFactory(connection=call, finished=True)

    page = staff("view_connection").page(page_of(call))

    assert call.uid in page
    assert "<audio" not in page
    assert "my invoice" not in page


def test_a_search_has_a_limit_of_results(monkeypatch):
    monkeypatch.setattr(connection_search, "MAX_FOUND", 2)
    for minutes in range(4):
        ConnectionFactory(dst="+48225550107", created_at=START + timedelta(minutes=minutes))

    newest = list(Connection.objects.values_list("pk", flat=True)[:2])
    assert sorted(connection_search.ids_found("22 555 01 07")[0]) == sorted(newest)


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        ("above:99999999999", []),
        ("below:99999999999", ["1"]),
        ("above:999999999999999999", []),
        ("above_talked:999999999999999999", []),
        ("below_talked:2147483647", ["1"]),
        # An unknown figure, and a number that is not one, are ignored.
        ("profit:1", ["1"]),
        ("above:9999999999999999999", ["1"]),
    ],
)
def test_no_threshold_in_an_address_is_too_long(counted, expected):
    ConnectionFactory(dst="1", direction="OUTBOUND", created_at=START, answered_at=START, ended_at=START + MINUTE)
    day = f"{START.timestamp():.0f}-{(START + timedelta(days=1)).timestamp():.0f}"

    assert found(counted=f"{counted}@{day}") == expected
