"""The interface of a switch: commands that create, join and end channels, and events of the channels.

A channel is one phone's side of a call. We choose the id of a channel that we request (telephony.channels), so that it
can be found after a crash; the switch chooses a caller's. A command returns when the switch has accepted it. Events
report what happens to channels, at least once, in any order; their handlers are idempotent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

# A connected switch yields an event at least this often.
PULSE_SECONDS = 0.5


class SwitchError(Exception):
    """The switch refused a command, and repeating it will not help. `cause` is the Q.850 cause, if there is one."""

    def __init__(self, message: str, cause: int | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class SwitchUnreachable(SwitchError):
    """The switch did not answer. It may have accepted the command: compare before you repeat it."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as the switch lists it. `is_up`: the phone was picked up; `is_ringing`: the phone reports ringing.

    `caller` and `dialled` are those of Arrived for the channel of a caller; otherwise `caller` is None.
    """

    id: str
    is_up: bool
    is_ringing: bool = False
    caller: str | None = None
    dialled: str = ""


@dataclass(frozen=True, slots=True)
class Missed:
    """A caller who gave up while no listener was connected. `key` is for `forget_missed`."""

    key: str
    channel_id: str
    began_at: datetime
    ended_at: datetime
    caller: str
    dialled: str


@dataclass(frozen=True, slots=True)
class Event:
    """A report of the switch."""


@dataclass(frozen=True, slots=True)
class ChannelEvent(Event):
    """A report about a channel."""

    channel_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PhoneEvent(Event):
    """A report about the phone with this SIP number."""

    number: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Online(Event):
    """The stream of events begins, also after an interruption. Events of the interruption are lost: compare
    `channels()` with the rows."""


@dataclass(frozen=True, slots=True)
class Offline(Event):
    """The stream broke. The switch opens it again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Replaced(Event):
    """Another listener has taken the stream. This is the last event."""


