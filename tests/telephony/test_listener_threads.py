"""The listener with its real threads, in this process, and a stand-in for Asterisk on a real socket."""

import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection as database
from django.utils import timezone

from telephony import customers
from telephony import listener as module
from telephony.calls import inbound, placement, switch_events, switch_requests
from telephony.channels import channel_id
from telephony.event_dispatcher import Dispatcher
from telephony.keyed_pool import KeyedPool
from telephony.leader_election import is_connected
from telephony.listener import THREADS, Listener
from telephony.models import Agent, AgentState, Connection, Leg, Queue, Recording
from telephony.switch.asterisk import AsteriskSwitch
from telephony.switch.base import Arrived, Ended, Event, RecordingFinished, SwitchError, Up
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.processes import wait_for
from tests.telephony.callers import CALLER, HOTLINE, actions
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory
from tests.telephony.switch.ari_server import AriServer, ari_server
from tests.telephony.switch.harness import point_at

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 30.0


@pytest.fixture
def ari(settings: Any) -> Iterator[AriServer]:
    with ari_server(pick_up=0.05, copies=2) as server:
        point_at(settings, server)
        yield server


@pytest.fixture
def listening(ari: AriServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[AriServer]:
    """A listener connected to this stand-in, which compares more often than usual."""
    switch = AsteriskSwitch()
    for place in (switch_requests, module):
        monkeypatch.setattr(place, "current_switch", lambda: switch)
    monkeypatch.setattr(module, "CALM_SECONDS", 1.0)
    monkeypatch.setattr(module, "DOUBT_SECONDS", 0.2)
    listener = Listener()

    def run() -> None:
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


def test_a_caller_without_an_event_is_stored_after_a_failed_comparison(queue: Queue, listening: AriServer) -> None:
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


def test_a_caller_with_a_failed_arrival_is_stored_by_the_next_comparison(
    queue: Queue, listening: AriServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, real = [ValueError("once"), ValueError("twice")], customers.customer_of_caller

    def customer_of_caller(caller: str, number: str) -> Any:
        if failures:
            raise failures.pop()
        return real(caller, number)

    monkeypatch.setattr(inbound, "customer_of_caller", customer_of_caller)
    channel = call_in(listening)

    wait_for(lambda: call_of(channel), "the caller is let in")
    assert (Connection.objects.count(), failures) == (1, [])
    listening.pbx.far_end_hangs_up(channel)
    wait_for(lambda: is_over(channel), "the end is heard")


def test_callers_who_hang_up_as_the_agent_picks_up_leave_no_bridge(
    anna: Agent, listening: AriServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The caller hangs up during the request to join both.
    real = AsteriskSwitch.join

    def join(self: AsteriskSwitch, bridge_id: str, channel_ids: list[str], **values: Any) -> None:
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


# The order of the events of one call


class Held:
    """A task that blocks until it is released."""

    def __init__(self) -> None:
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.has_begun.set()
        assert self.may_end.wait(PATIENCE_SECONDS)


def flushed(pool: KeyedPool, busy: int) -> None:
    """Wait until the threads but that of this key have done what they were given, and what that led to."""
    for _ in range(3):
        done = [threading.Event() for key in range(THREADS) if key != busy % THREADS]
        keys = [key for key in range(THREADS) if key != busy % THREADS]
        for key, event in zip(keys, done, strict=True):
            pool.submit(key, event.set)
        assert all(event.wait(PATIENCE_SECONDS) for event in done)


@pytest.fixture
def pool() -> Iterator[KeyedPool]:
    pool = KeyedPool(THREADS)
    yield pool
    pool.shut_down(PATIENCE_SECONDS)


def callers_let_in(dispatcher: Dispatcher) -> list[str]:
    """Let in more callers than there are threads, so that a thread is shared by luck at most once."""
    channels = [f"1416225570.{number}" for number in range(2 * THREADS)]
    for channel in channels:
        dispatcher.receive(Arrived(channel, timezone.now(), CALLER, HOTLINE))
    wait_for(lambda: Connection.objects.count() == len(channels))
    return channels


def test_events_of_one_call_are_handled_one_after_another_whichever_channel_they_are_of(
    queue: Queue, switch: Any, pool: KeyedPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatcher, seen, held = Dispatcher(pool), [], Held()

    def handle(event: Event) -> None:
        seen.append(type(event).__name__)
        if isinstance(event, Up):
            held()

    monkeypatch.setattr(switch_events, "handle", handle)
    now = timezone.now()
    for channel in callers_let_in(dispatcher):
        seen.clear()
        held.has_begun.clear()
        held.may_end.clear()
        call = call_of(channel)
        assert call
        dispatcher.receive(Up(channel_id(call.pk, 1), now))
        assert held.has_begun.wait(PATIENCE_SECONDS)
        dispatcher.receive(Ended(channel, now, 16))
        dispatcher.receive(RecordingFinished(call.recording_name, now, 0, is_failed=True))
        flushed(pool, call.pk)
        before = list(seen)
        held.may_end.set()
        wait_for(lambda: len(seen) == 3)
        assert (before, seen) == (["Up"], ["Up", "Ended", "RecordingFinished"])


@pytest.mark.parametrize("join_count", [1, 2])
def test_the_end_of_a_recording_is_handled_after_the_end_of_the_caller(
    queue: Queue, switch: Any, pool: KeyedPool, monkeypatch: pytest.MonkeyPatch, join_count: int
) -> None:
    dispatcher, seen = Dispatcher(pool), []
    monkeypatch.setattr(switch_events, "handle", lambda event: seen.append(type(event).__name__))
    now = timezone.now()
    for channel in callers_let_in(dispatcher):
        seen.clear()
        held = Held()
        call = call_of(channel)
        assert call
        call.join_count = join_count
        # The thread that looks up the caller's connection is busy.
        pool.submit(hash(channel), held)
        assert held.has_begun.wait(PATIENCE_SECONDS)
        dispatcher.receive(Ended(channel, now, 16))
        dispatcher.receive(RecordingFinished(call.recording_name, now, 0, is_failed=True))
        flushed(pool, hash(channel))
        before = list(seen)
        held.may_end.set()
        wait_for(lambda: len(seen) == 2)
        assert (before, seen) == ([], ["Ended", "RecordingFinished"])


def test_recordings_of_other_names_are_handled_too(pool: KeyedPool, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher, seen = Dispatcher(pool), []
    monkeypatch.setattr(switch_events, "handle", lambda event: seen.append(event.name))
    names = {"", "voicemail", "1416225570", "1416225570.", "1416225570.x-2", "1416225570.1234567890123456789"}
    for name in names:
        dispatcher.receive(RecordingFinished(name, timezone.now(), 0))

    wait_for(lambda: set(seen) == names)


@pytest.mark.usefixtures("heard")
def test_the_listener_ends_a_call_that_the_switch_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
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
