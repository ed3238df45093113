"""Messages of the WebSocket of Asterisk, translated into our events.

Only messages of the needed types are parsed: a call makes sixty messages, and nine in ten are about channel variables.
The instant of an event is that of our clock, as the clock of another machine may be wrong.
"""

import logging
import re
from collections.abc import Callable
from typing import Any

import orjson

from telephony import call_clock
from telephony.channels import connection_of, line_of, line_of_tone, supervised_by, supervisor_of_snoop
from telephony.switch import base

logger = logging.getLogger(__name__)

# Events and channels of one stream that are kept, the events to drop repetitions.
REMEMBERED = 10_000
_TYPE = re.compile(rb'\A\s*\{\s*"type"\s*:\s*"(\w+)"')
_NUMBER = re.compile(r"\+?[0-9]+")
# Reported twice of a phone whose endpoint we have subscribed to.
_KEY = "ChannelDtmfReceived"
# The first argument of a channel that comes back from the detection of machines, and the results of AMD().
DETECTED = "amd"
_WHO = {"HUMAN": "human", "MACHINE": "machine"}


class Interpreter:
    """Translates the messages of one stream. Of repeated messages only the first gives an event."""

    def __init__(self) -> None:
        self._seen: dict[object, None] = {}
        # Channels that are about to end.
        self._leaving: dict[str, None] = {}

    def event(self, message: bytes) -> base.Event | None:
        kind = _TYPE.match(message)
        if kind and kind[1] not in _WANTED:
            return None
        try:
            content = orjson.loads(message)
            if content["type"] == _LEAVING:
                _keep(self._leaving, content["channel"]["id"])
                return None
            if content["type"] == _KEY:
                # The same key pressed again has another time.
                pressed = (content["channel"]["id"], content["timestamp"], content["digit"])
                if not self._is_first(pressed):
                    return None
            read = _READERS.get(content["type"])
            event = read(content) if read else None
            # A sound that has ended because its channel is about to end, which is reported next.
            is_cut_off = isinstance(event, base.Played) and event.is_failed and event.channel_id in self._leaving
            return None if event is None or is_cut_off or not self.is_new(event) else event
        except (ValueError, KeyError, TypeError, AttributeError):
            logger.warning("a message of Asterisk was not understood", extra={"message_begins": repr(message[:200])})
            return None

    def is_new(self, event: base.Event) -> bool:
        match event:
            case base.Ringing() | base.Up() | base.Ended() | base.Arrived() | base.Detected():
                return self._is_first((type(event), event.channel_id))
            case base.RecordingFinished():
                return self._is_first((event.name, event.seconds))
        # A line may hear several tones; handling one of them twice is harmless.
        return True

    def _is_first(self, key: object) -> bool:
        """Return whether this was not reported before."""
        is_first = key not in self._seen
        _keep(self._seen, key)
        return is_first


def _keep(kept: dict[Any, None], key: object) -> None:
    """Store a key, and drop the oldest of too many."""
    kept[key] = None
    if len(kept) > REMEMBERED:
        del kept[next(iter(kept))]


def dialled(channel: dict[str, Any], arguments: list[str]) -> str:
    """The number that a caller rang: the dialplan's extension, or what the dialplan says, Stasis(app,number)."""
    number = arguments[0] if arguments and _NUMBER.fullmatch(arguments[0]) else channel["dialplan"]["exten"]
    return str(number)


def listed(channel: dict[str, Any], app: str) -> base.Channel:
    """Return a channel of `GET /channels`. One that is in our application, but not ours, is a caller's."""
    name, *arguments = channel["dialplan"].get("app_data", "").split(",")
    is_here = channel["dialplan"].get("app_name") == "Stasis" and name == app
    is_caller = is_here and not _is_requested(channel["id"])
    return base.Channel(
        channel["id"],
        is_up=channel["state"] == "Up",
        is_ringing=channel["state"] == "Ringing",
        caller=channel["caller"]["number"] if is_caller else None,
        dialled=dialled(channel, arguments) if is_caller else "",
    )


