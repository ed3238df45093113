"""Sounds, silence, snooping and detection of the stand-in for Asterisk, with the traps that a real one has.

A phone in no bridge gets no packets without silence. A line whose silence is left on hears nobody in a bridge. Whatever
is played to a channel ends its silence. A `tone:` never ends, and a channel to which something is played cannot be
joined until it ends. Numbers outside that end in 07 are machines, those in 08 leave AMD() unsure.
"""

import threading
import urllib.request
from typing import TYPE_CHECKING, Any

from tests.telephony.switch.ari_channels import Line, Refused, now

if TYPE_CHECKING:
    from tests.telephony.switch.ari_pbx import Pbx

CONTEXT = "callcentre-detection"
# Sound files that are there, besides those of the service.
FILES = {"beep"}


def play(pbx: "Pbx", line: Line, media: str, playback_id: str = "") -> dict[str, Any]:
    """Answer at once, even for a missing file; its end is an event."""
    playback = playback_id or f"playback-{next(pbx.numbers)}"
    line.is_silent = False
    pbx.playing[playback] = line.id
    _tell(pbx, line, playback, "PlaybackStarted", "playing")
    # Of several sounds the stand-in plays the last.
    kind, _, name = media.rpartition(",")[2].partition(":")
    if kind == "tone":
        if name == "beep":
            pbx.timers.after(0.002, lambda: _finish(pbx, line, playback, "failed"))
    elif name.startswith("http"):
        threading.Thread(target=_fetch, args=(pbx, line, playback, media), daemon=True).start()
    else:
        state = "done" if name in FILES or "/" in name else "failed"
        seconds = pbx.sound if state == "done" else 0.002
        pbx.timers.after(seconds, lambda: _finish(pbx, line, playback, state))
    return {"id": playback, "media_uri": media, "target_uri": f"channel:{line.id}", "state": "queued"}


def _fetch(pbx: "Pbx", line: Line, playback: str, media: str) -> None:
    """Fetch a sound as res_http_media_cache does: a WAV of 8 kHz, 16 bits, mono."""
    try:
        with urllib.request.urlopen(media.partition(":")[2], timeout=5) as answer:
            sound = answer.read()
    except OSError:
        sound = b""
    is_heard = (
        sound[:4] == b"RIFF" and sound[20:28] == b"\x01\x00\x01\x00\x40\x1f\x00\x00" and sound[34:36] == b"\x10\x00"
    )
    with pbx.lock:
        state = "done" if is_heard else "failed"
        pbx.timers.after(pbx.sound, lambda: _finish(pbx, line, playback, state))


def _finish(pbx: "Pbx", line: Line, playback: str, state: str) -> None:
    if pbx.playing.pop(playback, None):
        _tell(pbx, line, playback, "PlaybackFinished", state)
        pbx.changed.notify_all()


def stop(pbx: "Pbx", playback: str) -> None:
    if playback not in pbx.playing:
        raise Refused(404, "Playback not found")
    line = pbx.lines[pbx.playing[playback]]
    _finish(pbx, line, playback, "done")


def _tell(pbx: "Pbx", line: Line, playback: str, kind: str, state: str) -> None:
    content = {"id": playback, "target_uri": f"channel:{line.id}", "state": state}
    pbx.send_to(line.app, {"type": kind, "playback": content})


def snoop(pbx: "Pbx", line: Line, parameters: dict[str, str]) -> dict[str, Any]:
    """Add a channel that enters the application at once."""
    snoop_id = parameters.get("snoopId") or f"snoop-{next(pbx.numbers)}"
    if snoop_id in pbx.lines:
        raise Refused(409, "Channel with given unique ID already exists")
    snooper = Line(snoop_id, f"Snoop/{line.id}-{next(pbx.numbers):08x}", "", parameters["app"])
    snooper.state, snooper.is_in_stasis, snooper.snoops_on = "Up", True, line.id
    pbx.lines[snoop_id] = snooper
    pbx.tell_of(snooper, "StasisStart", args=[])
    return snooper.json()


