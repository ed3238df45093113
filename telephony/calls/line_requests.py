"""Requests to the switch about standing lines, sent after the commit.

The silence of a line and the joining of the line are requested by several threads of the listener. A lock for each line
keeps them apart, and the row says whether the line is still in no call, so that no silence begins after a join.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from django.db import transaction

from callcentre.core.pubsub import publish
from telephony import causes
from telephony.calls import switch_requests
from telephony.channels import line_of
from telephony.models import AgentLine
from telephony.switch.base import SwitchError

_locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)


@contextmanager
def alone(channel_ids: Sequence[str]) -> Iterator[None]:
    """Hold the locks of the lines among these channels."""
    with ExitStack() as stack:
        for line_id in sorted(filter(None, map(line_of, channel_ids))):
            stack.enter_context(_locks[line_id])
        yield


def ring(line: AgentLine, number: str, presented: str, ring_seconds: int) -> None:
    """Ring the agent's phone. The listener ends a line that the switch refuses."""

    def refused(error: SwitchError) -> None:
        refusal = {"cause": error.cause, "cause_text": str(error)[: causes.LONGEST], "state": AgentLine.State.REFUSED}
        AgentLine.objects.filter(pk=line.pk, ended_at=None).update(**refusal)
        publish("calls")

    switch_requests.send(
        "call_agent", line.channel_id, number, presented=presented, ring_seconds=ring_seconds, refused=refused
    )


def play_tone(channel_id: str) -> None:
    switch_requests.send("play_tone", channel_id)


def stop_tone(channel_id: str) -> None:
    switch_requests.send("stop_tone", channel_id)


def hang_up(channel_id: str, cause: int = 16) -> None:
    switch_requests.send("hang_up", channel_id, cause)


def silence(channel_id: str) -> None:
    """Play silence to a line that stays in its call, as during a hold."""
    switch_requests.send("play_silence", channel_id)


def silence_idle(line_id: int, connection_id: int = 0) -> None:
    """Play silence to a line that has left its call, unless it is in another call by then.

    The bridge of the call is destroyed before, by the same thread.
    """

    def request() -> None:
        with _locks[line_id]:
            idle = AgentLine.objects.filter(
                pk=line_id, ended_at=None, state=AgentLine.State.UP, connection_id=None, hangup_asked_at=None
            )
            if channel_id := idle.values_list("channel_id", flat=True).first():
                switch_requests.send_now("play_silence", channel_id)

    transaction.on_commit(lambda: switch_requests.send_later(connection_id, request), robust=True)
