"""The PBX behind the stand-in for Asterisk's REST interface: channels, bridges, causes, events as Asterisk 22 has them.

What a number outside does is said by its last three digits: a SIP status (486: it answers that), 180 (rings for ever),
183 (early media, then it answers), 000 (nobody there); all others ring and are picked up. Phones are 100 to 999, of
which 109 is dead. What was observed on a real Asterisk is kept here, its oddities above all.
"""

import itertools
import json
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.telephony.switch import ari_media
from tests.telephony.switch.ari_causes import CAUSES, REASONS, TEXTS
from tests.telephony.switch.ari_channels import App, Line, Refused, now
from tests.telephony.switch.ari_timers import Timers

TIMER_B_SECONDS = 32.0
REGISTERED = {str(number) for number in range(100, 1000)}
DEAD = "109"
TRUNKS = {"trunk"}


class Pbx:
    """Thread-safe. Far ends take `pick_up` seconds to be picked up; every event is sent `copies` times."""

    def __init__(
        self,
        pick_up: float = 0.05,
        *,
        copies: int = 1,
        variables: int = 0,
        database: set[str] | None = None,
        detection: float = 0.05,
        sound: float = 0.05,
        talk: float = 0.0,
        rtp_timeout: float = 0.0,
    ) -> None:
        self.pick_up = pick_up
        # The seconds of AMD(), without which there is no context for it; of a sound file.
        self.detection = detection
        self.sound = sound
        # Numbers outside hang up so long after they were joined; 0: never by themselves.
        self.talk = talk
        # A phone that sends no packets for so long is hung up; 0: it stays up.
        self.rtp_timeout = rtp_timeout
        self.copies = copies
        # Phones that are not registered.
        self.offline: set[str] = set()
        # ChannelVarset events at each change of a channel
        self.variables = variables
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        # Keys of Asterisk's own database, which outlives it, and global variables, which do not.
        self.database = set() if database is None else database
        self.globals: dict[str, str] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.apps: dict[str, App] = {}
        self.lines: dict[str, Line] = {}
        # The names of recordings
        self.bridges: dict[str, str] = {}
        self.bridge_types: dict[str, str] = {}
        # Playback -> channel, while it plays.
        self.playing: dict[str, str] = {}
        # Ids of removed bridges: the first request for such an id is refused, although no bridge has it.
        self.going: set[str] = set()
        self.live: dict[str, tuple[str, float]] = {}
        self.stored: dict[str, int] = {}
        self.numbers = itertools.count(1)
        self.timers = Timers(self.lock)

    def close(self) -> None:
        self.timers.close()

    # Calls

    def originate(self, wishes: dict[str, str]) -> Line:
        endpoint = wishes.get("endpoint", "")
        if not endpoint:
            raise Refused(400, "Endpoint must be specified")
        if not (wishes.get("app") or wishes.get("extension")):
            raise Refused(400, "Application or extension must be specified")
        with self.lock:
            if wishes.get("channelId") in self.lines:
                raise Refused(409, "Channel with given unique ID already exists")
            number, _, trunk = endpoint.removeprefix("PJSIP/").partition("@")
            is_known = trunk in TRUNKS if trunk else number in REGISTERED
            if not endpoint.startswith("PJSIP/") or not is_known:
                raise Refused(500, "Allocation failed", "error")
            position = next(self.numbers)
            line = Line(
                wishes.get("channelId") or f"{int(time.time())}.{position}",
                f"PJSIP/{trunk or number}-{position:08x}",
                number,
                wishes["app"],
                caller=wishes.get("callerId", ""),
                args=tuple(filter(None, wishes.get("appArgs", "").split(","))),
                dialstring=endpoint.removeprefix("PJSIP/"),
            )
            self.lines[line.id] = line
            self._far_end(line, float(wishes.get("timeout", 30)), bool(trunk))
            return line

    def _far_end(self, line: Line, timeout: float, is_outside: bool) -> None:
        status = line.number[-3:] if is_outside else ""
        is_silent = status == "000" or (not is_outside and line.number == DEAD)
        self._after(0.002, line, lambda: self._dial(line, ""))
        if timeout >= 0:
            self._after(timeout, line, lambda: self.destroy(line, 19, 480))
        if is_silent:
            self._after(TIMER_B_SECONDS, line, lambda: self.destroy(line, 18, 408, "NOANSWER" if timeout < 0 else ""))
        elif status.isdecimal() and int(status) in CAUSES:
            cause, _, dialstatus = CAUSES[int(status)]
            self._after(self.pick_up, line, lambda: self.destroy(line, cause, int(status), dialstatus))
        else:
            self._after(0.004, line, lambda: self._ring(line, is_early=status == "183"))
            if status != "180":
                self._after(self.pick_up, line, lambda: self._pick_up(line))

    def _ring(self, line: Line, *, is_early: bool) -> None:
        if is_early:
            self._dial(line, "PROGRESS")
            return
        line.state = "Ringing"
        told = [lambda: self._dial(line, "RINGING"), lambda: self.tell_of(line, "ChannelStateChange")]
        random.shuffle(told)
        for tell in told:
            tell()

    def _pick_up(self, line: Line) -> None:
        line.state = "Up"
        self._dial(line, "ANSWER")
        self.tell_of(line, "ChannelStateChange")
        if not self.is_connected(line.app):
            self.destroy(line, 16)
            return
        line.is_in_stasis = True
        self.tell_of(line, "StasisStart", args=list(line.args))

    def call_in(self, caller: str, dialled: str, app: str = "callcentre", *args: str) -> Line | None:
        """Simulate a caller whom the dialplan sends to Stasis(app,…). Return None without a listener."""
        with self.lock:
            if not self.is_connected(app):
                return None
            line = self._caller(caller, dialled, app, args)
            self._enter(line)
            return line

    def call_in_loop(self, caller: str, dialled: str, app: str = "callcentre", *, wait: float = 0.1) -> Line:
        """Simulate a caller whom the dialplan sends to the application as soon as there is a listener."""
        with self.lock:
            line = self._caller(caller, dialled, app, ())
            line.is_in_loop = True
            self._try_to_enter(line, wait)
            return line

    def _caller(self, caller: str, dialled: str, app: str, args: tuple[str, ...]) -> Line:
        position = next(self.numbers)
        line = Line(f"{int(time.time())}.{position}", f"PJSIP/trunk-{position:08x}", caller, app, caller, dialled, args)
        line.state, line.is_caller = "Ring", True
        self.lines[line.id] = line
        return line

    def _enter(self, line: Line) -> None:
        line.is_in_stasis = True
        self.tell_of(line, "StasisStart", args=list(line.args))

    def _try_to_enter(self, line: Line, wait: float) -> None:
        if self.lines.get(line.id) is not line:
            return
        if self.is_connected(line.app):
            self._enter(line)
        else:
            self.timers.after(wait, lambda: self._try_to_enter(line, wait))

    def picked_up(self, channel_id: str) -> None:
        """One that rings for ever, after all."""
        with self.lock:
            self._pick_up(self.line(channel_id))

    def far_end_hangs_up(self, channel_id: str) -> None:
        with self.lock:
            line = self.line(channel_id)
            self.tell_of(line, "ChannelHangupRequest")
            self.destroy(line, 16 if line.bridge else 0)

    def vanishes(self, channel_id: str) -> None:
        """The phone of a channel loses its network: no BYE, and no more packets."""
        with self.lock:
            line = self.line(channel_id)
            if self.rtp_timeout:
                self.timers.after(self.rtp_timeout, partial(self._hang_up, line, 44))

    def _hang_up(self, line: Line, cause: int = 16) -> None:
        if self.lines.get(line.id) is line:
            self.destroy(line, cause)

    def answer(self, line: Line) -> None:
        line.state = "Up"
        self.tell_of(line, "ChannelStateChange")

    def line(self, channel_id: str) -> Line:
        if channel_id not in self.lines:
            raise Refused(404, "Channel not found")
        return self.lines[channel_id]

    def delete(self, channel_id: str, reason: str, code: str) -> None:
        line = self.line(channel_id)
        if reason and code:
            raise Refused(400, "The reason and reason_code can't both be specified")
        if reason and reason not in REASONS:
            raise Refused(400, "Invalid reason for hangup reason provided")
        cause = int(code) if code else REASONS[reason or "normal"]
        if line.snoops_on:
            ari_media.end_snoop(self, line)
            return
        self.tell_of(line, "ChannelHangupRequest", cause=32, soft=True)
        # A ringing phone is hung up by a SIP status.
        statuses = {17: 486, 34: 503, 19: 480, 18: 408, 21: 403, 1: 404}
        self.destroy(line, cause, statuses.get(cause) if line.state != "Up" else None)

    def destroy(self, line: Line, cause: int, status: int | None = None, dialstatus: str = "") -> None:
        del self.lines[line.id]
        ari_media.channel_gone(self, line)
        self.end_message(line)
        extra = {"tech_cause": status} if status else {}
        if status and dialstatus:
            self.tell_of(line, "ChannelHangupRequest", cause=cause, **extra)
        if dialstatus:
            self._dial(line, dialstatus)
        if line.bridge:
            self.tell_of(line, "ChannelLeftBridge", bridge={"id": line.bridge})
        if line.is_in_stasis:
            self.tell_of(line, "StasisEnd")
        if line.is_in_loop and line.state != "Up":
            family = f"missed_{line.app}"
            self.database.add(f"{family}/{line.id}:{int(time.time())}:{line.number}:{line.exten}")
            keys = sorted(key.partition("/")[2] for key in self.database if key.startswith(f"{family}/"))
            self.globals[family] = ",".join(keys)
        # The end of a caller who has left the application is reported to subscribers of the channel only.
        if not line.is_caller or (line.app in self.apps and f"channel:{line.id}" in self.apps[line.app].sources):
            self.tell_of(line, "ChannelDestroyed", cause=cause, cause_txt=TEXTS.get(cause, "Unknown"), **extra)

    # Bridges and recordings

    def add(self, bridge_id: str, channel_ids: list[str]) -> None:
        if bridge_id in self.going:
            # Asterisk still lists it for a moment.
            self.going.discard(bridge_id)
            raise Refused(409, "Bridge not in Stasis application")
        if bridge_id not in self.bridges:
            raise Refused(404, "Bridge not found")
        if not all(channel_id in self.lines for channel_id in channel_ids):
            raise Refused(400, "Channel not found")
        if not all(self.lines[channel_id].is_in_stasis for channel_id in channel_ids):
            raise Refused(422, "Channel not in Stasis application")
        # The request waits for the end of what is played to a channel.
        while any(channel_id in self.playing.values() for channel_id in channel_ids):
            self.changed.wait(20)
        for line in [self.lines[channel_id] for channel_id in channel_ids if channel_id in self.lines]:
            if line.bridge == bridge_id:
                continue
            if line.bridge:
                self.tell_of(line, "ChannelLeftBridge", bridge={"id": line.bridge})
            line.bridge = bridge_id
            self.tell_of(line, "ChannelEnteredBridge", bridge={"id": bridge_id})
            if self.talk and line.name.startswith("PJSIP/trunk"):
                self.timers.after(random.uniform(0.5, 1.5) * self.talk, partial(self._hang_up, line))

    def record(self, bridge_id: str, name: str, kind: str) -> None:
        if bridge_id not in self.bridges:
            raise Refused(404, "Bridge not found")
        if kind != "wav":
            raise Refused(422, "specified format is unknown on this system")
        if name in self.live or name in self.stored:
            raise Refused(409, f"Recording '{name}' already exists and can not be overwritten")
        self.live[name] = (bridge_id, time.monotonic())

    def record_caller(self, line: Line, name: str, seconds: int) -> None:
        if name in self.live or name in self.stored:
            raise Refused(409, f"Recording '{name}' already exists and can not be overwritten")
        self.live[name] = (line.id, time.monotonic())
        self.timers.after(seconds, lambda: self.end_message(line))

    def end_message(self, line: Line) -> None:
        """End what is recorded of one channel: the time is over, or the channel is gone."""
        for name in [name for name, (of, _) in self.live.items() if of == line.id]:
            self.stored[name] = round(time.monotonic() - self.live.pop(name)[1])
            recording = {"name": name, "format": "wav", "state": "done", "target_uri": f"channel:{line.id}"}
            self.send_to(line.app, {"type": "RecordingFinished", "recording": recording | {"duration": 1}})

    def stop(self, name: str, *, is_told: bool = True) -> None:
        """End a recording. If its bridge ended first, no event reports it."""
        bridge_id, since = self.live.pop(name)
        self.stored[name] = round(time.monotonic() - since)
        members = {line.app for line in self.lines.values() if line.bridge == bridge_id}
        recording = {"name": name, "format": "wav", "state": "done", "target_uri": f"bridge:{bridge_id}"}
        for app in self.apps.values():
            if is_told and (f"bridge:{bridge_id}" in app.sources or app.name in members):
                self._send(app, {"type": "RecordingFinished", "recording": recording | {"duration": self.stored[name]}})

    def destroy_bridge(self, bridge_id: str) -> None:
        if bridge_id not in self.bridges:
            raise Refused(404, "Bridge not found")
        del self.bridges[bridge_id]
        self.bridge_types.pop(bridge_id, None)
        self.going.add(bridge_id)
        for line in self.lines.values():
            if line.bridge == bridge_id:
                line.bridge = ""
        for name in [name for name, (of, _) in self.live.items() if of == bridge_id]:
            self.stop(name, is_told=False)
        for app in self.apps.values():
            app.sources.discard(f"bridge:{bridge_id}")

    # Applications and their events

    def connect(self, names: list[str], send: Callable[[bytes], None]) -> None:
        with self.lock:
            for name in names:
                app = self.apps.setdefault(name, App(name))
                if app.send:
                    self._send(app, {"type": "ApplicationReplaced"})
                app.send = send

    def disconnect(self, send: Callable[[bytes], None]) -> None:
        with self.lock:
            for app in self.apps.values():
                if app.send == send:
                    app.send = None

    def subscribe(self, name: str, source: str) -> App:
        if name not in self.apps:
            raise Refused(404, "Application not found")
        kind, _, what = source.partition(":")
        if not {"channel": what in self.lines, "bridge": what in self.bridges, "endpoint": True}.get(kind):
            raise Refused(422, "Event source does not exist")
        self.apps[name].sources.add(source)
        return self.apps[name]

    def registers_anew(self, number: str) -> None:
        """Remove the contact of a phone: its page has crashed, or another one has registered. Its channels stay up."""
        contact = {"uri": f"sip:{number}@127.0.0.1:58538", "contact_status": "Removed", "aor": number}
        told = {"endpoint": {"technology": "PJSIP", "resource": number, "state": "offline"}, "contact_info": contact}
        with self.lock:
            self.offline.add(number)
            for app in self.apps.values():
                if f"endpoint:PJSIP/{number}" in app.sources:
                    self._send(app, {"type": "ContactStatusChange", **told})

    def endpoints(self) -> list[dict[str, Any]]:
        states = {"trunk": "online", **dict.fromkeys(sorted(self.offline), "offline")}
        return [
            {"technology": "PJSIP", "resource": number, "state": state, "channel_ids": []}
            for number, state in states.items()
        ]

    def is_connected(self, name: str) -> bool:
        return name in self.apps and self.apps[name].send is not None

    def _dial(self, line: Line, dialstatus: str) -> None:
        dial = {"type": "Dial", "dialstatus": dialstatus, "forward": "", "dialstring": line.dialstring}
        self.send_to(line.app, dial | {"peer": line.json()})

    def tell_of(self, line: Line, kind: str, **content: Any) -> None:
        for position in range(self.variables):
            variable = {"type": "ChannelVarset", "variable": f"VARIABLE{position}", "value": "x" * 40}
            self.send_to(line.app, variable | {"channel": line.json()})
        self.send_to(line.app, {"type": kind, **content, "channel": line.json()})

    def send_to(self, name: str, content: dict[str, Any]) -> None:
        if app := self.apps.get(name):
            for _ in range(self.copies):
                self._send(app, content)

    def _send(self, app: App, content: dict[str, Any]) -> None:
        if app.send:
            kind = content.pop("type")
            message = {"type": kind, "timestamp": now(), **content, "asterisk_id": "02:fc:00:00:00:01"}
            content["type"] = kind
            app.send(json.dumps(message | {"application": app.name}).encode())

    def _after(self, seconds: float, line: Line, act: Callable[[], None]) -> None:
        """Unless the channel is gone then, or was picked up."""

        def unless_over() -> None:
            if self.lines.get(line.id) is line and line.state != "Up":
                act()

        self.timers.after(seconds, unless_over)
