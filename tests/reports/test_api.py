"""GET /agents_work_report: what it wants, what it says when it does not get it, and its pages."""

from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from callcentre.core.times import zone
from callcentre.models import ApiUser
from telephony.models import Agent
from telephony.verbs import presence
from tests.conftest import ACTOR, ApiClient
from tests.reports.asking import refresh, settle
from tests.telephony.factories import (
    AgentFactory,
    AgentGroupFactory,
    ConnectionFactory,
    OfferFactory,
    PauseFactory,
    QueueFactory,
)
from tests.tickets.factories import ChatMessageFactory

pytestmark = pytest.mark.django_db

DAY = datetime(2026, 6, 10, 8, tzinfo=zone())
PATH = "/api/agents_work_report"


def at(hour: float) -> datetime:
    return DAY + timedelta(hours=hour - 8)


@pytest.fixture
def anna():
    """Logged in from 8:00 to 16:00, an hour of it on a pause."""
    agent: Agent = AgentFactory(login="anna", name="Anna", surname="Nowak", grouped=True)
    presence.log_in(agent, ACTOR, at(8))
    presence.pause(agent, ACTOR, PauseFactory(pk=66_001).pk, at=at(11.5))
    presence.free(agent, ACTOR, at(12.5))
    presence.log_out(agent, ACTOR, at(16))
    return agent


def ask(api: ApiClient, **parameters: Any) -> Any:
    query = {"agent_logins[]": "anna", "date_from": "2026-06-10", "date_to": "2026-06-10", **parameters}
    return api.get(PATH, {name: value for name, value in query.items() if value is not None})


def faults(response: Any) -> set[tuple[int, str]]:
    assert response.status_code == 400
    return {(error["code"], error["field"]) for error in response.json()["errors"]}


@pytest.mark.parametrize(("outcome", "count"), [("failed", 0), ("not_answered", 1), ("refused", 1)])
def test_a_phone_that_could_not_be_reached_is_no_call_that_its_agent_did_not_answer(outcome, count, api, anna):
    OfferFactory(agent=anna, offered_at=at(9), ended_at=at(9) + timedelta(seconds=30), outcome=outcome)

    (row,) = ask(api).json()

    inbound = row["inbound"]
    assert (inbound["count"], inbound["not_answered_count"], inbound["wait_sum"]) == (count, count, 30 * count)


