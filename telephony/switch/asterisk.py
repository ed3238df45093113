"""Asterisk 22 as our switch: commands over its REST interface (ARI), events over its WebSocket.

A call is originated into our Stasis application, which it enters when it is answered. Only the cause of
ChannelDestroyed tells its outcome. docs/telephony-switch.md describes the configuration of Asterisk.
"""

import base64
import logging
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import requests
from django.conf import settings
from websockets.exceptions import InvalidHandshake, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from telephony import call_clock
from telephony.channels import line_of, tone_of
from telephony.switch import ari, base
from telephony.switch.ari import Ari, AriError, MissedCallers
from telephony.switch.ari_events import Interpreter, listed

logger = logging.getLogger(__name__)
# Offline reports why a stream ended, in one line. The library would log a traceback as well.
_logger_of_stream = logging.getLogger(f"{__name__}.stream")
_logger_of_stream.setLevel(logging.CRITICAL)

# Delays before the stream of events is opened again, after the first failure, the second, and so on.
RECONNECT_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
OPEN_SECONDS = 5.0
# A vanished peer is noticed after both, at the latest.
PING_SECONDS, PONG_SECONDS = 10.0, 10.0
# How long writing a recording may take, and then destroying its bridge.
STOP_SECONDS, GO_SECONDS, LOOK_SECONDS = 1.0, 1.0, 0.01
PIECE_BYTES = 65_536
# The silence that ends the message of a caller.
SILENCE_SECONDS = 10
# The tone before a call is joined to a line. A `tone:` would never finish.
TONE = "sound:beep"
# The context of the dialplan that runs AMD() and returns to the application.
DETECTION = "callcentre-detection"
# Q.850: the number is no number.
INVALID_NUMBER = 28

# The context of the dialplan that lets a phone hear itself.
ECHO = "callcentre-echo"
# Tells the phone in a browser to answer by itself.
_AWAITED = {"PJSIP_HEADER(add,X-Awaited)": "1"}
_CONFIGURATION = ("asterisk", "config", "dynamic", "res_pjsip")


