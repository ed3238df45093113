"""Channels of standing lines that are over, and lines in silence: a part of telephony.calls.reconciliation."""

from collections.abc import Collection

from telephony.calls import line_requests
from telephony.channels import line_of, line_of_tone
from telephony.models import AgentLine


def left_over(channel_ids: Collection[str], lines: Collection[str]) -> list[tuple[int, str, str]]:
    """Return line, channel of the line and channel, for channels of other lines than these and for their tones."""
    found: list[tuple[int, str, str]] = []
    for channel_id in channel_ids:
        line_channel = line_of_tone(channel_id) or channel_id
        if (line_id := line_of(line_channel)) is not None and line_channel not in lines:
            found.append((line_id, line_channel, channel_id))
    return found


def hang_up_over(line_channel: str, channel_id: str) -> None:
    """Hang up a channel, unless its line is a new one."""
    if not AgentLine.objects.filter(channel_id=line_channel, ended_at=None).exists():
        line_requests.hang_up(channel_id)


def restore_silence() -> None:
    """Play silence to all lines that are in no call, in case a process died before its request."""
    for pk in AgentLine.objects.filter(ended_at=None, state=AgentLine.State.UP, connection_id=None).values_list(
        "pk", flat=True
    ):
        line_requests.silence_idle(pk)
