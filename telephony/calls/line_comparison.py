"""Channels of standing lines that are over, and lines in silence: a part of telephony.calls.reconciliation."""

import logging
from collections.abc import Collection

from django.utils import timezone

from callcentre.core.pubsub import publish
from telephony.calls import line_requests
from telephony.channels import line_of, line_of_tone
from telephony.models import AgentLine
from telephony.switch.base import Switch, SwitchError

logger = logging.getLogger(__name__)


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


def end_offline(switch: Switch) -> None:
    """End the lines of phones that went offline while no listener was connected, which no event reports.

    A line in a call ends after it, because its phone may only have failed to answer the switch for a moment.
    """
    lasting = AgentLine.objects.filter(ended_at=None, state=AgentLine.State.UP, hangup_asked_at=None)
    if not lasting.exists():
        return
    try:
        offline = switch.offline_phones()
    except SwitchError as error:
        logger.warning("the switch does not list its phones", extra={"error": str(error)})
        return
    if lasting.filter(agent__number__in=offline).update(hangup_asked_at=timezone.now()):
        publish("calls")


def restore_silence() -> None:
    """Play silence to all lines that are in no call, in case a process died before its request."""
    for pk in AgentLine.objects.filter(ended_at=None, state=AgentLine.State.UP, connection_id=None).values_list(
        "pk", flat=True
    ):
        line_requests.silence_idle(pk)
