"""Channels and applications of the stand-in for Asterisk."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, message: str, key: str = "message") -> None:
        super().__init__(message)
        self.status = status
        self.body = {key: message}


@dataclass
class Line:
    """A channel."""

    id: str
    name: str
    number: str
    app: str
    caller: str = ""
    exten: str = "s"
    args: tuple[str, ...] = ()
    state: str = "Down"
    is_in_stasis: bool = False
    is_caller: bool = False
    # The dialplan of docs/telephony-switch.md: it enters the application again, and stores callers without an answer.
    is_in_loop: bool = False
    bridge: str = ""
    music: str = ""
    # Silent packets are sent. In a bridge the phone then hears nobody.
    is_silent: bool = False
    # The channel that this one snoops on.
    snoops_on: str = ""
    # What others in its bridge hear of it is muted.
    is_muted: bool = False
    dialstring: str = ""

    def json(self) -> dict[str, Any]:
        stasis = {"app_name": "Stasis", "app_data": ",".join([self.app, *self.args])}
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "protocol_id": f"sip-{self.id}",
            "caller": {"name": "", "number": self.caller},
            "connected": {"name": "", "number": ""},
            "accountcode": "",
            "dialplan": {
                "context": "default",
                "exten": self.exten,
                "priority": 1,
                **(stasis if self.is_in_stasis else {"app_name": "AppDial2", "app_data": "(Outgoing Line)"}),
            },
            "creationtime": now(),
            "language": "en",
        }


@dataclass
class App:
    """A Stasis application: it outlives its WebSocket, with its subscriptions, and misses what happens meanwhile."""

    name: str
    send: Callable[[bytes], None] | None = None
    sources: set[str] = field(default_factory=set)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "+0000"
