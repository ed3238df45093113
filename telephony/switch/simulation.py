"""A telephone network in memory: phones ring, are picked up, talk and hang up, by the timers of one thread.

The simulated switch (telephony.switch.simulated) runs it in the listener's process; it starts empty. The last two
digits of an outside number decide its behaviour; an agent's phone is always picked up. docs/telephony-switch.md
describes it for users.
"""

import heapq
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from telephony import call_clock
from telephony.channels import line_of
from telephony.switch import base

logger = logging.getLogger(__name__)

NORMAL, BUSY, NO_ANSWER, REJECTED, UNALLOCATED, NETWORK_DOWN = 16, 17, 19, 21, 1, 38
# The cause of Asterisk for a caller who hangs up while waiting.
UNKNOWN = 0

# All in seconds.
AGENT_RINGS_AFTER, AGENT_ANSWERS_AFTER = 0.05, 0.5
RINGS_AFTER, RINGING, REPLY = 0.2, (0.8, 1.2), 0.3
TALK = (2.0, 4.0)
TONE, MESSAGE = 0.4, 3.0
# Before each key that a caller presses.
KEY = 2.0
# The last two digits of numbers with an answering machine, and how long a detection takes.
MACHINE, DETECTION = "07", (0.8, 1.6)
# How long an outside party waits, with music or in silence.
PATIENCE = 60.0
RECORDINGS_KEPT = 1000


@dataclass(frozen=True)
class FarEnd:
    """The behaviour of a called number: whether it rings, and when it ends the call. By default it answers."""

    rings: bool = True
    ends_after: float | None = None
    cause: int = NORMAL
    tech_cause: str = ""
    # The number neither answers nor ends the call.
    is_silent: bool = False


ANSWERS = FarEnd()
# By the last two digits.
FAR_ENDS = {
    "01": FarEnd(rings=False, ends_after=REPLY, cause=BUSY, tech_cause="486"),
    "02": FarEnd(is_silent=True),
    "03": FarEnd(ends_after=RINGS_AFTER + 1, cause=REJECTED, tech_cause="603"),
    "04": FarEnd(rings=False, ends_after=REPLY, cause=UNALLOCATED, tech_cause="404"),
    "05": FarEnd(rings=False, ends_after=REPLY, cause=NETWORK_DOWN, tech_cause="500"),
    "06": FarEnd(rings=False, is_silent=True),
}


@dataclass
class _Phone:
    """One channel. Each change of its state is a new turn, which cancels the timers of the turn before."""

    id: str
    number: str
    is_agent: bool
    # The channel that a supervisor listens to; then those who talk with it hear the supervisor, or do not.
    listens_to: str = ""
    is_heard: bool = False
    # The number that a caller dialled; "" for a phone that we called.
    dialled: str = ""
    patience: float | None = None
    talk: float | None = None
    is_up: bool = False
    is_ringing: bool = False
    bridge: "_Bridge | None" = None
    turn: int = 0
    # What is played, and recorded as a message.
    sound_id: str | None = None
    recording: str = ""
    recorded_since: float = 0.0


@dataclass
class _Bridge:
    recording: str
    since: float
    phones: list[_Phone] = field(default_factory=list)


def _listed(phone: _Phone) -> base.Channel:
    caller = phone.number if phone.dialled else None
    return base.Channel(phone.id, phone.is_up, phone.is_ringing, caller, phone.dialled)


