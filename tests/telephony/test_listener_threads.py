"""The listener with its real threads, in this process, and a stand-in for Asterisk on a real socket."""

import random
import threading
import time
from collections.abc import Collection
from functools import partial
from typing import Any

import pytest
from django.db import connection as database
from django.utils import timezone

from telephony import customers
from telephony import listener as module
from telephony.calls import inbound, lines, placement, switch_events, switch_requests
from telephony.channels import channel_id, line_channel_id, line_of
from telephony.event_dispatcher import Dispatcher
from telephony.keyed_pool import KeyedPool
from telephony.leader_election import is_connected
from telephony.listener import THREADS, Listener
from telephony.models import AgentState, Connection, Leg, Recording
from telephony.switch.asterisk import AsteriskSwitch
from telephony.switch.base import Detected, Ended, Played, RecordingFinished, Ringing, SwitchError, Up
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.processes import wait_for
from tests.telephony.callers import CALLER, HOTLINE, actions
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory, AgentLineFactory, ConnectionFactory, LegFactory
from tests.telephony.switch.ari_server import AriServer, ari_server
from tests.telephony.switch.harness import point_at

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 30.0


@pytest.fixture
def ari(settings):
    with ari_server(pick_up=0.05, copies=2) as server:
        point_at(settings, server)
        yield server


@pytest.fixture
def listening(ari, monkeypatch):
    """A listener connected to this stand-in, which compares more often than usual."""
    switch = AsteriskSwitch()
    for place in (switch_requests, module):
        monkeypatch.setattr(place, "current_switch", lambda: switch)
    monkeypatch.setattr(module, "CALM_SECONDS", 1.0)
    monkeypatch.setattr(module, "DOUBT_SECONDS", 0.2)
    listener = Listener()

    def run():
        try:
            listener.run()
        finally:
            database.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        wait_for(is_connected, "the switch is heard")
        yield ari
    finally:
        listener.is_stopping = True
        thread.join(PATIENCE_SECONDS)


def call_in(ari: AriServer) -> str:
    line = ari.pbx.call_in(CALLER, HOTLINE)
    assert line
    return line.id


def call_of(channel: str) -> Connection | None:
    return Connection.objects.filter(legs__channel_id=channel).first()


def is_over(channel: str) -> bool:
    call = call_of(channel)
    return call is not None and call.state == "ended"


def test_a_caller_without_an_event_is_stored_after_a_failed_comparison(queue, listening):
    with listening.pbx.lock:
        # The stream breaks just before the caller comes.
        listening.pbx.apps["callcentre"].send = lambda message: None
        channel = call_in(listening)
        listening.failing["GET channels"] = 2
    listening.cut(for_good=False)

    wait_for(lambda: call_of(channel), "the caller is let in")
    wait_for(lambda: listening.pbx.lines[channel].music, "and hears music")
    assert not listening.failing["GET channels"]
    listening.pbx.far_end_hangs_up(channel)
    wait_for(lambda: is_over(channel), "the end is heard")


def test_a_failed_arrival_is_stored_by_the_next_comparison(queue, listening, monkeypatch):
    failures, real = [ValueError("once"), ValueError("twice")], customers.customer_of_caller

    def customer_of_caller(caller, number):
        if failures:
            raise failures.pop()
        return real(caller, number)

    monkeypatch.setattr(inbound, "customer_of_caller", customer_of_caller)
    channel = call_in(listening)

    wait_for(lambda: call_of(channel), "the caller is let in")
    assert (Connection.objects.count(), failures) == (1, [])
    listening.pbx.far_end_hangs_up(channel)
    wait_for(lambda: is_over(channel), "the end is heard")


