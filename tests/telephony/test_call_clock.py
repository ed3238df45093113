"""Durations of calls, while the clock of the system is set back or forth."""

import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.utils import timezone

from callcentre.core.times import zone
from telephony import call_clock
from telephony.calls import commands, distribution, placement, switch_events
from telephony.models import AgentState, Connection, Leg
from telephony.switch.ari_events import Interpreter
from telephony.switch.base import Ended
from telephony.verbs import connections
from tests.conftest import ACTOR
from tests.reports.asking import ask, refresh
from tests.telephony.callers import HOTLINE, free_agent, member
from tests.telephony.factories import AgentFactory, ConnectionFactory, OfferFactory
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

MORNING = datetime(2026, 11, 20, 9, tzinfo=UTC)
DAY = (datetime(2026, 11, 20, tzinfo=zone()), datetime(2026, 11, 21, tzinfo=zone()))


class Clocks:
    """The two clocks of the machine: time passes on both; people set only that of the system."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.system, self.steady = MORNING, 1000.0
        patch.setattr(call_clock, "time", self)
        patch.setattr(timezone, "now", lambda: self.system)

    def time(self) -> float:
        return self.system.timestamp()

    def monotonic(self) -> float:
        return self.steady

    def passes(self, seconds: float) -> None:
        self.steady += seconds
        self.is_set(seconds)

    def is_set(self, seconds: float) -> None:
        self.system += timedelta(seconds=seconds)


@pytest.fixture
def both(monkeypatch):
    with monkeypatch.context() as patch:
        yield Clocks(patch)


@pytest.fixture
def agent(both):
    return free_agent()


@pytest.fixture
def dialling(agent, both, switch):
    """The agent has picked up, and the customer's phone rings since five seconds."""
    call = connections.call(ACTOR, sip="101", phone_number="+48225550107")
    placement.place(call.pk)
    happens(call, 1, "StasisStart", state="Up")
    happens(call, 2, "ChannelStateChange", state="Ringing")
    both.passes(5)
    return call


def happens(call: Connection, number: int, kind: str, **facts: Any) -> None:
    """Handle an event of Asterisk for a leg of the call now."""
    state = facts.pop("state", "Up")
    channel = {"id": f"callcentre-{call.pk}-{number}", "state": state}
    event = Interpreter().event(message(kind, channel, **facts))
    assert event
    switch_events.handle(event)


def message(kind: str, channel: dict[str, Any], **facts: Any) -> bytes:
    return orjson.dumps({"type": kind, "channel": channel, **facts})


def payload(action: str) -> Any:
    return Event.objects.get(action=action).payload


@pytest.mark.parametrize("seconds", [-3600, -10, -1, 10, 3600])
def test_setting_the_clock_changes_no_duration(seconds, dialling, both, agent, api):
    both.is_set(seconds)
    happens(dialling, 2, "StasisStart")
    both.passes(20)
    both.is_set(seconds)
    both.passes(20)
    happens(dialling, 2, "ChannelDestroyed", cause=16)

    call = Connection.objects.get()
    assert (call.ring_seconds, call.billsec, call.duration) == (5, 40, 45)
    ended = payload("CONNECTION_ENDED")
    assert (ended["duration"], ended["billsec"]) == (45, 40)
    [row] = api.get("/api/connections").json()["result"]
    assert (row["duration"], row["billsec"]) == (45, 40)
    talking = AgentState.objects.get(agent=agent, kind="talking")
    assert talking.ended_at is not None
    assert talking.ended_at - talking.started_at == timedelta(seconds=45)