def test_a_day_is_a_row_of_the_month(api, anna):
    rows = ask(api).json()

    assert rows == [
        {
            "agent": {"login": "anna", "name": "Anna", "surname": "Nowak"},
            "period": "2026-06",
            "inbound": {
                "count": 0,
                "answered_count": 0,
                "not_answered_count": 0,
                "transferred_count": 0,
                "sum": "00:00:00",
                "average": "00:00:00",
                "wait_sum": 0,
                "wait_average": "00:00:00",
                "calls_per_hour": 0,
            },
            "chat": {"closed": 0, "responded": 0},
            "ticket": {"closed": 0, "responded": 0, "total_responded": 0},
            "outbound_above_threshold": {"count": 0, "sum": "00:00:00", "average": "00:00:00"},
            "outbound_below_threshold": {"count": 0, "sum": "00:00:00", "average": "00:00:00"},
            "login_date": "2026-06-10 08:00:00",
            "logout_date": "2026-06-10 16:00:00",
            "login_sum": "08:00:00",
            "pauses": [
                {"id": "all", "count": 1, "sum": "01:00:00", "average": "01:00:00"},
                {"id": "free", "count": 2, "sum": "07:00:00"},
                {"id": 66_001, "count": 1, "sum": "01:00:00", "average": "01:00:00"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("aggregation", "periods"),
    [
        ("year", ["2026"]),
        ("month", ["2026-06"]),
        ("week", ["2026-W24"]),
        ("day", ["2026-06-10"]),
        ("hour", [f"2026-06-10 {hour:02}" for hour in range(8, 16)]),
        ("hour_of_day", [f"{hour:02}" for hour in range(8, 16)]),
        ("minute", ["2026-06-10 15:58", "2026-06-10 15:59"]),
    ],
)
def test_each_aggregation_spells_its_periods(aggregation, periods, api, anna):
    bounds = {"date_from": "2026-06-10 15:58", "date_to": "2026-06-10 16:05"} if aggregation == "minute" else {}
    rows = ask(api, aggregate_by=aggregation, **bounds).json()

    assert [row["period"] for row in rows] == periods


def test_the_repeated_hour_of_autumn_is_one_row_of_two_hours(api):
    agent = AgentFactory(login="anna")
    night = datetime(2026, 10, 25, tzinfo=zone())
    presence.log_in(agent, ACTOR, night)
    presence.log_out(agent, ACTOR, datetime(2026, 10, 25, 4, tzinfo=zone()))

    rows = ask(api, date_from="2026-10-25", date_to="2026-10-25", aggregate_by="hour").json()

    assert [(row["period"], row["login_sum"]) for row in rows] == [
        ("2026-10-25 00", "01:00:00"),
        ("2026-10-25 01", "01:00:00"),
        ("2026-10-25 02", "02:00:00"),
        ("2026-10-25 03", "01:00:00"),
    ]


def test_what_is_wrong_is_said_all_at_once(api):
    response = api.get(
        f"{PATH}?date_from=yesterday&aggregate_by=decade&queues_ids[]=x&outbound_threshold=-1&limit=0&offset=z"
    )

    assert faults(response) == {
        (170001, "agent_logins"),
        (100010, "date_from"),
        (100001, "date_to"),
        (100011, "aggregate_by"),
        (100004, "queues_ids"),
        (100006, "outbound_threshold"),
        (100006, "limit"),
        (100004, "offset"),
    }


def test_agents_and_groups_that_do_not_exist_are_named(api, anna):
    response = api.get(
        f"{PATH}?agent_logins[]=anna&agent_logins[]=nobody&agent_group_ids[]=999999&date_from=2026-06-10&date_to=2026-06-10"
    )

    assert faults(response) == {(110002, "agent_logins"), (170002, "agent_group_ids")}
    assert [error["message"] for error in response.json()["errors"]] == [
        "Agents not found: nobody.",
        "Agent groups not found: 999999.",
    ]


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({"date_from": "2026-06-11"}, (170003, "date_to")),
        ({"date_to": "2026-06-24", "aggregate_by": "minute"}, (170004, "aggregate_by")),
        ({"date_from": "1971-01-01", "aggregate_by": "day"}, (170004, "aggregate_by")),
        ({"agent_group_ids[]": "many"}, (100004, "agent_group_ids")),
        ({"outbound_threshold": "half"}, (100004, "outbound_threshold")),
        ({"agent_logins[]": "an\0na"}, (100016, "agent_logins")),
        ({"agent_logins[]": " "}, (170001, "agent_logins")),
    ],
)
def test_one_thing_that_is_wrong_is_refused(parameters, fault, api, anna):
    assert faults(ask(api, **parameters)) == {fault}


def test_twenty_thousand_periods_are_not_too_many_and_a_span_in_which_nothing_can_happen_has_no_rows(api, anna):
    almost = ask(api, date_from="2026-06-01 00:00", date_to="2026-06-14 21:19", aggregate_by="minute")
    far = ask(api, date_from="1000-01-01", date_to="9999-12-31", aggregate_by="year")
    empty = [ask(api, date_from=f"{year}-01-01", date_to=f"{year}-12-31") for year in ("1000", "2300")]

    assert (almost.status_code, far.status_code) == (200, 200)
    assert [row["period"] for row in far.json()] == ["2026"]
    assert [(answer.status_code, answer.json()) for answer in empty] == [(200, [])] * 2


def test_an_upper_bound_includes_the_day_the_minute_or_the_second_that_it_names(api, anna):
    def login(bound):
        return ask(api, date_to=bound).json()[0]["login_sum"]

    assert login("2026-06-10 23:59:59") == "08:00:00"
    assert login("2026-06-10 08:59") == "01:00:00"
    assert login("2026-06-10 08:59:59") == "01:00:00"
    assert login("2026-06-10 08:00:00") == "00:00:01"


def test_logins_and_groups_together_are_their_union_in_the_order_of_logins(api, anna):
    group = AgentGroupFactory()
    for login in ("zofia", "adam"):
        agent = AgentFactory(login=login, group=group)
        presence.log_in(agent, ACTOR, at(9))
        presence.log_out(agent, ACTOR, at(10))

    AgentFactory(login="idle", group=group)
    rows = ask(api, **{"agent_group_ids[]": str(group.pk)}).json()

    # An agent who did nothing has no row.
    assert [row["agent"]["login"] for row in rows] == ["adam", "anna", "zofia"]


def test_pages_follow_one_another_and_end(api, anna):
    ConnectionFactory(agent=anna, created_at=at(20))
    rows = ask(api, aggregate_by="hour").json()
    pages = [ask(api, aggregate_by="hour", limit="3", offset=str(offset)).json() for offset in (0, 3, 6, 9)]

    assert [row for page in pages for row in page] == rows
    assert [len(page) for page in pages] == [3, 3, 3, 0]
    # Calls per hour are a number of one kind, also of an hour without a log-in.
    assert {repr(row["inbound"]["calls_per_hour"]) for row in rows} == {"0.0"}


def test_pages_are_by_login_whatever_is_summed_and_however_they_are_cut(api):
    logins = ["zoe", "anna", "marta", "ewa"]
    for login in logins:
        agent = AgentFactory(login=login)
        for days in range(-2, 3):
            presence.log_in(agent, ACTOR, at(8) + timedelta(days=days))
            presence.log_out(agent, ACTOR, at(16) + timedelta(days=days))
    span = {"date_from": "2026-06-01", "date_to": "2026-06-30", "aggregate_by": "day", "agent_logins[]": logins}

    composed = ask(api, **span).json()
    refresh()
    settle(at(8) + timedelta(days=60))
    pages = {
        size: [ask(api, **span, limit=str(size), offset=str(skipped)).json() for skipped in range(0, 20, size)]
        for size in (1, 3, 7)
    }

    assert [row["agent"]["login"] for row in composed] == [login for login in sorted(logins) for _ in range(5)]
    assert [row["period"] for row in composed] == [f"2026-06-{day:02}" for day in range(8, 13)] * 4
    assert [[row for page in of for row in page] for of in pages.values()] == [composed] * 3
    assert ask(api, **span, offset="9" * 19).json() == []


def test_a_threshold_parts_calls_by_the_whole_of_their_talk(api):
    agent = AgentFactory(login="anna")
    queue = QueueFactory()
    for seconds, values in ((10, {}), (20, {"queue": queue}), (40, {})):
        ConnectionFactory(
            agent=agent, created_at=at(9), answered_at=at(9), ended_at=at(9) + timedelta(seconds=seconds), **values
        )

    def parts(**parameters):
        row = ask(api, **parameters).json()[0]
        return tuple(row[f"outbound_{side}_threshold"]["count"] for side in ("above", "below"))

    assert parts() == (3, 0)
    assert parts(outbound_threshold="20") == (1, 2)
    refresh()
    assert parts(outbound_threshold="20") == (1, 2)
    assert parts(outbound_threshold="20", **{"queues_ids[]": str(queue.pk)}) == (0, 1)


def test_of_a_queue_that_nobody_can_have_there_is_nothing(api):
    agent, start = AgentFactory(login="anna"), at(9)
    ConnectionFactory(agent=agent, created_at=start, answered_at=start, ended_at=at(10), queue=QueueFactory())

    for _turn in ("composed", "summed"):
        for queue_id in ("0", "-1", "999999", "9" * 20):
            assert ask(api, **{"queues_ids[]": queue_id}).json() == []
        refresh()


def test_who_is_logged_in_has_no_logout_and_counts_until_now(api_client):
    api = api_client("reports:read")
    agent = AgentFactory(login="anna")
    presence.log_in(agent, ACTOR, at(8))

    with time_machine.travel(at(10.5), tick=False):
        (row,) = ask(api).json()

    assert (row["login_date"], row["logout_date"], row["login_sum"]) == ("2026-06-10 08:00:00", "", "02:30:00")


@pytest.mark.parametrize("aggregation", ["minute", "hour", "hour_of_day", "day", "week", "year"])
@pytest.mark.parametrize("is_summed", [True, False])
def test_a_page_takes_four_statements_after_that_for_the_user(is_summed, aggregation, api, anna):
    """What only sums are left of, agents, what is stale, the rows: whatever is stale or goes on."""
    if is_summed:
        refresh()
        settle(at(16) + timedelta(days=1))
    else:
        presence.log_in(anna, ACTOR, at(17))
    ApiUser.objects.update(last_used_at=timezone.now())

    with CaptureQueriesContext(connection) as captured:
        rows = ask(api, aggregate_by=aggregation).json()

    assert len(rows) > 0
    assert len(captured) == 5


@pytest.mark.parametrize("is_summed", [True, False])
def test_hours_of_the_day_of_all_time_are_asked_for_in_no_more_words_than_those_of_a_day(is_summed, api, anna):
    ChatMessageFactory(agent=anna, created_at=at(9.5))
    if is_summed:
        refresh()

    def asked(**span):
        with CaptureQueriesContext(connection) as captured:
            rows = ask(api, aggregate_by="hour_of_day", **span).json()
        return rows, sum(len(query["sql"]) for query in captured)

    day, words = asked()
    always, words_of_always = asked(date_from="1902-01-01", date_to="9998-12-31")

    assert [row["period"] for row in day] == [f"{hour:02}" for hour in range(8, 16)]
    assert [row["chat"]["responded"] for row in day] == [0, 1, 0, 0, 0, 0, 0, 0]
    assert always == day
    # There is not one entry for each hour since 1970.
    assert words_of_always < 2 * words
