"""Comparison of standing lines with the channels that the switch lists: a part of telephony.calls.reconciliation."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from telephony.calls import line_events, line_requests
from telephony.channels import line_of, line_of_tone
from telephony.models import AgentLine
from telephony.switch.base import Channel

State = AgentLine.State


class LineComparison:
    """Compares lines with channels. Keeps the missing lines of the comparison before."""

    def __init__(self) -> None:
        self._missing: set[str] = set()
        self._rows: dict[str, AgentLine] = {}

    @property
    def is_inconclusive(self) -> bool:
        return bool(self._missing)

    def read(self) -> None:
        """Read the lines, before the channels are listed, so that every line is old enough to be listed."""
        self._rows = {line.channel_id: line for line in AgentLine.objects.filter(ended_at=None).order_by("id")}

    def repairs(
        self, channels: Mapping[str, Channel], now: datetime, young: datetime
    ) -> list[tuple[int, Callable[[], None]]]:
        """Return the repairs, each with its line. Lines asked for after `young` may not be listed yet."""
        found: list[tuple[int, Callable[[], None]]] = []
        missing: set[str] = set()
        for channel_id, line in self._rows.items():
            channel = channels.get(channel_id)
            if line.state == State.REFUSED:
                continue
            if channel is None:
                if line.state == State.ASKED and line.asked_at > young:
                    continue
                if channel_id in self._missing:
                    found.append((line.pk, partial(line_events.ended, channel_id, now, None)))
                missing.add(channel_id)
            elif channel.is_up and line.state != State.UP:
                found.append((line.pk, partial(line_events.up, channel_id, now)))
        self._missing = missing
        # Channels of lines that are over, and tones whose lines are gone.
        for channel_id in channels:
            line_channel = line_of_tone(channel_id) or channel_id
            if line_of(line_channel) is not None and line_channel not in self._rows:
                found.append((line_of(line_channel) or 0, partial(_hang_up_over, line_channel, channel_id)))
        return found


def _hang_up_over(line_channel: str, channel_id: str) -> None:
    """Hang up a channel, unless its line is a new one."""
    if not AgentLine.objects.filter(channel_id=line_channel, ended_at=None).exists():
        line_requests.hang_up(channel_id)


def restore_silence() -> None:
    """Play silence to all lines that are in no call, in case a process died before its request."""
    for pk in AgentLine.objects.filter(ended_at=None, state=State.UP, connection_id=None).values_list("pk", flat=True):
        line_requests.silence_idle(pk)