class AsteriskSwitch:
    """The Switch of the setting `asterisk`. telephony.switch.base describes the methods."""

    def __init__(self) -> None:
        self._url = settings.ARI_URL.rstrip("/")
        self._app = settings.ARI_APP
        self._ari = Ari(self._url, settings.ARI_USER, settings.ARI_PASSWORD)
        self._missed = MissedCallers(self._ari, f"missed_{settings.ARI_APP}")
        self._closing = threading.Event()
        self._stream: ClientConnection | None = None

    def ping(self) -> None:
        self._ari.send("GET", "asterisk", "ping")

    def add_phone(self, number: str, password: str) -> None:
        """Write the phone into Asterisk's memory (ARI push configuration), and request its changes."""
        for kind, values in _phone_objects(number, password).items():
            fields = [{"attribute": name, "value": value} for name, value in values.items()]
            self._ari.send_body("PUT", *_CONFIGURATION, kind, number, body={"fields": fields})
        self._subscribe(f"endpoint:PJSIP/{number}")

    def remove_phone(self, number: str) -> None:
        for kind in ("endpoint", "aor", "auth"):
            self._ari.send_if_there("DELETE", *_CONFIGURATION, kind, number)

    def test_phone(self, number: str) -> None:
        # The channel is in the dialplan and not in our application, so no event and no comparison is about it.
        to: dict[str, str | int] = {"context": ECHO, "extension": "s", "priority": 1, "timeout": 10}
        self._ari.send_body("POST", "channels", body={"variables": _AWAITED}, endpoint=f"PJSIP/{number}", **to)

    def call_agent(
        self, channel_id: str, number: str, *, presented: str, ring_seconds: int, is_awaited: bool = False
    ) -> None:
        if not re.fullmatch(r"[0-9A-Za-z._-]+", number):
            raise base.SwitchError(f"{number!r} is no SIP number.", INVALID_NUMBER)
        if line_of(channel_id) is not None:
            # Asterisk then reports the registration of the phone; and channel events twice, of which we drop one. A
            # phone that does not exist is refused below.
            with suppress(AriError):
                self._subscribe(f"endpoint:PJSIP/{number}")
        self._call(channel_id, f"PJSIP/{number}", presented, ring_seconds, _AWAITED if is_awaited else None)

    def call_number(self, channel_id: str, number: str, *, presented: str, ring_seconds: int) -> None:
        # The number must not contain a route to another endpoint than the trunk.
        if not re.fullmatch(r"\+?[0-9*#]+", number):
            raise base.SwitchError(f"{number!r} is no number that can be dialled.", INVALID_NUMBER)
        self._call(channel_id, f"PJSIP/{number}@{settings.TRUNK}", presented, ring_seconds)

    def _call(
        self, channel_id: str, endpoint: str, presented: str, ring_seconds: int, variables: dict[str, str] | None = None
    ) -> None:
        caller = re.sub(r"[^0-9A-Za-z+*#._-]", "", presented)
        parameters: dict[str, str | int] = {"endpoint": endpoint, "channelId": channel_id, "timeout": ring_seconds}
        parameters |= {"app": self._app, **({"callerId": caller} if caller else {})}
        try:
            self._ari.send_body("POST", "channels", body=variables and {"variables": variables}, **parameters)
        except AriError as error:
            # 409: the channel exists already.
            if error.status != 409:
                raise

    def follow(self, channel_id: str) -> None:
        """Subscribe to a caller's channel. Otherwise Asterisk does not report its end."""
        self._subscribe(f"channel:{channel_id}")

    def answer(self, channel_id: str) -> None:
        self._ari.send("POST", "channels", channel_id, "answer")

    def join(self, bridge_id: str, channel_ids: Sequence[str], *, record_as: str = "") -> None:
        deadline = time.monotonic() + GO_SECONDS
        while not self._add_to_bridge(bridge_id, channel_ids, record_as, is_last=time.monotonic() > deadline):
            time.sleep(LOOK_SECONDS)
        if record_as:
            self._record(bridge_id, record_as)

    def _add_to_bridge(self, bridge_id: str, channel_ids: Sequence[str], name: str, *, is_last: bool) -> bool:
        """Return false, or raise the last time, if a bridge with this id that is destroyed just now is not gone yet."""
        self._make_bridge(bridge_id, name)
        for channel_id in channel_ids:
            if line_of(channel_id) is not None:
                # With its silence left on, the agent would not hear the customer.
                self._ari.send_if_there("DELETE", "channels", channel_id, "silence")
        try:
            # One request moves all of them, out of other bridges too.
            self._ari.add_to_bridge(bridge_id, *channel_ids)
        except AriError as error:
            if error.status != 409 or is_last:
                raise
            return False
        return True

    def _make_bridge(self, bridge_id: str, record_as: str) -> None:
        """Create a bridge, unless it exists. The id of a destroyed bridge becomes free a moment later."""
        deadline = time.monotonic() + GO_SECONDS
        while True:
            try:
                # The name of the bridge is that of its recording, for the process that destroys it.
                # Without dtmf_events Asterisk would connect two phones directly, and report no keys.
                self._ari.send("POST", "bridges", type="mixing,dtmf_events", bridgeId=bridge_id, name=record_as)
            except AriError as error:
                if self._ari.send_if_there("GET", "bridges", bridge_id):
                    return
                if error.status not in (409, 500) or time.monotonic() > deadline:
                    raise
                time.sleep(LOOK_SECONDS)
            else:
                return

    def _record(self, bridge_id: str, name: str) -> None:
        """Record a bridge. A failure does not end the conversation."""
        try:
            # Otherwise Asterisk would not report the end of the recording after the channels have left.
            self._subscribe(f"bridge:{bridge_id}")
            self._ari.send("POST", "bridges", bridge_id, "record", name=name, format="wav")
        except AriError as error:
            # 409: the recording runs already.
            if error.status != 409:
                logger.warning("a call is not recorded", extra={"recording": name, "error": str(error)})

    def destroy_bridge(self, bridge_id: str) -> None:
        if (bridge := self._ari.send_if_there("GET", "bridges", bridge_id)) is None:
            return
        if name := bridge.get("name"):
            self._finish(name)
        self._ari.send_if_there("DELETE", "bridges", bridge_id)

    def _finish(self, recording: str) -> None:
        """End a recording before its bridge: with the bridge Asterisk drops the subscription to the recording's end."""
        self._ari.send_if_there("POST", "recordings", "live", recording, "stop")
        deadline = time.monotonic() + STOP_SECONDS
        while self._ari.send_if_there("GET", "recordings", "live", recording) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)

    def play_music(self, channel_id: str, music_class: str) -> None:
        self._ari.send("POST", "channels", channel_id, "moh", mohClass=music_class)

    def stop_music(self, channel_id: str) -> None:
        self._ari.send("DELETE", "channels", channel_id, "moh")

    def play_silence(self, channel_id: str) -> None:
        # A phone in no bridge would get no packets at all.
        self._ari.send("POST", "channels", channel_id, "silence")

    def play_ringing(self, channel_id: str) -> None:
        self._ari.send("POST", "channels", channel_id, "ring")

    def play_tone(self, channel_id: str) -> None:
        # A sound on the channel itself would end the silence, and interrupt a talk. A snooping channel whispers it to
        # the agent alone.
        tone = tone_of(channel_id)
        self._ari.send_if_there("DELETE", "channels", tone)
        self._ari.send("POST", "channels", channel_id, "snoop", spy="none", whisper="out", app=self._app, snoopId=tone)
        self._ari.send("POST", "channels", tone, "play", media=TONE)

    def stop_tone(self, channel_id: str) -> None:
        self._ari.send_if_there("DELETE", "channels", tone_of(channel_id))

    def play(self, channel_id: str, sounds: Sequence[str], sound_id: str) -> None:
        media = ",".join(f"sound:{sound}" for sound in sounds)
        self._ari.send("POST", "channels", channel_id, "play", sound_id, media=media)

    def stop_play(self, sound_id: str) -> None:
        self._ari.send_if_there("DELETE", "playbacks", sound_id)

    def record(self, channel_id: str, name: str, seconds: int) -> None:
        limits = {"maxDurationSeconds": seconds, "maxSilenceSeconds": SILENCE_SECONDS}
        form = {"format": "wav", "beep": "true", "terminateOn": "#"}
        try:
            self._ari.send("POST", "channels", channel_id, "record", name=name, **form, **limits)
        except AriError as error:
            # 409: it is recorded already; or it was, which is refused.
            if error.status != 409 or not self._ari.send_if_there("GET", "recordings", "live", name):
                raise

    def detect(self, channel_id: str) -> None:
        self._ari.send("POST", "channels", channel_id, "continue", context=DETECTION, extension="s", priority=1)

    def listen(self, channel_id: str, customer: str, *, is_heard: bool) -> None:
        ari.listen(self._ari, self._app, channel_id, customer, is_heard=is_heard)

    def barge(self, channel_id: str, bridge_id: str) -> None:
        ari.barge(self._ari, channel_id, bridge_id)

    def stop_listening(self, channel_id: str) -> None:
        ari.stop_listening(self._ari, channel_id)

    def hang_up(self, channel_id: str, cause: int = 16) -> None:
        self._ari.send_if_there("DELETE", "channels", channel_id, reason_code=cause)

    def channels(self) -> list[base.Channel]:
        channels: list[dict[str, Any]] = self._ari.send("GET", "channels").json()
        return [listed(channel, self._app) for channel in channels]

    def bridges(self) -> list[str]:
        return [bridge["id"] for bridge in self._ari.send("GET", "bridges").json()]

    def offline_phones(self) -> list[str]:
        endpoints: list[dict[str, Any]] = self._ari.send("GET", "endpoints", "PJSIP").json()
        return [endpoint["resource"] for endpoint in endpoints if endpoint["state"] == "offline"]

    def missed(self) -> list[base.Missed]:
        return self._missed.listed()

    def forget_missed(self, key: str) -> None:
        self._missed.forget(key)

    def recording(self, name: str) -> Iterator[bytes]:
        with self._ari.open("recordings", "stored", name, "file") as response:
            try:
                yield from response.iter_content(PIECE_BYTES)
            except requests.RequestException as error:
                raise base.SwitchUnreachable(f"The recording broke off: {type(error).__name__}.") from error

    def remove_recording(self, name: str) -> None:
        self._ari.send_if_there("DELETE", "recordings", "stored", name)

    def _subscribe(self, source: str) -> None:
        self._ari.send("POST", "applications", self._app, "subscription", eventSource=source)

    def events(self) -> Iterator[base.Event]:
        self._closing.clear()
        failures = 0
        while not self._closing.is_set():
            reason = "closed by Asterisk"
            try:
                with self._opened() as stream:
                    for event in self._events_of(stream):
                        failures = 0
                        yield event
                        if isinstance(event, base.Replaced):
                            return
            except (OSError, WebSocketException) as error:
                reason = _sentence(error)
            if not self._closing.is_set():
                yield base.Offline(reason)
                self._closing.wait(RECONNECT_SECONDS[min(failures, len(RECONNECT_SECONDS) - 1)])
                failures += 1

    def _opened(self) -> ClientConnection:
        credentials = base64.b64encode(f"{settings.ARI_USER}:{settings.ARI_PASSWORD}".encode()).decode()
        stream = connect(
            f"ws{self._url.removeprefix('http')}/events?app={quote(self._app)}",
            additional_headers={"Authorization": f"Basic {credentials}"},
            compression=None,
            proxy=None,
            open_timeout=OPEN_SECONDS,
            ping_interval=PING_SECONDS,
            ping_timeout=PONG_SECONDS,
            close_timeout=1,
            # Asterisk disconnects a client that does not read within 100 ms, so we read everything at once.
            max_queue=None,
            logger=_logger_of_stream,
        )
        self._stream = stream
        return stream

    def _events_of(self, stream: ClientConnection) -> Iterator[base.Event]:
        if self._closing.is_set():
            return
        interpreter = Interpreter()
        yield base.Online()
        for message in self._messages(stream):
            yield (
                message
                if isinstance(message, base.Alive)
                else interpreter.event(message) or base.Alive(call_clock.now())
            )

    def _messages(self, stream: ClientConnection) -> Iterator[bytes | base.Alive]:
        """Yield the messages of the stream. Without messages, ping Asterisk, and yield when it was alive."""
        asked_at, answer = call_clock.now(), None
        while not self._closing.is_set():
            try:
                yield stream.recv(base.PULSE_SECONDS, decode=False)
            except TimeoutError:
                if answer and answer.is_set():
                    yield base.Alive(asked_at)
                if answer is None or answer.is_set():
                    asked_at, answer = call_clock.now(), stream.ping()

    def close(self) -> None:
        self._closing.set()
        if stream := self._stream:
            with suppress(OSError, WebSocketException):
                stream.close()