@dataclass(frozen=True, slots=True)
class Alive(Event):
    """The switch was connected at this instant. Yielded at least about every PULSE_SECONDS without other events."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Ringing(ChannelEvent):
    """The phone rings."""


@dataclass(frozen=True, slots=True)
class Up(ChannelEvent):
    """The phone was picked up, and the channel can be joined."""


@dataclass(frozen=True, slots=True)
class Ended(ChannelEvent):
    """The channel has ended. `cause` is the Q.850 cause; 0 is an ordinary end without a cause."""

    cause: int
    tech_cause: str = ""


@dataclass(frozen=True, slots=True)
class Arrived(ChannelEvent):
    """A caller has dialled `dialled`, and hears nothing until the channel is answered.

    `channels()` lists the present callers. The end of a caller's channel is reported after `follow` only. `caller` is
    empty if the caller does not show a number.
    """

    caller: str
    dialled: str


@dataclass(frozen=True, slots=True)
class Detected(ChannelEvent):
    """The answer to `detect`: `who` has answered, a human, a machine, or unsure."""

    who: str


@dataclass(frozen=True, slots=True)
class Played(ChannelEvent):
    """Sounds that were played to the channel, or the tone of a line, are over. `is_failed`: not all was heard.

    `sound_id` is that of `play`.
    """

    is_failed: bool = False
    sound_id: str = ""


@dataclass(frozen=True, slots=True)
class KeyPressed(ChannelEvent):
    """A person has pressed a key of the telephone: `key` is one of 0 to 9, *, # and A to D.

    It is reported of channels in no bridge too, also during music and sounds, once the key is released.
    """

    key: str


@dataclass(frozen=True, slots=True)
class RecordingFinished(Event):
    """The recording `name` can be read. `seconds` is 0 if the switch does not report the length."""

    name: str
    at: datetime
    seconds: int
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class Unregistered(PhoneEvent):
    """The phone with this SIP number was closed or has crashed, or has registered anew. Reported of phones with lines.

    A line that it had before may stay up, but no person hears its calls.
    """


@dataclass(frozen=True, slots=True)
class PhoneChanged(PhoneEvent):
    """The switch reaches a phone of `add_phone`, or does not any more."""

    is_online: bool


class Switch(Protocol):
    """A switch. It is thread-safe. Every command may raise SwitchError, as for a gone channel, or SwitchUnreachable."""

    def ping(self) -> None:
        """Raise SwitchUnreachable if the switch does not answer."""

    def add_phone(self, number: str, password: str) -> None:
        """Let a browser register as the phone with this SIP number. Repeated, the password changes."""

    def remove_phone(self, number: str) -> None:
        """Forget such a phone. A call that it is in goes on."""

    def test_phone(self, number: str) -> None:
        """Call such a phone, and let it hear what it says."""

    def call_agent(
        self, channel_id: str, number: str, *, presented: str, ring_seconds: int, is_awaited: bool = False
    ) -> None:
        """Ring the phone with this SIP number, and show `presented` on it. Refused if there is no such phone.

        With `is_awaited` a phone in the browser answers by itself: a standing line, or a call that the agent asked for.

        This and `call_number` do nothing if there is a channel with this id already.
        """

    def call_number(self, channel_id: str, number: str, *, presented: str, ring_seconds: int) -> None:
        """Ring an outside number (E.164 or in the form of the trunk), presenting `presented`."""

    def follow(self, channel_id: str) -> None:
        """Request the end event of a caller's channel. Refused if the channel is gone. Repeating is harmless."""

    def answer(self, channel_id: str) -> None:
        """Pick up a caller's channel, unless it is up already."""

    def join(self, bridge_id: str, channel_ids: Sequence[str], *, record_as: str = "") -> None:
        """Join channels in the bridge with this id, which is created if needed. Repeating is harmless.

        A channel leaves the bridge that it was in. The silence of a line ends.
        With `record_as` the conversation is recorded under that name until the bridge is destroyed.
        """

    def destroy_bridge(self, bridge_id: str) -> None:
        """Destroy the bridge, if there is one. Its channels stay up, in silence."""

    def play_music(self, channel_id: str, music_class: str) -> None:
        """Play music to a channel that waits or is on hold."""

    def stop_music(self, channel_id: str) -> None: ...

    def play_silence(self, channel_id: str) -> None:
        """Play silence to the line of an agent, which is in no bridge, until it is joined. Repeating is harmless."""

    def play_ringing(self, channel_id: str) -> None:
        """Play the tone of a phone that rings to an agent, who is in no bridge, until joined. It ends a silence."""

    def play_tone(self, channel_id: str) -> None:
        """Play a short tone to the line of an agent, who alone hears it. Its end is reported as Played."""

    def stop_tone(self, channel_id: str) -> None:
        """Remove what is left of a tone that is over."""

    def play(self, channel_id: str, sounds: Sequence[str], sound_id: str) -> None:
        """Play sounds, one after the other, to a channel that is in no bridge. Their end is reported as Played, once.

        They end music. `sound_id` is an id of ours, for `stop_play`.
        """

    def stop_play(self, sound_id: str) -> None:
        """End what is played under this id, if it is not over. Until then the channel cannot be joined."""

    def record(self, channel_id: str, name: str, seconds: int) -> None:
        """Record what a caller says after a beep, for so long at most; the key # and a long silence end it.

        The end is reported as RecordingFinished, also if the channel ends. Repeating is harmless; refused once over.
        """

    def detect(self, channel_id: str) -> None:
        """Find out whether a person or a machine has picked up this channel, which is up. Reported as Detected."""

    def listen(self, channel_id: str, customer: str, *, is_heard: bool) -> None:
        """Let a supervisor's phone, which is up, hear the customer's channel and what that hears, beside the call.

        With `is_heard` those who talk with the customer hear the supervisor, and the customer does not. The supervisor
        leaves the call's bridge. Repeating is harmless. This goes on when the customer is held or transferred.
        """

    def barge(self, channel_id: str, bridge_id: str) -> None:
        """Let a supervisor talk in the bridge of the call. Refused if there is no such bridge."""

    def stop_listening(self, channel_id: str) -> None:
        """Remove what `listen` has made. A supervisor's phone that is still up can be joined, and is heard."""

    def hang_up(self, channel_id: str, cause: int = 16) -> None:
        """End the channel, if it is not gone already."""

    def channels(self) -> list[Channel]:
        """Return all present channels."""

    def bridges(self) -> list[str]:
        """Return the ids of all present bridges."""

    def offline_phones(self) -> list[str]:
        """Return the SIP numbers of the phones that are not registered, or do not answer the switch."""

    def missed(self) -> list[Missed]:
        """Return the callers who gave up while no listener was connected, each until `forget_missed`."""

    def forget_missed(self, key: str) -> None:
        """Remove a missed caller from the list."""

    def events(self) -> Iterator[Event]:
        """Connect, yield Online, then the events. Reconnect when the stream breaks. End after Replaced or `close()`."""

    def recording(self, name: str) -> Iterator[bytes]:
        """Yield the WAV file of a recording, piece by piece. Any piece may raise."""

    def remove_recording(self, name: str) -> None:
        """Remove the switch's copy of a recording, if there is one."""

    def close(self) -> None:
        """End `events()` soon."""
