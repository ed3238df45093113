"""What the switch is told: after commit, in the thread that committed, in the order in which it was asked for.

The rows say what is wanted before the switch hears of it. What it refuses ends the leg; what it did not answer, or
what a crash kept from being said, is found by comparing rows with channels (telephony.calls.reconciliation).
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from callcentre.core.pubsub import publish
from telephony import causes
from telephony.models import Leg
from telephony.switch import current_switch
from telephony.switch.base import SwitchError, SwitchUnreachable

logger = logging.getLogger(__name__)

# Set when the switch did not answer an order: who should hear each other, or music, is to be told so once more.
unsent = threading.Event()
_of_thread = threading.local()


def is_reachable() -> bool:
    """Whether the switch answers now."""
    try:
        current_switch().ping()
    except SwitchError:
        return False
    return True


@contextmanager
def collect_unanswered() -> Iterator[list[str]]:
    """Collect why orders of this thread were not answered, as far as they are given within."""
    reasons: list[str] = []
    _of_thread.reasons = reasons
    try:
        yield reasons
    finally:
        del _of_thread.reasons


def call_agent(leg: Leg, presented: str, ring_seconds: int) -> None:
    """Ring the phone of an agent; a leg that is refused ends."""
    _send_call("call_agent", leg, presented, ring_seconds)


def call_number(leg: Leg, presented: str, ring_seconds: int) -> None:
    """Ring a number outside; a leg that is refused ends."""
    _send_call("call_number", leg, presented, ring_seconds)


def follow(leg: Leg) -> None:
    """Request the end event of a caller's channel. The switch refuses if the caller has hung up already."""
    send("follow", leg.channel_id, refused=lambda error: _store_refusal(leg.channel_id, 0, ""))


def answer(leg: Leg) -> None:
    send("answer", leg.channel_id)


def forget_missed(key: str) -> None:
    send("forget_missed", key)


def play_music(leg: Leg, music_class: str = "default") -> None:
    send("play_music", leg.channel_id, music_class)


def stop_music(leg: Leg) -> None:
    send("stop_music", leg.channel_id)


def hang_up(leg: Leg, cause: int = 16) -> None:
    """For `legs.hang_up`, which writes the wish down first."""
    send("hang_up", leg.channel_id, cause)


def hang_up_channel(channel_id: str, cause: int = 16) -> None:
    """A channel that is no leg of ours: a caller nobody can serve, or one that a crash left over."""
    send("hang_up", channel_id, cause)


def send(
    command: str,
    *args: Any,
    refused: Callable[[SwitchError], None] | None = None,
    unanswered: Callable[[SwitchUnreachable], None] | None = None,
    **kwargs: Any,
) -> None:
    """Tell the switch after the commit. `refused` is called where it will not do it, as where the channel is gone."""

    def tell() -> None:
        try:
            getattr(current_switch(), command)(*args, **kwargs)
        except SwitchUnreachable as error:
            logger.warning("switch does not answer", extra={"command": command, "error": str(error)})
            unsent.set()
            getattr(_of_thread, "reasons", []).append(f"{causes.NO_CONNECTION}.")
            if unanswered:
                unanswered(error)
        except SwitchError as error:
            logger.info("switch refused", extra={"command": command, "error": str(error)})
            if refused:
                refused(error)

    transaction.on_commit(tell, robust=True)


def _send_call(command: str, leg: Leg, presented: str, ring_seconds: int) -> None:
    channel_id = leg.channel_id

    def refused(error: SwitchError) -> None:
        logger.warning("call refused", extra={"command": command, "channel": channel_id, "error": str(error)})
        _store_refusal(channel_id, error.cause, str(error))

    def unanswered(error: SwitchUnreachable) -> None:
        """Note why, in case that the leg turns out to be lost."""
        Leg.objects.filter(channel_id=channel_id, ended_at=None).update(cause_text=causes.NO_CONNECTION)

    send(
        command,
        channel_id,
        leg.number,
        presented=presented,
        ring_seconds=ring_seconds,
        refused=refused,
        unanswered=unanswered,
    )


def _store_refusal(channel_id: str, cause: int | None, reason: str) -> None:
    """Store that the switch refused a leg. The listener ends the leg: telephony.calls.switch_events."""
    refusal = {"state": Leg.State.REFUSED, "cause": cause, "cause_text": reason[: causes.LONGEST]}
    Leg.objects.filter(channel_id=channel_id, ended_at=None).update(**refusal)
    publish("calls")