def _sentence(error: Exception) -> str:
    if isinstance(error, InvalidStatus):
        return f"Asterisk refused the stream of events with {error.response.status_code}"
    if isinstance(error, InvalidHandshake):
        return f"no WebSocket: {error}"
    return f"{type(error).__name__}: {error}"


def _phone_objects(number: str, password: str) -> dict[str, dict[str, str]]:
    """Return the configuration of a phone in a browser, in the order in which its objects need each other.

    G.711 only: what the trunk talks; Asterisk can mix and generate nothing for a codec without an encoder. A browser
    sends packets even when muted; without any for `rtp_timeout` the window is gone. `qualify`: a phone that sleeps is
    offline after seven seconds.
    """
    return {
        "auth": {
            "auth_type": "digest",
            "username": number,
            "password": password,
            "supported_algorithms_uas": "SHA-256",
        },
        "aor": {"max_contacts": "1", "remove_existing": "yes", "qualify_frequency": "5", "qualify_timeout": "2"},
        "endpoint": {
            "transport": settings.PHONE_TRANSPORT,
            "context": settings.PHONE_CONTEXT,
            "auth": number,
            "aors": number,
            "webrtc": "yes",
            "rtp_timeout": "4",
            "disallow": "all",
            "allow": "alaw,ulaw",
        },
    }
