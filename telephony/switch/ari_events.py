"""What Asterisk tells over its WebSocket, as our events.

Most of it is of no interest (a call makes sixty messages, nine in ten about channel variables), so a message is
parsed only if its type is. The instant of an event is ours: the clock of another machine may be off.
"""

import logging
import re
from collections.abc import Callable
from typing import Any

import orjson
from django.utils import timezone

from telephony.channels import connection_of
from telephony.switch.base import Arrived, Ended, Event, RecordingFinished, Replaced, Ringing, Up

logger = logging.getLogger(__name__)

# Events of one stream that are remembered, so that none is told twice.
REMEMBERED = 10_000
_TYPE = re.compile(rb'\A\s*\{\s*"type"\s*:\s*"(\w+)"')
_NUMBER = re.compile(r"\+?[0-9]+")


class Interpreter:
    """Reads the messages of one stream. Many come twice: only the first is told."""

    def __init__(self) -> None:
        self._told: dict[object, None] = {}

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
        if key in self._told:
            return False
        self._told[key] = None
        if len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]
        return True


def dialled(channel: dict[str, Any], arguments: list[str]) -> str:
    """The number that a caller rang: the dialplan's extension, or what the dialplan says, Stasis(app,number)."""
    number = arguments[0] if arguments and _NUMBER.fullmatch(arguments[0]) else channel["dialplan"]["exten"]
    return str(number)


def arrived(channel: dict[str, Any], arguments: list[str]) -> Arrived:
    return Arrived(channel["id"], timezone.now(), channel["caller"]["number"], dialled(channel, arguments))


def _entered(content: dict[str, Any]) -> Event:
    """A channel has entered our application: one of ours because it was answered, another because it calls."""
    channel = content["channel"]
    if connection_of(channel["id"]) is not None:
        return Up(channel["id"], timezone.now())
    return arrived(channel, content.get("args") or [])


def _changed(content: dict[str, Any]) -> Event | None:
    return _ringing(content["channel"], is_ringing=content["channel"]["state"] == "Ringing")


def _dialled(content: dict[str, Any]) -> Event | None:
    return _ringing(content["peer"], is_ringing=content["dialstatus"] == "RINGING")


def _ringing(channel: dict[str, Any], *, is_ringing: bool) -> Event | None:
    return Ringing(channel["id"], timezone.now()) if is_ringing else None


def _destroyed(content: dict[str, Any]) -> Event:
    return Ended(
        content["channel"]["id"], timezone.now(), int(content.get("cause", 0)), str(content.get("tech_cause", ""))
    )


def _recorded(content: dict[str, Any]) -> Event:
    recording = content["recording"]
    return RecordingFinished(
        recording["name"],
        timezone.now(),
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