def test_a_caller_waits_for_as_long_as_time_passes(both, queue, switch):
    member(queue, "bert", "102", minutes_free=1)
    caller = {"caller": {"number": "+48225550107"}, "dialplan": {"exten": HOTLINE}}
    event = Interpreter().event(message("StasisStart", {"id": "caller-1", "state": "Ring", **caller}, args=[]))
    assert event
    switch_events.handle(event)
    both.passes(4)
    both.is_set(-100)
    call = Connection.objects.get()
    distribution.distribute(call_clock.now())
    both.passes(3)
    happens(call, 2, "StasisStart")
    both.is_set(100)
    both.passes(30)
    switch_events.handle(Ended("caller-1", call_clock.now(), 16))

    call.refresh_from_db()
    offer = call.offers.get()
    assert offer.answered_at
    assert (call.wait_seconds, call.billsec, call.duration) == (7, 30, 37)
    assert offer.answered_at - offer.offered_at == timedelta(seconds=3)


def test_a_command_takes_place_on_the_clock_of_its_call(dialling, both):
    happens(dialling, 2, "StasisStart")
    both.passes(12)
    both.is_set(-60)
    command = commands.ask(ACTOR, Connection.objects.get(), "hang_up")
    commands.carry_out(command.pk, dialling.pk)

    assert Connection.objects.get().billsec == 12


def test_a_call_timed_by_two_processes_is_never_negative(switch, agent, api):
    """The instants have no readings that belong together: the second one comes after the first all the same."""
    call = ConnectionFactory(agent=agent, talking=True, created_at=MORNING, answered_at=MORNING + timedelta(seconds=10))
    leg: Leg = call.legs.create(
        role="customer", number="1", channel_id="callcentre-7-2", state="up", asked_at=MORNING, up_at=MORNING
    )
    switch_events.handle(Ended(leg.channel_id, MORNING + timedelta(seconds=3), 16))

    ended = payload("CONNECTION_ENDED")
    assert (ended["duration"], ended["billsec"]) == (10, 0)
    [row] = api.get("/api/connections").json()["result"]
    assert (row["duration"], row["billsec"]) == (10, 0)


def test_rows_with_an_end_before_their_start_count_as_nothing(api, both):
    """Instants as an older version of the service may have stored them."""
    agent = AgentFactory(login="anna")
    at, earlier = MORNING + timedelta(minutes=1), MORNING + timedelta(seconds=50)
    ConnectionFactory(agent=agent, created_at=at, answered_at=at, ended_at=earlier)
    OfferFactory(agent=agent, offered_at=at, answered_at=at, ended_at=earlier, connection__inbound=True)
    both.passes(3600)
    refresh()

    call = Connection.objects.get(direction="OUTBOUND")
    assert (call.duration, call.billsec) == (0, 0)
    shown = api.get(f"/api/connections/{call.uid}").json()
    assert (shown["duration"], shown["billsec"], [talk["seconds"] for talk in shown["talks"]]) == (0, 0, [0])
    [row] = ask([agent], DAY, "day", both.system)
    assert row["outbound_below_threshold"] == {"count": 1, "sum": "00:00:00", "average": "00:00:00"}
    assert (row["inbound"]["sum"], row["inbound"]["wait_sum"]) == ("00:00:00", 0)


def test_the_first_instants_of_calls_are_forgotten_in_their_order(monkeypatch):
    monkeypatch.setattr(call_clock, "_leads", {})
    monkeypatch.setattr(call_clock, "REMEMBERED", 3)
    for number in range(5):
        call_clock.on_call(number, call_clock.now())

    assert list(call_clock._leads) == [2, 3, 4]


def test_a_call_takes_little_of_the_listeners_memory(monkeypatch):
    monkeypatch.setattr(call_clock, "_leads", {})
    calls = 2000
    tracemalloc.start()
    try:
        for number in range(calls):
            # A large number is an object of its own.
            call_clock.on_call(10**6 + number, call_clock.now())
        taken, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert taken / calls < 250


def test_an_instant_without_a_reading_is_never_in_the_future():
    now = timezone.now()

    assert call_clock.on_call(1, now + timedelta(hours=1)) < now + timedelta(minutes=1)
    assert call_clock.on_call(None, call_clock.now() + timedelta(hours=1)) < now + timedelta(minutes=1)
