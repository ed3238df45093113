"""Any switch with a reader of its events, and numbers with known behaviour."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pytest

from telephony.switch import simulated, simulation
from telephony.switch.asterisk import AsteriskSwitch
from telephony.switch.base import Alive, Arrived, Event, Online, Switch, Up
from telephony.switch.simulated import SimulatedSwitch
from tests.telephony.factories import AgentFactory
from tests.telephony.switch import ari_media
from tests.telephony.switch.ari_server import PASSWORD, USER, AriServer, ari_server

E = TypeVar("E", bound=Event)
PATIENCE_SECONDS = 100.0


Pair = tuple["Line", AriServer]


def wait_for(condition: Callable[[], Any], what: object = "") -> Any:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.005)
    raise AssertionError(f"not within {PATIENCE_SECONDS} s: {what}")


@dataclass
class Listener:
    """A thread that reads a switch's events into a list, and the Alive events into another."""

    switch: Switch
    events: list[Event] = field(default_factory=list)
    heard: list[Alive] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for event in self.switch.events():
            if isinstance(event, Alive):
                self.heard.append(event)
            else:
                self.events.append(event)
        self.is_over = True

    def stop(self) -> None:
        self.switch.close()
        self._thread.join(PATIENCE_SECONDS)

    def of(self, kind: type[E], **values: Any) -> list[E]:
        """Those of this kind that have these values."""
        return [
            event
            for event in self.events
            if isinstance(event, kind) and all(getattr(event, name) == value for name, value in values.items())
        ]

    def told(self, kind: type[E], **values: Any) -> E:
        """The first of this kind that has these values; it is waited for."""
        wait_for(lambda: self.of(kind, **values), (kind, values, self.events))
        return self.of(kind, **values)[0]


@dataclass
class Line:
    """A switch of one kind, and the numbers by which each thing can happen."""

    name: str
    switch: Switch
    listener: Listener
    numbers: dict[str, str]
    # Let a caller (the first argument) dial a number of ours.
    call_in: Callable[[str, str], object]
    # Press a key of the telephone of a channel.
    press: Callable[[str, str], object]
    # Return the channels that a channel hears.
    hears: Callable[[str], set[str]]
    count: int = 0

    @property
    def told(self) -> Any:
        return self.listener.told

    def agent(self, number: str = "101", ring_seconds: int = 20) -> str:
        """A channel to an agent's phone, asked for."""
        channel_id = self._new_id()
        self.switch.call_agent(channel_id, number, presented="48600100200", ring_seconds=ring_seconds)
        return channel_id

    def customer(self, what: str = "answers", ring_seconds: int = 20) -> str:
        channel_id = self._new_id()
        self.switch.call_number(channel_id, self.numbers[what], presented="+48221002003", ring_seconds=ring_seconds)
        return channel_id

    def caller(self, dialled: str = "48221002003") -> str:
        """Return the channel of a caller."""
        self.call_in("+48600100300", dialled)
        return str(self.listener.told(Arrived).channel_id)

    def standing_line(self, number: str = "101") -> str:
        """Return the channel of an agent's line that is up and hears silence."""
        self.count += 1
        channel_id = f"callcentre-line-{self.count}"
        self.switch.call_agent(channel_id, number, presented="", ring_seconds=20)
        self.switch.play_silence(self.up(channel_id))
        return channel_id

    def up(self, *channel_ids: str) -> str:
        """Wait until these phones are picked up. Return the channel of the last one."""
        for channel_id in channel_ids:
            self.listener.told(Up, channel_id=channel_id)
        return channel_ids[-1]

    def talk(self, record_as: str = "") -> tuple[str, str]:
        """Return the channels of an agent and a customer who talk in the bridge callcentre-1."""
        agent, customer = self.agent(), self.customer()
        self.up(agent, customer)
        self.switch.join("callcentre-1", [agent, customer], record_as=record_as)
        return agent, customer

    def _new_id(self) -> str:
        self.count += 1
        return f"callcentre-1-{self.count}"


def hears_in(network: simulation.Network, channel_id: str) -> set[str]:
    """Return the channels that a channel of the simulated network hears."""
    with network._lock:
        phones, heard = network._phones, network._phones[channel_id]
        if heard.bridge is None:
            other = phones.get(heard.listens_to)
            return {other.id, *(hears_in(network, other.id) if other.bridge else ())} if other else set()
        others = {phone.id for phone in heard.bridge.phones} - {channel_id}
        listening = [phone for phone in phones.values() if phone.bridge is None and phone.is_heard]
        return others | {phone.id for phone in listening if phone.listens_to in others}


@contextmanager
def simulated_line(settings: Any, patch: pytest.MonkeyPatch) -> Iterator[Line]:
    """Behaviour 20 times as fast, but without timeouts that a slow machine would reach."""
    settings.SIMULATED_SPEED = 20
    patch.setattr(simulation, "PATIENCE", 20_000.0)
    patch.setattr(simulated, "ANSWER_SECONDS", 60.0)
    for number in ("101", "102"):
        AgentFactory(number=number)
    switch = SimulatedSwitch()
    listener = Listener(switch)
    numbers = {
        "answers": "+48600100200",
        "busy": "+48600100201",
        "rings": "+48600100202",
        "refuses": "+48600100203",
        "unknown": "+48600100204",
        "fails": "+48600100205",
        "silent": "+48600100206",
        "machine": "+48600100207",
    }
    try:
        listener.told(Online)
        assert switch._network
        yield Line(
            "simulated", switch, listener, numbers, switch.arrive, switch.press, partial(hears_in, switch._network)
        )
    finally:
        listener.stop()


@contextmanager
def asterisk_line(settings: Any, **options: Any) -> Iterator[tuple[Line, AriServer]]:
    with ari_server(**options) as server:
        point_at(settings, server)
        switch = AsteriskSwitch()
        listener = Listener(switch)
        numbers = {
            "answers": "+48600100200",
            "busy": "+48600100486",
            "rings": "+48600100180",
            "refuses": "+48600100603",
            "unknown": "+48600100404",
            "fails": "+48600100500",
            "silent": "+48600100000",
            "machine": "+48600100207",
        }
        try:
            listener.told(Online)
            press, hears = partial(ari_media.press, server.pbx), partial(ari_media.hears, server.pbx)
            yield Line("asterisk", switch, listener, numbers, server.pbx.call_in, press, hears), server
        finally:
            listener.stop()


def point_at(settings: Any, server: AriServer) -> None:
    settings.ARI_URL, settings.ARI_USER, settings.ARI_PASSWORD = server.url, USER, PASSWORD


def asked(server: AriServer, *starts: str) -> list[str]:
    """The requests whose path starts so, in their order."""
    requests = [f"{method} {path}" for method, path, _ in server.pbx.requests]
    return [request for request in requests if any(f" {start}" in request for start in starts)]