@pytest.mark.slow("runs threads")
def test_hanging_up_at_the_answer_leaves_no_bridge(anna, listening, monkeypatch):
    # The caller hangs up during the request to join both.
    real = AsteriskSwitch.join

    def join(self, bridge_id, channel_ids, **values):
        caller = next(name for name in channel_ids if not name.startswith("callcentre-"))
        listening.pbx.far_end_hangs_up(caller)
        # Time in which another thread could end the call.
        for _ in range(50):
            if is_over(caller):
                break
            time.sleep(0.01)
        real(self, bridge_id, channel_ids, **values)

    monkeypatch.setattr(AsteriskSwitch, "join", join)
    # No comparison may remove the remaining legs.
    monkeypatch.setattr(module, "CALM_SECONDS", 600.0)
    monkeypatch.setattr(module, "DOUBT_SECONDS", 600.0)
    for _ in range(5):
        channel = call_in(listening)
        wait_for(partial(is_over, channel), "the call is over")
        wait_for(lambda: not Leg.objects.filter(ended_at=None).exists(), "so are its legs")
        wait_for(lambda: not listening.pbx.bridges, "no bridge is left")
        presence.free(anna, anna.actor)

    assert not listening.pbx.lines
    assert set(AgentState.objects.filter(ended_at=None).values_list("kind", flat=True)) == {"free"}

    # The call was too short to be recorded.
    assert not Recording.objects.exists()


def test_the_line_of_a_phone_that_went_offline_unheard_ends_after_its_call(listening):
    idle, busy = AgentFactory.create(number="101", has_line=True), AgentFactory.create(number="102", has_line=True)
    for agent in (idle, busy):
        presence.log_in(agent, ACTOR)
        lines.ask_for_line(agent, ACTOR)
        wait_for(partial(lines.is_ready, agent.pk), "the line is up")
    connections.call(ACTOR, sip="102", phone_number=CALLER)
    wait_for(lambda: Connection.objects.filter(state="talking").exists(), "the other line is in a call")

    listening.pbx.offline |= {"101", "102"}
    listening.cut(for_good=False)

    wait_for(lambda: not lines.has_open(idle.pk), "the line has ended")
    wait_for(lambda: not lines.lasting(busy.pk).exists(), "the other line ends after its call")
    assert lines.has_open(busy.pk)


def test_a_refused_question_hinders_no_comparison(anna, listening, caplog):
    AgentLineFactory.create(agent=anna, channel_id=line_channel_id(7), state="up", pk=7)
    # As without the modules res_ari_endpoints and res_ari_asterisk.
    listening.failing |= {"GET endpoints/PJSIP": 1, "GET asterisk/variable": 1}
    listening.cut(for_good=False)

    wait_for(lambda: not lines.has_open(anna.pk), "the line without a channel has ended")
    assert not any(listening.failing.values())
    assert "not done" not in caplog.messages


# The order of the events of one call


class Held:
    """A task that blocks until it is released."""

    def __init__(self) -> None:
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.has_begun.set()
        assert self.may_end.wait(PATIENCE_SECONDS)


def flushed(pool: KeyedPool, keys: Collection[int]) -> None:
    """Wait until the tasks of these keys are done, and what they led to."""
    for _ in range(3):
        done = {key: threading.Event() for key in keys}
        for key, event in done.items():
            pool.submit(key, event.set)
        assert all(event.wait(PATIENCE_SECONDS) for event in done.values())


@pytest.fixture
def pool():
    pool = KeyedPool(THREADS)
    yield pool
    pool.shut_down(PATIENCE_SECONDS)


@pytest.mark.parametrize("seed", range(12))
def test_events_of_one_call_are_handled_in_their_order(pool, monkeypatch, seed):
    """The channels are busy with earlier events, and free again in any order."""
    chance, now = random.Random(seed), timezone.now()
    seen: list[Any] = []
    monkeypatch.setattr(switch_events, "handle", seen.append)
    dispatcher = Dispatcher(pool)
    call = ConnectionFactory.create(pk=chance.randint(1, THREADS), join_count=chance.randint(1, 2))
    caller = LegFactory.create(connection=call, channel_id=f"1416225570.{seed}").channel_id
    line = AgentLineFactory.create(channel_id=line_channel_id(chance.randint(1, THREADS)), connection_id=call.pk)
    first, second = channel_id(call.pk, 1), channel_id(call.pk, 2)
    events: list[Any] = [
        *(Ringing(first, now), Up(first, now), Ended(first, now, 16)),
        *(Ringing(second, now), Up(second, now), Detected(second, now, "human"), Ended(second, now, 16)),
        *(Up(caller, now), Ended(caller, now, 16)),
        *(Up(line.channel_id, now), Played(line.channel_id, now), Ended(line.channel_id, now, 16)),
        RecordingFinished(call.recording_name, now, 0, is_failed=True),
    ]
    chance.shuffle(events)

    busy = {key: Held() for key in {call.pk, line_of(line.channel_id), hash(caller)}}
    for key, held in busy.items():
        pool.submit(key, held)
    assert all(held.has_begun.wait(PATIENCE_SECONDS) for held in busy.values())
    for event in events:
        dispatcher.receive(event)
    for count, key in enumerate(free := chance.sample(sorted(busy), len(busy)), start=1):
        busy[key].may_end.set()
        flushed(pool, free[:count])

    assert seen == events


