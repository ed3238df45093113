"""The requests that the stand-in for Asterisk's REST interface answers."""

import io
import time
import wave
from collections.abc import Callable
from typing import Any

from tests.telephony.switch import ari_media
from tests.telephony.switch.ari_channels import Line, Refused
from tests.telephony.switch.ari_pbx import Pbx

Parameters = dict[str, str]


def _variable(pbx: Pbx, parameters: Parameters) -> Any:
    """A global variable. Functions cannot be read this way, only written to."""
    return {"value": pbx.globals.get(parameters["variable"], "")}


def _set_variable(pbx: Pbx, parameters: Parameters) -> None:
    function, _, argument = parameters["variable"].rstrip(")").partition("(")
    if function == "DB_DELETE":
        pbx.database.discard(argument)
    elif not argument:
        pbx.globals[function] = parameters["value"]


def _originate(pbx: Pbx, parameters: Parameters) -> Any:
    return pbx.originate(parameters).json()


def _delete_channel(pbx: Pbx, channel_id: str, parameters: Parameters) -> None:
    pbx.delete(channel_id, parameters.get("reason", ""), parameters.get("reason_code", ""))


def _in_stasis(act: Callable[[Pbx, Line, Parameters], None]) -> Callable[..., None]:
    """For channels in an application: those that were picked up, or call us."""

    def checked(pbx: Pbx, channel_id: str, parameters: Parameters) -> None:
        line = pbx.line(channel_id)
        if not line.is_in_stasis:
            raise Refused(409, "Channel not in Stasis application")
        act(pbx, line, parameters)

    return checked