def _is_requested(channel_id: str) -> bool:
    ours = (connection_of, line_of, supervised_by)
    return any(of(channel_id) is not None for of in ours) or _is_snoop(channel_id)


def _is_snoop(channel_id: str) -> bool:
    return line_of_tone(channel_id) is not None or supervisor_of_snoop(channel_id) is not None


def _entered(content: dict[str, Any]) -> base.Event | None:
    """Translate StasisStart: a channel of ours was answered or is back from a detection, another one is a caller's."""
    channel, arguments = content["channel"], content.get("args") or []
    if _is_snoop(channel["id"]):
        return None
    if _is_requested(channel["id"]):
        if arguments[:1] == [DETECTED]:
            who = _WHO.get(arguments[1] if len(arguments) > 1 else "", "unsure")
            return base.Detected(channel["id"], call_clock.now(), who)
        return base.Up(channel["id"], call_clock.now())
    number = dialled(channel, arguments)
    return base.Arrived(channel["id"], call_clock.now(), channel["caller"]["number"], number)


def _ringing(channel: dict[str, Any], state: str, *ringing: str) -> base.Event | None:
    return base.Ringing(channel["id"], call_clock.now()) if state in ringing else None


def _destroyed(content: dict[str, Any]) -> base.Event:
    return base.Ended(
        content["channel"]["id"], call_clock.now(), int(content.get("cause", 0)), str(content.get("tech_cause", ""))
    )


def _played(content: dict[str, Any]) -> base.Event | None:
    playback = content["playback"]
    kind, _, channel_id = playback["target_uri"].partition(":")
    if kind != "channel":
        return None
    is_failed = playback["state"] == "failed"
    return base.Played(line_of_tone(channel_id) or channel_id, call_clock.now(), is_failed, playback["id"])


def _recorded(content: dict[str, Any]) -> base.Event:
    recording = content["recording"]
    return base.RecordingFinished(
        recording["name"],
        call_clock.now(),
        max(int(recording.get("duration", 0)), 0),
        is_failed=content["type"] == "RecordingFailed",
    )


def _contact_changed(content: dict[str, Any]) -> base.Event | None:
    """Translate ContactStatusChange. A phone that repeats its registration changes no status."""
    number, status = content["endpoint"]["resource"], content["contact_info"]["contact_status"]
    if status == "Removed":
        return base.Unregistered(number, call_clock.now())
    if status in ("Reachable", "Unreachable"):
        # Of a window that takes the phone from another one this is the only sign: the peer stays reachable.
        return base.PhoneChanged(number, call_clock.now(), is_online=content["endpoint"]["state"] == "online")
    return None


_READERS: dict[str, Callable[[dict[str, Any]], base.Event | None]] = {
    "StasisStart": _entered,
    "ChannelStateChange": lambda content: _ringing(content["channel"], content["channel"]["state"], "Ringing"),
    # PROGRESS: the far end lets the caller hear its own ringing (183), and may send no other sign of it.
    "Dial": lambda content: _ringing(content["peer"], content["dialstatus"], "RINGING", "PROGRESS"),
    "ChannelDestroyed": _destroyed,
    "PlaybackFinished": _played,
    _KEY: lambda content: base.KeyPressed(content["channel"]["id"], call_clock.now(), content["digit"]),
    "RecordingFinished": _recorded,
    "RecordingFailed": _recorded,
    "ContactStatusChange": _contact_changed,
    "PeerStatusChange": lambda content: base.PhoneChanged(
        content["endpoint"]["resource"], call_clock.now(), content["peer"]["peer_status"] == "Reachable"
    ),
    "ApplicationReplaced": lambda content: base.Replaced(),
}
# Asterisk sends it before the end of what is played to the channel.
_LEAVING = "ChannelHangupRequest"
_WANTED = {name.encode() for name in (*_READERS, _LEAVING)}
