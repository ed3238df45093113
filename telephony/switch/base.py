"""What we want of a switch, whichever it is: channels that are asked for, joined and ended, and news of them.

A channel is one phone's side of a call. Its id is ours where we ask for it (telephony.channels), so that after a crash
it can be found; a caller's is the switch's. Commands return when the switch has taken them; what becomes of a channel
is told by events alone, at least once, in any order. The code that handles them is idempotent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

# How long a switch that is there may tell nothing.
PULSE_SECONDS = 0.5


class SwitchError(Exception):
    """The switch refused: it will not do this, and asking again will not help. `cause` (Q.850) if it says why."""

    def __init__(self, message: str, cause: int | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class SwitchUnreachable(SwitchError):
    """No answer: the switch may or may not have taken the command. Look before you ask again."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as the switch lists it. `is_up`: the phone was picked up; `is_ringing`: it says that it rings.

    `caller` and `dialled` are those of Arrived where somebody calls us by it; `caller` is None for any other channel.
    """

    id: str
    is_up: bool
    is_ringing: bool = False
    caller: str | None = None
    dialled: str = ""


@dataclass(frozen=True, slots=True)
class Missed:
    """A caller who came and went while nobody heard the switch. `key` is for `forget_missed`."""

    key: str
    channel_id: str
    began_at: datetime
    ended_at: datetime
    caller: str
    dialled: str


@dataclass(frozen=True, slots=True)
class Online:
    """The stream of events begins, also after an interruption: what happened meanwhile is not told. Compare
    `channels()` with the rows."""


@dataclass(frozen=True, slots=True)
class Offline:
    """The stream broke; it is being opened again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """Another listener has taken over; nothing more will come."""


@dataclass(frozen=True, slots=True)
class Alive:
    """The switch is there, although it tells nothing else of interest: about every PULSE_SECONDS, or more often."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Ringing:
    channel_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Up:
    """The phone was picked up and the channel is ours to join."""

    channel_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    """The channel is gone. `cause` is Q.850's; 0 is an ordinary ending without a reason."""

    channel_id: str
    at: datetime
    cause: int
    tech_cause: str = ""


@dataclass(frozen=True, slots=True)
class Arrived:
    """Somebody calls us, and rang `dialled`. The caller hears nothing until the channel is answered.

    It is told when the caller comes; `channels()` lists the callers who are there. Their end is told once `follow` was
    asked for. `caller` is empty where the caller does not show a number.
    """

    channel_id: str
    at: datetime
    caller: str
    dialled: str


@dataclass(frozen=True, slots=True)
class RecordingFinished:
    """The recording called `name` is ready to be read; `seconds` 0 where the switch does not say."""

    name: str
    at: datetime
    seconds: int
    is_failed: bool = False


Event = Online | Offline | Replaced | Alive | Ringing | Up | Ended | Arrived | RecordingFinished


class Switch(Protocol):
    """Thread-safe. Every command may raise SwitchError (also where the channel is gone) or SwitchUnreachable."""

    def ping(self) -> None:
        """Raise SwitchUnreachable where the switch does not answer; change nothing."""

    def call_agent(self, channel_id: str, number: str, *, presented: str, ring_seconds: int) -> None:
        """Ring the phone with this SIP number, showing it `presented`; refused where there is no such phone.

        Of this and `call_number`: a channel of this id that is there already is left as it is.
        """

    def call_number(self, channel_id: str, number: str, *, presented: str, ring_seconds: int) -> None:
        """Ring a number outside (E.164 or as the trunk wants it), presenting `presented`."""

    def follow(self, channel_id: str) -> None:
        """Have the end of a caller's channel told. Refused where it is gone; repeating is harmless."""

    def answer(self, channel_id: str) -> None:
        """Pick up a caller's channel. Nothing where it is up already."""

    def join(self, bridge_id: str, channel_ids: Sequence[str], *, record_as: str = "") -> None:
        """Let these hear each other, in a bridge of this id, which is made where there is none. Repeating is harmless.

        With `record_as` their conversation is recorded under that name until the bridge goes.
        """

    def destroy_bridge(self, bridge_id: str) -> None:
        """Take the bridge away; its channels stay up, in silence. Nothing where there is none."""

    def play_music(self, channel_id: str, music_class: str) -> None:
        """Music for a channel that waits or is on hold."""

    def stop_music(self, channel_id: str) -> None: ...

    def hang_up(self, channel_id: str, cause: int = 16) -> None:
        """End the channel. Nothing where it is gone already."""

    def channels(self) -> list[Channel]:
        """Return all channels that are there now."""

    def bridges(self) -> list[str]:
        """Return the ids of all bridges that are there now."""

    def missed(self) -> list[Missed]:
        """Return the callers who gave up while nobody heard the switch, each until `forget_missed`."""

    def forget_missed(self, key: str) -> None:
        """Remove one of those. Nothing where there is none."""

    def events(self) -> Iterator[Event]:
        """Blocks for ever: connects, tells Online, then what happens; connects again when the stream breaks. Ends after
        Replaced or `close()`."""

    def recording(self, name: str) -> Iterator[bytes]:
        """The recording's WAV, piece by piece. What can go wrong may go wrong at the first piece or later."""

    def remove_recording(self, name: str) -> None:
        """The switch's copy is no longer wanted. Nothing where there is none."""

    def close(self) -> None:
        """Ends `events()`, soon."""
