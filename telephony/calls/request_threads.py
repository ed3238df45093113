"""Threads for the requests of a process that must not wait for the switch: the dialler, which serves all campaigns."""

import itertools
import logging
import threading
from collections.abc import Callable
from functools import partial

from django.db import InterfaceError, OperationalError, connection

from telephony.keyed_pool import KeyedPool

logger = logging.getLogger(__name__)

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