class Network:
    """The network, with the methods of a Switch. It passes events to `emit`. `speed` 10 is ten times real time."""

    def __init__(self, emit: Callable[[base.Event], None], speed: float = 1.0) -> None:
        self._emit = emit
        self._speed = speed
        self._lock = threading.Condition(threading.RLock())
        self._phones: dict[str, _Phone] = {}
        self._bridges: dict[str, _Bridge] = {}
        self._recordings: dict[str, int] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="simulated network", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._lock.notify()
        self._thread.join()

    def ping(self) -> None:
        """Do nothing, which is the answer."""

    def add_phone(self, number: str, password: str) -> None:
        """Say that a phone in a browser has registered. It picks up by itself, like the others."""
        self._emit(base.PhoneChanged(number, call_clock.now(), is_online=True))

    def remove_phone(self, number: str) -> None:
        self._emit(base.PhoneChanged(number, call_clock.now(), is_online=False))

    def call_agent(self, channel_id: str, number: str, *, ring_seconds: int, **options: object) -> None:
        """Ring an agent's phone. A second call to the phone is picked up as well, as with Asterisk."""
        with self._lock:
            if channel_id in self._phones:
                return
            phone = self._phones[channel_id] = _Phone(channel_id, number, is_agent=True)
            self._after(AGENT_RINGS_AFTER, phone, lambda: self._ring(phone))
            self._after(AGENT_ANSWERS_AFTER, phone, lambda: self._pick_up(phone))
            self._after(ring_seconds, phone, lambda: self._end(phone, NO_ANSWER, "480"))

    def call_number(self, channel_id: str, number: str, *, ring_seconds: int, **options: object) -> None:
        far_end = FAR_ENDS.get(number[-2:], ANSWERS)
        with self._lock:
            if channel_id in self._phones:
                return
            phone = self._phones[channel_id] = _Phone(channel_id, number, is_agent=False)
            if far_end.rings:
                self._after(RINGS_AFTER, phone, lambda: self._ring(phone))
            if far_end.ends_after is not None:
                self._after(far_end.ends_after, phone, lambda: self._end(phone, far_end.cause, far_end.tech_cause))
            elif not far_end.is_silent:
                ringing = random.uniform(*RINGING)  # noqa: S311  (people, not keys)
                self._after(RINGS_AFTER + ringing, phone, lambda: self._pick_up(phone))
            self._after(ring_seconds, phone, lambda: self._end(phone, NO_ANSWER, "480"))

    def arrive(
        self, caller: str, dialled: str, *, patience: float | None = None, talk: float | None = None, keys: str = ""
    ) -> str:
        """Simulate a caller, who gives up after `patience` seconds without an agent, and talks for `talk` seconds.

        Meanwhile the caller presses these keys, one after the other. Return the caller's channel.
        """
        with self._lock:
            self._count += 1
            channel_id = f"{int(time.time())}.{self._count}"
            phone = _Phone(channel_id, caller, is_agent=False, dialled=dialled, patience=patience, talk=talk)
            self._phones[channel_id] = phone
            self._emit(base.Arrived(channel_id, call_clock.now(), caller, dialled))
            self._begin_turn(phone)
            for count, key in enumerate(keys, start=1):
                self._after(count * KEY, phone, partial(self.press, channel_id, key))
            return channel_id

    def press(self, channel_id: str, key: str) -> None:
        with self._lock:
            self._emit(base.KeyPressed(self._phone(channel_id).id, call_clock.now(), key))

    def answer(self, channel_id: str) -> None:
        with self._lock:
            self._phone(channel_id).is_up = True

    def join(self, bridge_id: str, channel_ids: Sequence[str], *, record_as: str = "") -> None:
        with self._lock:
            phones = [self._phone(channel_id) for channel_id in channel_ids]
            if any(not phone.is_up for phone in phones):
                raise base.SwitchError("A channel is not up.")
            bridge = self._bridges.setdefault(bridge_id, _Bridge(record_as, time.monotonic()))
            if record_as and not bridge.recording:
                bridge.recording, bridge.since = record_as, time.monotonic()
            newcomers = [phone for phone in phones if phone.bridge is not bridge]
            for phone in newcomers:
                self._leave(phone)
                phone.bridge = bridge
                bridge.phones.append(phone)
            if newcomers:
                self._talk(bridge)

    def destroy_bridge(self, bridge_id: str) -> None:
        with self._lock:
            if (bridge := self._bridges.pop(bridge_id, None)) is None:
                return
            for phone in bridge.phones:
                phone.bridge = None
                self._begin_turn(phone)
            if bridge.recording:
                self._keep_recording(bridge.recording, bridge.since)

    def play_music(self, channel_id: str, music_class: str = "") -> None:
        with self._lock:
            self._phone(channel_id)

    # The end of every channel is reported in any case.
    stop_music = follow = play_silence = play_ringing = play_music

    def play_tone(self, channel_id: str) -> None:
        self.play(channel_id, [], "", TONE)

    def play(self, channel_id: str, sounds: Sequence[str], sound_id: str, seconds: float = MESSAGE) -> None:
        with self._lock:
            phone = self._phone(channel_id)
            phone.sound_id = sound_id
            self._after(seconds, phone, lambda: self._end_sound(phone, sound_id))

    def stop_play(self, sound_id: str) -> None:
        with self._lock:
            for phone in self._phones.values():
                if phone.sound_id == sound_id:
                    self._end_sound(phone, sound_id)

    def _end_sound(self, phone: _Phone, sound_id: str) -> None:
        if phone.sound_id == sound_id:
            phone.sound_id = None
            self._emit(base.Played(phone.id, call_clock.now(), sound_id=sound_id))

    def record(self, channel_id: str, name: str, seconds: int) -> None:
        """Record a caller, who speaks for the time of a talk, then hangs up."""
        with self._lock:
            phone = self._phone(channel_id)
            if name in self._recordings:
                raise base.SwitchError("This is recorded already.")
            if phone.recording:
                return
            phone.recording, phone.recorded_since = name, time.monotonic()
            spoken = random.uniform(*TALK) if phone.talk is None else phone.talk  # noqa: S311  (people, not keys)
            self._after(spoken, phone, lambda: self._end(phone, NORMAL))
            self._after(seconds, phone, lambda: self._end_recording(phone))

    def _end_recording(self, phone: _Phone) -> None:
        if phone.recording:
            self._keep_recording(phone.recording, phone.recorded_since)
            phone.recording = ""

    def _keep_recording(self, name: str, since: float) -> None:
        seconds = self._recordings[name] = max(round((time.monotonic() - since) * self._speed), 1)
        if len(self._recordings) > RECORDINGS_KEPT:
            del self._recordings[next(iter(self._recordings))]
        self._emit(base.RecordingFinished(name, call_clock.now(), seconds))

    def detect(self, channel_id: str) -> None:
        with self._lock:
            phone = self._phone(channel_id)
            who = "machine" if phone.number.endswith(MACHINE) else "human"
            seconds = random.uniform(*DETECTION)  # noqa: S311  (people, not keys)
            self._after(seconds, phone, lambda: self._emit(base.Detected(channel_id, call_clock.now(), who)))

    def listen(self, channel_id: str, customer: str, *, is_heard: bool) -> None:
        with self._lock:
            phone, heard = self._phone(channel_id), self._phone(customer)
            self._leave(phone)
            phone.listens_to, phone.is_heard = heard.id, is_heard

    def barge(self, channel_id: str, bridge_id: str) -> None:
        with self._lock:
            if bridge_id not in self._bridges:
                raise base.SwitchError("There is no such bridge.")
            self.join(bridge_id, [channel_id])

    def stop_listening(self, channel_id: str) -> None:
        with self._lock:
            if phone := self._phones.get(channel_id):
                phone.listens_to = ""

    def hang_up(self, channel_id: str, cause: int = NORMAL) -> None:
        with self._lock:
            if phone := self._phones.get(channel_id):
                self._end(phone, cause)

    def channels(self) -> list[base.Channel]:
        with self._lock:
            return [_listed(phone) for phone in self._phones.values()]

    def bridges(self) -> list[str]:
        return list(self._bridges)

    def recorded_seconds(self, name: str) -> int:
        if (seconds := self._recordings.get(name)) is None:
            raise base.SwitchError("There is no such recording.")
        return seconds

    def remove_recording(self, name: str) -> None:
        self._recordings.pop(name, None)

    def _phone(self, channel_id: str) -> _Phone:
        if channel_id not in self._phones:
            raise base.SwitchError("There is no such channel.")
        return self._phones[channel_id]

    def _ring(self, phone: _Phone) -> None:
        phone.is_ringing = True
        self._emit(base.Ringing(phone.id, call_clock.now()))

    def _pick_up(self, phone: _Phone) -> None:
        phone.is_up, phone.is_ringing = True, False
        self._begin_turn(phone)
        self._emit(base.Up(phone.id, call_clock.now()))

    def _begin_turn(self, phone: _Phone) -> None:
        """Cancel the phone's timers. An outside party without an agent gives up after a while."""
        phone.turn += 1
        if not phone.is_agent:
            patience = PATIENCE if phone.patience is None else phone.patience
            self._after(patience, phone, lambda: self._end(phone, UNKNOWN))

    def _talk(self, bridge: _Bridge) -> None:
        """Begin a conversation, if both sides are in the bridge, and set the timer for its end.

        The agent hangs up if the outside number ends in an odd digit, else the outside party.
        """
        outside = next((phone for phone in bridge.phones if not phone.is_agent), None)
        if outside is None or len(bridge.phones) < 2:
            for phone in bridge.phones:
                self._begin_turn(phone)
            return
        for phone in bridge.phones:
            phone.turn += 1
        is_odd = outside.number[-1:] in ("1", "3", "5", "7", "9")
        agent = next((phone for phone in bridge.phones if phone.is_agent), None)
        # An agent leaves the standing line as it is.
        leaver = agent if agent and is_odd and line_of(agent.id) is None else outside
        talk = random.uniform(*TALK) if outside.talk is None else outside.talk  # noqa: S311  (people, not keys)
        self._after(talk, leaver, lambda: self._end(leaver, NORMAL))

    def _leave(self, phone: _Phone) -> None:
        if phone.bridge:
            bridge, phone.bridge = phone.bridge, None
            bridge.phones.remove(phone)
            self._talk(bridge)

    def _end(self, phone: _Phone, cause: int, tech_cause: str = "") -> None:
        del self._phones[phone.id]
        phone.turn += 1
        self._leave(phone)
        self._end_recording(phone)
        self._emit(base.Ended(phone.id, call_clock.now(), cause, tech_cause))

    def _after(self, seconds: float, phone: _Phone, act: Callable[[], None]) -> None:
        """Set a timer, which does nothing if the phone's turn is over by then."""
        turn = phone.turn
        self._count += 1
        timer = (time.monotonic() + seconds / self._speed, self._count, lambda: act() if phone.turn == turn else None)
        heapq.heappush(self._timers, timer)
        if self._timers[0] is timer:
            self._lock.notify()

    def _run(self) -> None:
        with self._lock:
            while not self._is_closed:
                if not self._timers:
                    self._lock.wait()
                elif (seconds := self._timers[0][0] - time.monotonic()) > 0:
                    self._lock.wait(seconds)
                else:
                    _, _, act = heapq.heappop(self._timers)
                    try:
                        act()
                    except Exception:
                        logger.exception("the simulated network failed")
