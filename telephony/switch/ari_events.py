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
from telephony.channels import connection_of
from telephony.switch.base import Arrived, Channel, Ended, Event, RecordingFinished, Replaced, Ringing, Up

logger = logging.getLogger(__name__)

# Events of one stream that are kept to drop repetitions.
REMEMBERED = 10_000
_TYPE = re.compile(rb'\A\s*\{\s*"type"\s*:\s*"(\w+)"')
_NUMBER = re.compile(r"\+?[0-9]+")


class Interpreter:
    """Translates the messages of one stream. Of repeated messages only the first gives an event."""

    def __init__(self) -> None:
        self._seen: dict[object, None] = {}

    def event(self, message: bytes) -> Event | None:
        kind = _TYPE.match(message)
        if kind and kind[1] not in _WANTED:
            return None
        try:
            content = orjson.loads(message)
            read = _READERS.get(content["type"])
            event = read(content) if read else None
        except (ValueError, KeyError, TypeError, AttributeError):
            logger.warning("a message of Asterisk was not understood", extra={"message_begins": repr(message[:200])})
            return None
        return event if event and self.is_new(event) else None

    def is_new(self, event: Event) -> bool:
        match event:
            case Ringing() | Up() | Ended() | Arrived():
                key: object = (type(event), event.channel_id)
            case RecordingFinished():
                key = (event.name, event.seconds)
            case _:
                return True
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True


def dialled(channel: dict[str, Any], arguments: list[str]) -> str:
    """The number that a caller rang: the dialplan's extension, or what the dialplan says, Stasis(app,number)."""
    number = arguments[0] if arguments and _NUMBER.fullmatch(arguments[0]) else channel["dialplan"]["exten"]
    return str(number)


def listed(channel: dict[str, Any], app: str) -> Channel:
    """Return a channel of `GET /channels`. One that is in our application, but not ours, is a caller's."""
    name, *arguments = channel["dialplan"].get("app_data", "").split(",")
    is_here = channel["dialplan"].get("app_name") == "Stasis" and name == app
    is_caller = is_here and connection_of(channel["id"]) is None
    return Channel(
        channel["id"],
        is_up=channel["state"] == "Up",
        is_ringing=channel["state"] == "Ringing",
        caller=channel["caller"]["number"] if is_caller else None,
        dialled=dialled(channel, arguments) if is_caller else "",
    )


def _entered(content: dict[str, Any]) -> Event:
    """Translate StasisStart: a channel of ours was answered, another one is a caller's."""
    channel = content["channel"]
    if connection_of(channel["id"]) is not None:
        return Up(channel["id"], call_clock.now())
    number = dialled(channel, content.get("args") or [])
    return Arrived(channel["id"], call_clock.now(), channel["caller"]["number"], number)


def _changed(content: dict[str, Any]) -> Event | None:
    return _ringing(content["channel"], is_ringing=content["channel"]["state"] == "Ringing")


def _dialled(content: dict[str, Any]) -> Event | None:
    return _ringing(content["peer"], is_ringing=content["dialstatus"] == "RINGING")


def _ringing(channel: dict[str, Any], *, is_ringing: bool) -> Event | None:
    return Ringing(channel["id"], call_clock.now()) if is_ringing else None


def _destroyed(content: dict[str, Any]) -> Event:
    return Ended(
        content["channel"]["id"], call_clock.now(), int(content.get("cause", 0)), str(content.get("tech_cause", ""))
    )


def _recorded(content: dict[str, Any]) -> Event:
    recording = content["recording"]
    return RecordingFinished(
        recording["name"],
        call_clock.now(),
        max(int(recording.get("duration", 0)), 0),
        is_failed=content["type"] == "RecordingFailed",
    )


_READERS: dict[str, Callable[[dict[str, Any]], Event | None]] = {
    "StasisStart": _entered,
    "ChannelStateChange": _changed,
    "Dial": _dialled,
    "ChannelDestroyed": _destroyed,
    "RecordingFinished": _recorded,
    "RecordingFailed": _recorded,
    "ApplicationReplaced": lambda content: Replaced(),
}
_WANTED = {name.encode() for name in _READERS}
