"""Ids of the channels and bridges that we ask a switch for: whose they are, and of which connection.

They begin with the name of our Stasis application, so that installations that share an Asterisk know their own: each
hangs up what a crash left over of its own calls, and leaves those of the other alone.
"""

import re
from functools import cache

from django.conf import settings

# A connection's id, with -2, -3, … for further stretches of talk.
_RECORDING = re.compile(r"\d{1,11}\.(\d{1,18})(?:-\d+)?", re.ASCII)


def channel_id(connection_id: int, number: int) -> str:
    """Of a connection's legs the one with this number, from 1."""
    return f"{bridge_id(connection_id)}-{number}"


def bridge_id(connection_id: int) -> str:
    return f"{settings.ARI_APP}-{connection_id}"


def connection_of(channel_id: str) -> int | None:
    """Return the connection that a channel was asked for; None for one that we did not ask for, as a caller's."""
    ours = _pattern(settings.ARI_APP, r"-\d+").fullmatch(channel_id)
    return int(ours[1]) if ours else None


def connection_of_bridge(bridge_id: str) -> int | None:
    """Return the connection that a bridge was made for; None for a bridge that is not ours."""
    ours = _pattern(settings.ARI_APP, "").fullmatch(bridge_id)
    return int(ours[1]) if ours else None


def connection_of_recording(name: str) -> int | None:
    """Return the connection whose talk a recording holds; None for a name that is not made of a connection's id."""
    ours = _RECORDING.fullmatch(name)
    return int(ours[1]) if ours else None


@cache
def _pattern(app: str, rest: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(app)}-(\d{{1,18}}){rest}", re.ASCII)