def test_a_failed_event_does_not_take_the_next_one_with_it(pool, monkeypatch):
    """The caller's event waits for its thread, and the later one of the agent's phone comes first."""
    dispatcher, held, seen, now = Dispatcher(pool), Held(), [], timezone.now()
    call = ConnectionFactory.create()
    caller = LegFactory.create(connection=call, channel_id="1416225570.1").channel_id

    def handle(event):
        seen.append(event)
        if event.channel_id == caller:
            raise ValueError("once")

    monkeypatch.setattr(switch_events, "handle", handle)
    events: list[Any] = [Ringing(caller, now), Up(channel_id(call.pk, 1), now)]
    pool.submit(hash(caller), held)
    for event in events:
        dispatcher.receive(event)
    flushed(pool, [call.pk])
    held.may_end.set()
    flushed(pool, [hash(caller), call.pk])

    assert (seen, dispatcher._unhandled) == (events, {})


def test_an_answer_comes_before_the_events_of_other_calls(monkeypatch):
    pool, held, seen, now = KeyedPool(1), Held(), [], timezone.now()
    dispatcher = Dispatcher(pool)
    monkeypatch.setattr(switch_events, "handle", lambda event: seen.append((type(event).__name__, event.channel_id)))
    one, other = channel_id(1, 1), channel_id(2, 1)

    pool.submit(0, held)
    for event in (Ended(one, now, 16), Ended(other, now, 16), Up(other, now)):
        dispatcher.receive(event)
    held.may_end.set()
    pool.shut_down(PATIENCE_SECONDS)

    assert seen == [("Ended", other), ("Up", other), ("Ended", one)]


def test_recordings_of_other_names_are_handled_too(pool, monkeypatch):
    dispatcher, seen = Dispatcher(pool), []
    monkeypatch.setattr(switch_events, "handle", lambda event: seen.append(event.name))
    names = {"", "voicemail", "1416225570", "1416225570.", "1416225570.x-2", "1416225570.1234567890123456789"}
    for name in names:
        dispatcher.receive(RecordingFinished(name, timezone.now(), 0))

    wait_for(lambda: set(seen) == names)


@pytest.mark.usefixtures("heard")
def test_the_listener_ends_a_call_that_the_switch_refuses(monkeypatch):
    """The request only writes the refusal to the leg. The pool's thread of the call ends the leg."""
    double = RecordingSwitch()
    double.refusals["call_agent"] = SwitchError("Allocation failed", cause=34)
    monkeypatch.setattr(switch_requests, "current_switch", lambda: double)
    AgentFactory(number="101")
    call = connections.call(ACTOR, sip="101", phone_number=CALLER)
    placement.place(call.pk)
    refused = Leg.objects.get()
    assert (refused.state, refused.cause, refused.cause_text) == (Leg.State.REFUSED, 34, "Allocation failed")

    listener = Listener()
    listener._submit_refused()
    listener._submit_refused()
    listener._pool.shut_down(PATIENCE_SECONDS)

    call.refresh_from_db()
    assert (call.state, call.disposition, call.cause, call.cause_text) == ("ended", "FAILED", 34, "Allocation failed")
    assert actions().count("CONNECTION_ENDED") == 1