@_in_stasis
def _answer_call(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    pbx.answer(line)


@_in_stasis
def _start_music(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    line.music = parameters.get("mohClass", "default")


@_in_stasis
def _stop_music(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    line.music = ""


@_in_stasis
def _start_silence(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    line.is_silent = True


@_in_stasis
def _stop_silence(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    line.is_silent = False


@_in_stasis
def _ring(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    line.is_silent = False


@_in_stasis
def _mute(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    line.is_muted = parameters["direction"] == "in"


@_in_stasis
def _unmute(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    line.is_muted = False


def _play(pbx: Pbx, channel_id: str, parameters: Parameters) -> Any:
    line = pbx.line(channel_id)
    if not line.is_in_stasis:
        raise Refused(409, "Channel not in Stasis application")
    return ari_media.play(pbx, line, parameters["media"], parameters.get("playbackId", ""))


def _play_as(pbx: Pbx, channel_id: str, playback_id: str, parameters: Parameters) -> Any:
    return _play(pbx, channel_id, {**parameters, "playbackId": playback_id})


def _record_caller(pbx: Pbx, channel_id: str, parameters: Parameters) -> Any:
    line = pbx.line(channel_id)
    if not line.is_in_stasis:
        raise Refused(409, "Channel not in Stasis application")
    pbx.record_caller(line, parameters["name"], int(parameters["maxDurationSeconds"]))
    return _live(pbx, parameters["name"], {})


def _stop_playback(pbx: Pbx, playback_id: str, parameters: Parameters) -> None:
    ari_media.stop(pbx, playback_id)


def _snoop(pbx: Pbx, channel_id: str, parameters: Parameters) -> Any:
    return ari_media.snoop(pbx, pbx.line(channel_id), parameters)


@_in_stasis
def _continue(pbx: Pbx, line: Line, parameters: Parameters) -> None:
    ari_media.leave_for_dialplan(pbx, line, parameters.get("context", ""))


def _make_bridge(pbx: Pbx, parameters: Parameters) -> Any:
    bridge_id = parameters.get("bridgeId") or f"bridge-{time.monotonic_ns()}"
    if bridge_id in pbx.bridges or bridge_id in pbx.going:
        raise Refused(500, "Internal Server Error", "error")
    pbx.bridges[bridge_id] = parameters.get("name", "")
    pbx.bridge_types[bridge_id] = parameters.get("type", "mixing")
    return _bridge(pbx, bridge_id, {})


def _bridge(pbx: Pbx, bridge_id: str, parameters: Parameters) -> Any:
    if bridge_id in pbx.going:
        return {"id": bridge_id, "name": "", "bridge_type": "mixing", "channels": []}
    if bridge_id not in pbx.bridges:
        raise Refused(404, "Bridge not found")
    members = [line.id for line in pbx.lines.values() if line.bridge == bridge_id]
    return {"id": bridge_id, "name": pbx.bridges[bridge_id], "bridge_type": "mixing", "channels": members}


def _record(pbx: Pbx, bridge_id: str, parameters: Parameters) -> Any:
    pbx.record(bridge_id, parameters["name"], parameters["format"])
    return _live(pbx, parameters["name"], {})


def _live(pbx: Pbx, name: str, parameters: Parameters) -> Any:
    if name not in pbx.live:
        raise Refused(404, "Recording not found")
    return {"name": name, "format": "wav", "state": "recording", "target_uri": f"bridge:{pbx.live[name][0]}"}


def _stop_recording(pbx: Pbx, name: str, parameters: Parameters) -> None:
    _live(pbx, name, {})
    pbx.stop(name)


def _stored(pbx: Pbx, name: str, parameters: Parameters) -> bytes:
    if name not in pbx.stored:
        raise Refused(404, "Recording not found")
    with io.BytesIO() as buffer:
        with wave.open(buffer, "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(bytes(16_000 * max(pbx.stored[name], 1)))
        return buffer.getvalue()


def _delete_stored(pbx: Pbx, name: str, parameters: Parameters) -> None:
    _stored(pbx, name, {})
    del pbx.stored[name]


def _subscribe(pbx: Pbx, name: str, parameters: Parameters) -> Any:
    app = pbx.subscribe(name, parameters.get("eventSource", ""))
    return {"name": app.name, "channel_ids": [], "bridge_ids": [], "endpoint_ids": [], "device_names": []}


ROUTES: list[tuple[str, list[str], Callable[..., Any]]] = [
    (method, path.split("/"), act)
    for method, path, act in (
        ("GET", "asterisk/ping", lambda pbx, _: {"asterisk_id": "02:fc:00:00:00:01", "ping": "pong"}),
        ("GET", "asterisk/variable", _variable),
        ("POST", "asterisk/variable", _set_variable),
        ("GET", "channels", lambda pbx, _: [line.json() for line in pbx.lines.values()]),
        ("POST", "channels", _originate),
        ("GET", "channels/*", lambda pbx, channel_id, _: pbx.line(channel_id).json()),
        ("DELETE", "channels/*", _delete_channel),
        ("POST", "channels/*/answer", _answer_call),
        ("POST", "channels/*/ring", _ring),
        ("POST", "channels/*/silence", _start_silence),
        ("DELETE", "channels/*/silence", _stop_silence),
        ("POST", "channels/*/mute", _mute),
        ("DELETE", "channels/*/mute", _unmute),
        ("POST", "channels/*/play", _play),
        ("POST", "channels/*/play/*", _play_as),
        ("POST", "channels/*/record", _record_caller),
        ("POST", "channels/*/snoop", _snoop),
        ("POST", "channels/*/continue", _continue),
        ("DELETE", "playbacks/*", _stop_playback),
        ("POST", "channels/*/moh", _start_music),
        ("DELETE", "channels/*/moh", _stop_music),
        ("POST", "bridges", _make_bridge),
        ("GET", "bridges", lambda pbx, _: [_bridge(pbx, bridge_id, {}) for bridge_id in pbx.bridges]),
        ("GET", "bridges/*", _bridge),
        ("DELETE", "bridges/*", lambda pbx, bridge_id, _: pbx.destroy_bridge(bridge_id)),
        ("POST", "bridges/*/addChannel", lambda pbx, bridge_id, wish: pbx.add(bridge_id, wish["channel"].split(","))),
        ("POST", "bridges/*/record", _record),
        ("GET", "recordings/live/*", _live),
        ("POST", "recordings/live/*/stop", _stop_recording),
        ("GET", "recordings/stored/*/file", _stored),
        ("DELETE", "recordings/stored/*", _delete_stored),
        ("POST", "applications/*/subscription", _subscribe),
        ("GET", "endpoints/PJSIP", lambda pbx, _: pbx.endpoints()),
    )
]