def hears(pbx: "Pbx", channel_id: str) -> set[str]:
    """Return the channels that this one hears; a snooping channel brings both sides of the one that it snoops on."""
    with pbx.lock:
        line, heard = pbx.lines[channel_id], set()
        for other in [
            one for one in pbx.lines.values() if line.bridge and one.bridge == line.bridge and one is not line
        ]:
            if other.snoops_on:
                heard |= {other.snoops_on, *hears(pbx, other.snoops_on)}
            elif not other.is_muted:
                heard |= {other.id, *_whispering(pbx, other)}
        return heard - {channel_id}


def _whispering(pbx: "Pbx", line: Line) -> set[str]:
    """Return those who are heard as if this channel's phone spoke."""
    bridges = {one.bridge for one in pbx.lines.values() if one.snoops_on == line.id and one.bridge}
    return {one.id for one in pbx.lines.values() if one.bridge in bridges and not one.snoops_on and not one.is_muted}


def end_snoop(pbx: "Pbx", snooper: Line) -> None:
    """End a snooping channel: no ChannelDestroyed tells of it."""
    if pbx.lines.pop(snooper.id, None):
        _stop_sounds(pbx, snooper)
        pbx.tell_of(snooper, "StasisEnd")


def channel_gone(pbx: "Pbx", line: Line) -> None:
    """End what was played to a channel that is gone, and the channels that snooped on it."""
    _stop_sounds(pbx, line)
    for snooper in [one for one in pbx.lines.values() if one.snoops_on == line.id]:
        end_snoop(pbx, snooper)


def _stop_sounds(pbx: "Pbx", line: Line) -> None:
    for playback in [playback for playback, channel in pbx.playing.items() if channel == line.id]:
        _finish(pbx, line, playback, "failed")


def leave_for_dialplan(pbx: "Pbx", line: Line, context: str) -> None:
    """Run AMD(), and enter the application again with its result. Between both the channel is in no application."""
    line.is_in_stasis, line.is_silent, line.bridge = False, False, ""
    pbx.tell_of(line, "StasisEnd")
    if context != CONTEXT:
        pbx.destroy(line, 0)
        return
    who, cause = {"07": ("MACHINE", "LONGGREETING-1500-1500"), "08": ("NOTSURE", "TOOLONG-5000")}.get(
        line.number[-2:], ("HUMAN", "HUMAN-800-800")
    )

    def enter() -> None:
        if pbx.lines.get(line.id) is line:
            line.is_in_stasis, line.args = True, ("amd", who, cause)
            pbx.tell_of(line, "StasisStart", args=list(line.args))

    pbx.timers.after(pbx.detection, enter)


def press(pbx: "Pbx", channel_id: str, digit: str) -> None:
    """Press a key. In a plain mixing bridge of two, Asterisk does not hear it."""
    with pbx.lock:
        line = pbx.lines[channel_id]
        if not line.bridge or "dtmf_events" in pbx.bridge_types[line.bridge]:
            # The copies of a message have one time.
            pbx.tell_of(line, "ChannelDtmfReceived", digit=digit, duration_ms=100, timestamp=now())


def unheard(pbx: "Pbx") -> list[str]:
    """Return the channels that hear nobody in their bridge, because their silence was left on."""
    with pbx.lock:
        return [line.id for line in pbx.lines.values() if line.bridge and line.is_silent]


def without_packets(pbx: "Pbx") -> list[str]:
    """Return the channels whose phones get no packets: up, in no bridge, without silence, music or a sound."""
    with pbx.lock:
        return [
            line.id
            for line in pbx.lines.values()
            if line.is_in_stasis and not line.bridge and not line.is_silent and not line.music and not line.snoops_on
            if line.state == "Up" and line.id not in pbx.playing.values()
        ]
