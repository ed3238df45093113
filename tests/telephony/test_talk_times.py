"""Talks of transferred calls: each agent has the time for which this agent talked, in the API and in the report."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from callcentre.core.times import second
from telephony.calls import commands, legs, placement, switch_events
from telephony.models import Agent, Connection, LedgerChange, Offer, Talk
from telephony.switch.base import Arrived, Ended, Up
from telephony.verbs import connections
from tests.conftest import ACTOR, ApiClient
from tests.reports.asking import ask, refresh
from tests.telephony.callers import HOTLINE, distribute, free_agent
from tests.telephony.conftest import MORNING, Clock
from tests.telephony.factories import AgentFactory, ConnectionFactory, OfferFactory, QueueFactory, QueueMemberFactory

pytestmark = pytest.mark.django_db(transaction=True)

DAY = (MORNING.replace(hour=0), MORNING.replace(hour=0) + timedelta(days=1))


@pytest.fixture
def anna(clock):
    return free_agent()


@pytest.fixture
def zoe(clock):
    return free_agent("zoe", "109")


@pytest.fixture
def talking(anna, zoe, switch, clock):
    """A call of anna's, to a customer who has picked up after ten seconds."""
    call = connections.call(ACTOR, sip="101", phone_number="+48225550107")
    placement.place(call.pk)
    for number in (1, 2):
        switch_events.handle(Up(f"callcentre-{call.pk}-{number}", clock.later(5)))
    return call


def transfer(call: Connection, **target: Any) -> None:
    command = commands.ask(ACTOR, Connection.objects.get(pk=call.pk), "transfer", target)
    commands.carry_out(command.pk, call.pk)


def pick_up(call: Connection, at: datetime) -> None:
    """The phone that was asked for last is picked up."""
    switch_events.handle(Up(call.legs.latest("id").channel_id, at))


def hang_up(call: Connection, at: datetime) -> None:
    customer = call.legs.get(role="customer")
    switch_events.handle(Ended(customer.channel_id, at, 16))


def read(api: ApiClient, call: Connection) -> dict[str, Any]:
    answer: dict[str, Any] = api.get(f"/api/connections/{call.uid}").json()
    return answer


def talks(api: ApiClient, call: Connection) -> list[tuple[str, int]]:
    return [(talk["agent_login"], talk["seconds"]) for talk in read(api, call)["talks"]]


def outbound(clock: Clock, threshold: int = 0, aggregation: str = "day") -> dict[str, tuple[int, str, int, str]]:
    """Login -> count and sum of the calls above the threshold, then of those below."""
    refresh()
    rows = ask(list(Agent.objects.all()), DAY, aggregation, clock.now, threshold=threshold)
    found = {}
    for row in rows:
        above, below = row["outbound_above_threshold"], row["outbound_below_threshold"]
        found[row["agent"]["login"]] = (above["count"], above["sum"], below["count"], below["sum"])
    return found


def test_a_call_transferred_to_an_agent_counts_for_both(talking, clock, api):
    clock.later(6)
    transfer(talking, number="109")
    pick_up(talking, clock.later(1))
    hang_up(talking, clock.later(4))

    assert talks(api, talking) == [("anna", 6), ("zoe", 4)]
    assert outbound(clock) == {"anna": (1, "00:00:06", 0, "00:00:00"), "zoe": (1, "00:00:04", 0, "00:00:00")}


def test_the_threshold_is_compared_with_each_agents_talk(talking, clock, api):
    clock.later(6)
    transfer(talking, number="109")
    pick_up(talking, clock.now)
    hang_up(talking, clock.later(4))

    assert outbound(clock, 5) == {"anna": (1, "00:00:06", 0, "00:00:00"), "zoe": (0, "00:00:00", 1, "00:00:04")}
    # The talks of the agents are the talk of the call.
    assert read(api, talking)["billsec"] == 10


def test_a_call_to_a_queue_counts_for_its_new_agent(talking, zoe, clock, api):
    queue = QueueFactory()
    QueueMemberFactory(queue=queue, agent=zoe)
    clock.later(6)
    transfer(talking, queue_id=queue.pk)
    distribute()
    pick_up(talking, clock.later(3))
    hang_up(talking, clock.later(9))

    assert talks(api, talking) == [("anna", 6), ("zoe", 9)]
    assert outbound(clock) == {"anna": (1, "00:00:06", 0, "00:00:00"), "zoe": (1, "00:00:09", 0, "00:00:00")}
    assert list(Talk.objects.values_list("queue", flat=True)) == [None, queue.pk]


