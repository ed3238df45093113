"""A switch without a PBX, for trials and demonstrations.

Its simulated network (telephony.switch.simulation) runs in the process that reads its events, the listener. Other
processes send it their commands as rows, `SwitchCommand`, with a message, and wait for the answer.
"""

import logging
import math
import queue
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.utils import timezone

from callcentre.core.pubsub import publish, subscribe
from telephony import call_clock
from telephony.models import Agent, SwitchCommand
from telephony.switch import base
from telephony.switch.simulation import Network

logger = logging.getLogger(__name__)

TOPIC = "switch"
# How long a process waits for an answer, its polling interval, and that of the listener without messages.
ANSWER_SECONDS = 5.0
LOOK_SECONDS = 0.01
TICK_SECONDS = 0.5
# A recording: mono, 16 bits, two tones in turns.
FRAMES_PER_SECOND = 8000
TONES_HERTZ = (440, 330)


class SimulatedSwitch:
    """The Switch of the setting `simulated`. telephony.switch.base describes the methods."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._network: Network | None = None
        self._events: queue.SimpleQueue[base.Event | None] = queue.SimpleQueue()
        self._stopping, self._has_message = threading.Event(), threading.Event()
        self._taker: threading.Thread | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a command that the network carries out as it is."""
        if not hasattr(Network, name):
            raise AttributeError(name)
        return partial(self._do, name)

    def test_phone(self, number: str) -> None:
        raise base.SwitchError("The simulated switch has no sound.")

    def call_agent(self, channel_id: str, number: str, **options: Any) -> None:
        if not Agent.objects.filter(number=number, is_active=True).exists():
            raise base.SwitchError("No phone has this number.")
        self._do("call_agent", channel_id, number, **options)

    def stop_tone(self, channel_id: str) -> None: ...

    def channels(self) -> list[base.Channel]:
        return [base.Channel(*fields) for fields in self._do("channels")]

    def offline_phones(self) -> list[str]:
        return []

    def missed(self) -> list[base.Missed]:
        """Return none: without a listener there is no network, and so no caller."""
        return []

    def forget_missed(self, key: str) -> None: ...

    def recording(self, name: str) -> Iterator[bytes]:
        return tones(self._do("recorded_seconds", name))

    def events(self) -> Iterator[base.Event]:
        with self._lock:
            # Tell an earlier reader.
            self._events.put(base.Replaced())
            self._events.put(None)
            stream = self._events = queue.SimpleQueue()
            if self._network is None:
                self._stopping.clear()
                self._network = Network(self._emit, settings.SIMULATED_SPEED)
                self._taker = threading.Thread(target=self._take_commands, name="switch commands", daemon=True)
                self._taker.start()
        yield base.Online()
        while True:
            try:
                if (event := stream.get(timeout=base.PULSE_SECONDS)) is None:
                    return
                yield event
            except queue.Empty:
                yield base.Alive(call_clock.now())

    def _emit(self, event: base.Event) -> None:
        self._events.put(event)

    def close(self) -> None:
        with self._lock:
            network, taker, self._network, self._taker = self._network, self._taker, None, None
            self._stopping.set()
            self._has_message.set()
            self._events.put(None)
        if network and taker:
            taker.join()
            network.close()

    # Commands: carried out here if the network is in this process, else by the listener

    def _do(self, command_name: str, *args: Any, **kwargs: Any) -> Any:
        arguments = {"args": args, "kwargs": kwargs}
        if network := self._network:
            return _carried_out(network, command_name, arguments)
        command = SwitchCommand.objects.create(name=command_name, arguments=arguments)
        publish(TOPIC)
        mine = SwitchCommand.objects.filter(pk=command.pk)
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
            command.refresh_from_db()
            if command.done_at:
                mine.delete()
                if command.error:
                    raise base.SwitchError(command.error, command.cause)
                return command.answer
        mine.filter(taken_at__isnull=True).delete()
        raise base.SwitchUnreachable("The simulated switch does not answer: does `manage.py listen_to_switch` run?")

    def _take_commands(self) -> None:
        subscribe(TOPIC, self._has_message.set, self._stopping)
        while not self._stopping.is_set():
            try:
                while self._network and _take(self._network):
                    pass
            except DatabaseError as error:
                logger.warning("no commands", extra={"error": type(error).__name__})
                connection.close()
            self._has_message.wait(TICK_SECONDS)
            self._has_message.clear()
        connection.close()


def _carried_out(network: Network, name: str, arguments: dict[str, Any]) -> Any:
    answer = getattr(network, name)(*arguments["args"], **arguments["kwargs"])
    return [astuple(channel) for channel in answer] if name == "channels" else answer


def _take(network: Network) -> int:
    """Carry out the waiting commands and return their number. Older commands have timed out."""
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
        except base.SwitchError as error:
            command.error, command.cause = str(error), error.cause
        except Exception:
            # Perhaps of another version of the service. The next command must be taken anyway.
            logger.exception("a command to the simulated switch failed", extra={"command": command.name})
            command.error = "The simulated switch failed."
        # Not save(), which would insert the row again if the sender has deleted it.
        SwitchCommand.objects.filter(pk=command.pk).update(
            done_at=timezone.now(), answer=command.answer, error=command.error, cause=command.cause
        )
    return len(commands)


def tones(seconds: int) -> Iterator[bytes]:
    """Yield a WAV file of this length, second by second."""
    size = seconds * FRAMES_PER_SECOND * 2
    form = (b"fmt ", 16, 1, 1, FRAMES_PER_SECOND, FRAMES_PER_SECOND * 2, 2, 16)
    yield struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVE", *form, b"data", size)
    sides = [_tone(hertz) for hertz in TONES_HERTZ]
    for second in range(seconds):
        yield sides[second % len(sides)]


def _tone(hertz: int) -> bytes:
    """Return a second of a tone that swells and fades."""
    frames = FRAMES_PER_SECOND
    heights = (
        8000 * math.sin(math.pi * n / frames) * math.sin(2 * math.pi * hertz * n / frames) for n in range(frames)
    )
    return struct.pack(f"<{frames}h", *(round(height) for height in heights))
