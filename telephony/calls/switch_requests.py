"""Requests to the switch, sent after the commit, in the thread that committed, in their order; the dialler has threads
for them, so that it does not wait.

The rows are committed before the switch is asked. A refusal is written to the leg's row. A request that got no answer,
or was never sent because of a crash, is found by the comparison of legs and channels (telephony.calls.reconciliation).
"""

import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet

from callcentre.core.pubsub import publish
from telephony import causes
from telephony.keyed_pool import KeyedPool
from telephony.models import AgentLine, Leg
from telephony.switch import current_switch
from telephony.switch.base import SwitchError, SwitchUnreachable

# Requests that are sent at once. As many calls may be lost when the switch falls silent.
AT_ONCE = 4
# How long a call waits until one of these is answered.
ROOM_SECONDS = 0.3


class RequestThreads:
    """Sends requests, a few at once. A round of calls is over once the switch does not answer one of them.

    The next round then begins with one call, and goes on when the switch has answered it.
    """

    def __init__(self) -> None:
        self._pool = KeyedPool(AT_ONCE)
        self._numbers = itertools.count()
        self._answered = threading.Condition()
        self._open: set[int] = set()
        self._limit = AT_ONCE
        self._is_over = False

    def begin_round(self) -> None:
        self._is_over = False

    def has_room(self) -> bool:
        """Return whether a request would be sent at once, after a short wait. False until the round is over."""
        with self._answered:
            if not self._is_over and not self._answered.wait_for(self._is_room, ROOM_SECONDS):
                self._is_over = True
            return not self._is_over

    def _is_room(self) -> bool:
        return self._is_over or len(self._open) < self._limit

    def submit(self, request: Callable[[], bool]) -> None:
        """Send a request, which returns whether the switch has answered."""
        number = next(self._numbers)
        self._open.add(number)
        self._pool.submit(number, partial(self._send, number, request))

    def _send(self, number: int, request: Callable[[], bool]) -> None:
        is_answered = False
        try:
            is_answered = request()
        except (OperationalError, InterfaceError) as error:
            # The pool would send the request again. A leg whose refusal is not stored is ended by the comparison.
            logger.warning("the answer of the switch is not stored", extra={"error": str(error)})
            connection.close()
        finally:
            with self._answered:
                self._open.discard(number)
                self._limit = AT_ONCE if is_answered else 1
                self._is_over |= not is_answered
                self._answered.notify_all()

    def shut_down(self, patience_seconds: float) -> None:
        self._pool.shut_down(patience_seconds)


logger = logging.getLogger(__name__)

# Set when the switch did not answer a request. The listener then repeats the requests of all open calls.
unsent = threading.Event()
# The listener's threads for requests that no call waits for. Without them, as in other processes, nothing is put off.
closing: KeyedPool | None = None
threads: RequestThreads | None = None
_of_thread = threading.local()


def is_reachable() -> bool:
    try:
        current_switch().ping()
    except SwitchError:
        return False
    return True


def has_room() -> bool:
    """Return whether the switch has answered the requests of this process so far that it can get one more."""
    return threads is None or threads.has_room()


@contextmanager
def collect_unanswered() -> Iterator[list[str]]:
    """Collect the errors of requests of this thread that the switch does not answer."""
    reasons: list[str] = []
    _of_thread.reasons = reasons
    try:
        yield reasons
    finally:
        del _of_thread.reasons


def play_music(leg: Leg, music_class: str = "default") -> None:
    send("play_music", leg.channel_id, music_class)


def hang_up(channel_id: str, cause: int = 16) -> None:
    """Hang up a channel. For one with an open leg only `legs.hang_up` calls this, as it stores `hangup_asked_at`."""
    send("hang_up", channel_id, cause)


def send_now(command: str, *args: Any, refused: Callable[[SwitchError], None] | None = None, **kwargs: Any) -> None:
    _request(command, args, kwargs, refused, None)


def send_later(key: int, request: Callable[[], None]) -> None:
    """Send what a call needs once it has ended, behind the requests of the calls that go on."""
    if closing is None:
        request()
    else:
        closing.submit(key, request)


def send(
    command: str,
    *args: Any,
    refused: Callable[[SwitchError], None] | None = None,
    unanswered: Callable[[SwitchUnreachable], None] | None = None,
    **kwargs: Any,
) -> None:
    """Send a request after the commit. Call `refused` if the switch refuses it, for example as the channel is gone."""

    def begin() -> None:
        request = partial(_request, command, args, kwargs, refused, unanswered)
        if threads is None:
            request()
        else:
            threads.submit(request)

    transaction.on_commit(begin, robust=True)


def _request(
    command: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    refused: Callable[[SwitchError], None] | None,
    unanswered: Callable[[SwitchUnreachable], None] | None,
) -> bool:
    try:
        getattr(current_switch(), command)(*args, **kwargs)
    except SwitchUnreachable as error:
        logger.warning("switch does not answer", extra={"command": command, "error": str(error)})
        unsent.set()
        getattr(_of_thread, "reasons", []).append(f"{causes.NO_CONNECTION}.")
        if unanswered:
            unanswered(error)
        return False
    except SwitchError as error:
        logger.info("switch refused", extra={"command": command, "error": str(error)})
        if refused:
            refused(error)
    return True


def _call(command: str, row: Leg | AgentLine, presented: str, ring_seconds: int, **values: Any) -> None:
    """Ring the phone of a leg or line. The listener ends one that is refused (telephony.calls.switch_events)."""
    number = row.number if isinstance(row, Leg) else row.agent.number
    open_row = type(row)._default_manager.filter(channel_id=row.channel_id, ended_at=None)

    def refused(error: SwitchError) -> None:
        logger.warning("call refused", extra={"command": command, "channel": row.channel_id, "error": str(error)})
        _store_refusal(open_row, error.cause, str(error))

    def unanswered(error: SwitchUnreachable) -> None:
        """Store the reason, in case that the leg turns out to be lost."""
        open_row.update(cause_text=causes.NO_CONNECTION)

    values |= {"presented": presented, "ring_seconds": ring_seconds}
    send(command, row.channel_id, number, refused=refused, unanswered=unanswered, **values)


# Of an agent's phone, and of a number outside.
call_agent, call_number = partial(_call, "call_agent"), partial(_call, "call_number")


def follow(leg: Leg) -> None:
    """Request the end event of a caller's channel. The switch refuses if the caller has hung up already."""
    open_leg = Leg.objects.filter(pk=leg.pk, ended_at=None)
    send("follow", leg.channel_id, refused=lambda error: _store_refusal(open_leg, 0, ""))


def _store_refusal(row: QuerySet[Any], cause: int | None, reason: str) -> None:
    row.update(state=Leg.State.REFUSED, cause=cause, cause_text=reason[: causes.LONGEST])
    publish("calls")