def test_a_talk_with_a_number_outside_is_no_agents(talking, clock, api):
    clock.later(6)
    transfer(talking, number="+48225550199")
    pick_up(talking, clock.later(2))
    hang_up(talking, clock.later(60))

    assert talks(api, talking) == [("anna", 6)]
    assert outbound(clock) == {"anna": (1, "00:00:06", 0, "00:00:00"), "zoe": (0, "00:00:00", 0, "00:00:00")}
    assert read(api, talking)["billsec"] == 68


def test_a_call_back_to_its_agent_is_a_further_talk(talking, clock, api):
    for seconds, number in ((6, "109"), (4, "101")):
        clock.later(seconds)
        transfer(talking, number=number)
        pick_up(talking, clock.later(1))
    hang_up(talking, clock.later(2))

    assert talks(api, talking) == [("anna", 6), ("zoe", 4), ("anna", 2)]
    assert outbound(clock)["anna"] == (2, "00:00:08", 0, "00:00:00")


def test_an_open_transferred_call_counts_until_now(talking, clock, api):
    clock.later(6)
    transfer(talking, number="109")
    between = outbound(clock)
    pick_up(talking, clock.later(1))
    clock.later(7)

    assert between["zoe"] == (0, "00:00:00", 0, "00:00:00")
    assert outbound(clock) == {"anna": (1, "00:00:06", 0, "00:00:00"), "zoe": (1, "00:00:07", 0, "00:00:00")}
    assert talks(api, talking) == [("anna", 6), ("zoe", 0)]


def test_a_talk_over_an_hour_is_in_both_hours(talking, clock):
    clock.later(3000)
    transfer(talking, number="109")
    pick_up(talking, clock.later(0))
    hang_up(talking, clock.later(1000))
    refresh()
    rows = ask([Agent.objects.get(login="zoe")], DAY, "hour", clock.now)

    counted = [(row["period"][-2:], row["outbound_above_threshold"]) for row in rows]
    assert [(hour, calls["count"], calls["sum"]) for hour, calls in counted if calls["sum"] != "00:00:00"] == [
        ("09", 1, "00:09:50"),
        ("10", 0, "00:06:50"),
    ]


def test_an_inbound_call_has_the_talks_of_its_answered_offers(anna, zoe, switch, clock, api):
    QueueMemberFactory(queue=QueueFactory(number=HOTLINE), agent=anna)
    switch_events.handle(Arrived("caller-1", clock.now, "+48225550107", HOTLINE))
    call = Connection.objects.get()
    distribute()
    pick_up(call, clock.later(3))
    clock.later(6)
    transfer(call, number="109")
    pick_up(call, clock.later(2))
    hang_up(call, clock.later(4))

    assert talks(api, call) == [("anna", 6), ("zoe", 4)]
    assert not Talk.objects.exists()
    [inbound] = [row["inbound"] for row in ask([zoe], DAY, "day", clock.now)]
    assert (inbound["answered_count"], inbound["sum"]) == (1, "00:00:04")


def test_a_call_without_a_transfer_is_one_talk_of_its_agent(talking, clock, api):
    hang_up(talking, clock.later(8))

    shown = read(api, talking)
    started_at = second(MORNING + timedelta(seconds=10))
    assert shown["talks"] == [{"agent_login": "anna", "started_at": started_at, "seconds": 8}]
    assert shown["cause"] == 16
    [row] = api.get("/api/connections").json()["result"]
    assert {name: value for name, value in shown.items() if name in row} == row
    assert not Talk.objects.exists()


def test_a_call_that_no_agent_answered_has_no_talks(api):
    missed = OfferFactory(connection__waiting=True, outcome=Offer.Outcome.NOT_ANSWERED).connection
    unanswered = ConnectionFactory(unanswered=True, agent=AgentFactory())

    assert [talks(api, call) for call in (missed, unanswered)] == [[], []]


def test_the_end_of_a_call_ends_its_talk_once(talking, clock, api):
    clock.later(6)
    transfer(talking, number="109")
    pick_up(talking, clock.later(1))
    at = clock.later(4)
    LedgerChange.objects.all().delete()
    with transaction.atomic():
        call = legs.lock(talking.pk)
        assert call
        for _ in range(2):
            legs.end(call, at, "ANSWERED", cause=16, hung_up_by="customer")

    noted = LedgerChange.objects.filter(until=at, since=at - timedelta(seconds=4))
    assert [change.agent.login for change in noted] == ["zoe"]
    assert not Talk.objects.filter(ended_at=None).exists()
