"""A switch without a PBX: everything can be tried, and shown to others.

The network it plays (telephony.switch.simulation) lives in the process that reads its events, the listener. What
other processes want of it goes there as rows, `SwitchCommand`, and a message; they wait for the answer.
"""

import logging
import math
import queue
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.utils import timezone

from callcentre.core.pubsub import publish, subscribe
from telephony import call_clock
from telephony.models import Agent, SwitchCommand
from telephony.switch.base import (
    PULSE_SECONDS,
    Alive,
    Channel,
    Event,
    Missed,
    Online,
    Replaced,
    SwitchError,
    SwitchUnreachable,
)
from telephony.switch.simulation import Network

logger = logging.getLogger(__name__)

TOPIC = "switch"
# How long a process waits for an answer, looking this often; and how often the listener looks without a message.
ANSWER_SECONDS = 5.0
LOOK_SECONDS = 0.01
TICK_SECONDS = 0.5
# A recording: mono, 16 bits. The two sides are two tones that take turns.
FRAMES_PER_SECOND = 8000
TONES_HERTZ = (440, 330)


class SimulatedSwitch:
    """The Switch of the setting `simulated`; see telephony.switch.base for what each method does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._network: Network | None = None
        self._news: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._taker: threading.Thread | None = None

    def ping(self) -> None:
        self._do("ping")

    def call_agent(self, channel_id: str, number: str, *, presented: str, ring_seconds: int) -> None:
        if not Agent.objects.filter(number=number, is_active=True).exists():
            raise SwitchError("No phone has this number.")
        self._do("call_agent", channel_id=channel_id, number=number, ring_seconds=ring_seconds)

    def call_number(self, channel_id: str, number: str, *, presented: str, ring_seconds: int) -> None:
        self._do("call_number", channel_id=channel_id, number=number, ring_seconds=ring_seconds)

    def arrive(self, caller: str, dialled: str, *, patience: float | None = None, talk: float | None = None) -> str:
        """Somebody outside calls us; he gives up after `patience` seconds without anybody to talk to, and talks for
        `talk`. His channel."""
        return str(self._do("arrive", caller=caller, dialled=dialled, patience=patience, talk=talk))

    def follow(self, channel_id: str) -> None:
        self._do("follow", channel_id=channel_id)

    def answer(self, channel_id: str) -> None:
        self._do("answer", channel_id=channel_id)

    def join(self, bridge_id: str, channel_ids: Sequence[str], *, record_as: str = "") -> None:
        self._do("join", bridge_id=bridge_id, channel_ids=list(channel_ids), record_as=record_as)

    def destroy_bridge(self, bridge_id: str) -> None:
        self._do("destroy_bridge", bridge_id=bridge_id)

    def play_music(self, channel_id: str, music_class: str) -> None:
        self._do("play_music", channel_id=channel_id)

    def stop_music(self, channel_id: str) -> None:
        self._do("stop_music", channel_id=channel_id)

    def hang_up(self, channel_id: str, cause: int = 16) -> None:
        self._do("hang_up", channel_id=channel_id, cause=cause)

    def channels(self) -> list[Channel]:
        return [Channel(*fields) for fields in self._do("channels")]

    def bridges(self) -> list[str]:
        return list(self._do("bridges"))

    def missed(self) -> list[Missed]:
        """There are none: without a listener there is no network in which somebody could call."""
        return []

    def forget_missed(self, key: str) -> None: ...

    def recording(self, name: str) -> Iterator[bytes]:
        return tones(self._do("recorded_seconds", name=name))

    def remove_recording(self, name: str) -> None:
        self._do("remove_recording", name=name)

    def events(self) -> Iterator[Event]:
        with self._lock:
            # Whoever read them before is told.
            self._news.put(Replaced())
            self._news.put(None)
            news = self._news = queue.SimpleQueue()
            if self._network is None:
                self._stopping.clear()
                self._network = Network(self._tell, settings.SIMULATED_SPEED)
                self._taker = threading.Thread(target=self._take_commands, name="switch commands", daemon=True)
                self._taker.start()
        yield Online()
        while True:
            try:
                if (event := news.get(timeout=PULSE_SECONDS)) is None:
                    return
                yield event
            except queue.Empty:
                yield Alive(call_clock.now())

    def _tell(self, event: Event) -> None:
        self._news.put(event)

    def close(self) -> None:
        with self._lock:
            network, taker, self._network, self._taker = self._network, self._taker, None, None
            self._stopping.set()
            self._news.put(None)
        if network and taker:
            taker.join()
            network.close()

    # Commands: carried out here if the network is here, else by whoever has it

    def _do(self, name: str, /, **arguments: Any) -> Any:
        if network := self._network:
            return _carried_out(network, name, arguments)
        command = SwitchCommand.objects.create(name=name, arguments=arguments)
        publish(TOPIC)
        mine = SwitchCommand.objects.filter(pk=command.pk)
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
            command.refresh_from_db()
            if command.done_at:
                mine.delete()
                if command.error:
                    raise SwitchError(command.error, command.cause)
                return command.answer
        mine.filter(taken_at__isnull=True).delete()
        raise SwitchUnreachable("The simulated switch does not answer: does `manage.py listen_to_switch` run?")

    def _take_commands(self) -> None:
        is_told = threading.Event()
        subscribe(TOPIC, is_told.set, self._stopping)
        while not self._stopping.is_set():
            try:
                while self._network and _take(self._network):
                    pass
            except DatabaseError as error:
                logger.warning("no commands", extra={"error": type(error).__name__})
                connection.close()
            is_told.wait(TICK_SECONDS)
            is_told.clear()
        connection.close()


def _carried_out(network: Network, name: str, arguments: dict[str, Any]) -> Any:
    answer = getattr(network, name)(**arguments)
    return [astuple(channel) for channel in answer] if name == "channels" else answer


def _take(network: Network) -> int:
    """Carry out what waits; how many that were. Whoever asked longer ago has given up."""
    now = timezone.now()
    SwitchCommand.objects.filter(created_at__lt=now - timedelta(seconds=10 * ANSWER_SECONDS)).delete()
    with transaction.atomic():
        waiting = SwitchCommand.objects.filter(
            taken_at__isnull=True, created_at__gt=now - timedelta(seconds=ANSWER_SECONDS)
        )
        commands = list(waiting.select_for_update(skip_locked=True)[:100])
        SwitchCommand.objects.filter(pk__in=[command.pk for command in commands]).update(taken_at=now)
    for command in commands:
        try:
            command.answer = _carried_out(network, command.name, command.arguments)
        except SwitchError as error:
            command.error, command.cause = str(error), error.cause
        except Exception:
            # Of another version of the service, perhaps; the next command is to be taken all the same.
            logger.exception("a command to the simulated switch failed", extra={"command": command.name})
            command.error = "The simulated switch failed."
        # Not save(), which would bring back the row of one who has given up.
        SwitchCommand.objects.filter(pk=command.pk).update(
            done_at=timezone.now(), answer=command.answer, error=command.error, cause=command.cause
        )
    return len(commands)


def tones(seconds: int) -> Iterator[bytes]:
    """A WAV of this length, second by second."""
    size = seconds * FRAMES_PER_SECOND * 2
    form = (b"fmt ", 16, 1, 1, FRAMES_PER_SECOND, FRAMES_PER_SECOND * 2, 2, 16)
    yield struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVE", *form, b"data", size)
    sides = [_tone(hertz) for hertz in TONES_HERTZ]
    for second in range(seconds):
        yield sides[second % len(sides)]


def _tone(hertz: int) -> bytes:
    """A second of it, that swells and fades."""
    frames = FRAMES_PER_SECOND
    heights = (
        8000 * math.sin(math.pi * n / frames) * math.sin(2 * math.pi * hertz * n / frames) for n in range(frames)
    )
    return struct.pack(f"<{frames}h", *(round(height) for height in heights))
