"""Ids of the channels and bridges that we request from a switch; they contain the connection's id.

They begin with the name of our Stasis application. Installations that share an Asterisk so recognise their own: after a
crash each hangs up what is left of its own calls only.
"""

import re
from functools import cache

from django.conf import settings

# A connection's id, with -2, -3, … for further stretches of talk.
_RECORDING = re.compile(r"\d{1,11}\.(\d{1,18})(?:-\d+)?", re.ASCII)


def channel_id(connection_id: int, number: int) -> str:
    return f"{bridge_id(connection_id)}-{number}"


def bridge_id(connection_id: int) -> str:
    return f"{settings.ARI_APP}-{connection_id}"


def line_channel_id(line_id: int) -> str:
    return f"{settings.ARI_APP}-line-{line_id}"


def line_of(channel_id: str) -> int | None:
    """Return the standing line of a channel; None for another channel."""
    ours = _pattern(f"{settings.ARI_APP}-line", "").fullmatch(channel_id)
    return int(ours[1]) if ours else None


def tone_of(channel_id: str) -> str:
    return f"{channel_id}-tone"


def line_of_tone(channel_id: str) -> str | None:
    """Return the channel of the standing line to which this channel plays a tone; None for another channel."""
    line = channel_id.removesuffix("-tone")
    return line if line != channel_id and line_of(line) is not None else None


def play_id(connection_id: int, count: int) -> str:
    """Return the id for the sound that is played to a customer; a connection's sounds count from 1."""
    return f"{bridge_id(connection_id)}-play-{count}"


def connection_of(channel_id: str) -> int | None:
    """Return the connection of a channel that we requested; None for another one, as a caller's."""
    ours = _pattern(settings.ARI_APP, r"-\d+").fullmatch(channel_id)
    return int(ours[1]) if ours else None


def monitor_channel_id(connection_id: int, command_id: int) -> str:
    """Return the id for the channel of a supervisor in a call; also of the bridge in which the supervisor listens."""
    return f"{settings.ARI_APP}-monitor-{connection_id}-{command_id}"


def supervised_by(channel_id: str) -> int | None:
    """Return the connection that the supervisor on this channel is in; None for another channel."""
    ours = _pattern(f"{settings.ARI_APP}-monitor", r"-\d+").fullmatch(channel_id)
    return int(ours[1]) if ours else None


def snoop_of(channel_id: str) -> str:
    return f"{channel_id}-snoop"


def supervisor_of_snoop(channel_id: str) -> str | None:
    """Return the channel of the supervisor who hears by this channel; None for another channel."""
    supervisor = channel_id.removesuffix("-snoop")
    return supervisor if supervisor != channel_id and supervised_by(supervisor) is not None else None


def connection_of_bridge(bridge_id: str) -> int | None:
    """Return the connection of a bridge; None for a bridge that is not ours."""
    ours = _pattern(settings.ARI_APP, "").fullmatch(bridge_id)
    return int(ours[1]) if ours else None


def connection_of_recording(name: str) -> int | None:
    """Return the connection of a recording; None for a name that does not contain a connection's id."""
    ours = _RECORDING.fullmatch(name)
    return int(ours[1]) if ours else None


@cache
def _pattern(app: str, rest: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(app)}-(\d{{1,18}}){rest}", re.ASCII)
