"""What the switch is told: after commit, in the thread that committed, in the order in which it was asked for.

The rows say what is wanted before the switch hears of it. What it refuses ends the leg; what it did not answer, or
what a crash kept from being said, is found by comparing rows with channels (telephony.calls.resync).
"""

import logging
from typing import Any

from django.conf import settings
from django.db import transaction

from telephony.models import Connection, Leg, Recording
from telephony.switch import current_switch
from telephony.switch.base import SwitchError, SwitchUnreachable

logger = logging.getLogger(__name__)


def call_agent(leg: Leg, presented: str, ring_seconds: int) -> None:
    """Ring the phone of an agent; a leg that is refused ends."""
    _order_call("call_agent", leg, presented, ring_seconds)


def call_number(leg: Leg, presented: str, ring_seconds: int) -> None:
    """Ring a number outside; a leg that is refused ends."""
    _order_call("call_number", leg, presented, ring_seconds)


def answer(leg: Leg) -> None:
    _order("answer", leg.channel_id)


def join(connection: Connection, *legs: Leg) -> None:
    """Let these legs hear each other, recorded if calls are; `connection.join_count` counts the bridge already."""
    record_as = Recording.begin(connection) if settings.RECORD_CALLS else ""
    _order("join", connection.bridge_id, [leg.channel_id for leg in legs], record_as=record_as)


def part(connection: Connection) -> None:
    _order("part", connection.bridge_id)


def play_music(leg: Leg, music_class: str = "default") -> None:
    _order("play_music", leg.channel_id, music_class)


def stop_music(leg: Leg) -> None:
    _order("stop_music", leg.channel_id)


def hang_up(leg: Leg, cause: int = 16) -> None:
    """For `legs.hang_up`, which writes the wish down first."""
    _order("hang_up", leg.channel_id, cause)


def hang_up_channel(channel_id: str, cause: int = 16) -> None:
    """A channel that is no leg of ours: a caller nobody can serve, or one that a crash left over."""
    _order("hang_up", channel_id, cause)


def _order(command: str, *args: Any, **kwargs: Any) -> None:
    def tell() -> None:
        try:
            getattr(current_switch(), command)(*args, **kwargs)
        except SwitchUnreachable as error:
            logger.warning("switch does not answer", extra={"command": command, "error": str(error)})
        except SwitchError as error:  # the channel is gone, of which we are told, or will find out
            logger.info("switch refused", extra={"command": command, "error": str(error)})

    transaction.on_commit(tell, robust=True)


def _order_call(command: str, leg: Leg, presented: str, ring_seconds: int) -> None:
    channel_id, number = leg.channel_id, leg.number

    def tell() -> None:
        try:
            getattr(current_switch(), command)(channel_id, number, presented=presented, ring_seconds=ring_seconds)
        except SwitchUnreachable as error:
            logger.warning("switch does not answer", extra={"command": command, "error": str(error)})
        except SwitchError as error:
            from telephony.calls.handling import leg_refused  # noqa: PLC0415  (ending a leg gives orders in its turn)

            logger.warning("call refused", extra={"command": command, "channel": channel_id, "error": str(error)})
            leg_refused(channel_id, error.cause)

    transaction.on_commit(tell, robust=True)
