"""The limit of slow password hashes that one process computes at a time.

A slow hash takes one core for a quarter of a second, and any stranger can cause one by a log-in. A process computes one
hash at a time, a few more threads wait, and further log-ins are refused at once without a hash.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

# The time for which a wrong log-in counts against its address.
FAILURE_WINDOW_SECONDS = 300
# The most threads of one gate and process that compute or wait for a hash. A web worker has eight threads, so the gates
# of API and back office leave two free.
MOST_INSIDE = 3
# Places kept for addresses without a recent wrong log-in.
KEPT_FREE = 1
# Addresses that a process keeps for that.
MOST_REMEMBERED = 10_000
RETRY_AFTER_SECONDS = 1

_Result = TypeVar("_Result")
_core = threading.Lock()


class Busy(Exception):
    """Too many log-ins already wait for a hash. No hash was computed."""


class HashGate:
    """The entrance to slow hashes for one kind of log-in.

    API and back office have a gate each, so that guesses at one leave the other free.
    """

    def __init__(self, most_inside: int = MOST_INSIDE, kept_free: int = KEPT_FREE) -> None:
        self._places = threading.BoundedSemaphore(most_inside)
        self._places_of_suspects = threading.BoundedSemaphore(most_inside - kept_free)
        self._failures: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, source: str, compute: Callable[[], _Result]) -> _Result:
        """Return the result of `compute`; a false one marks the source as guessing. Raise Busy if the gate is full."""
        with ExitStack() as places:
            if self._is_suspect(source):
                self._take(self._places_of_suspects, places)
            self._take(self._places, places)
            with _core:
                result = compute()
        if not result:
            self._note_failure(source)
        return result

    @staticmethod
    def _take(semaphore: threading.BoundedSemaphore, places: ExitStack) -> None:
        if not semaphore.acquire(blocking=False):
            raise Busy
        places.callback(semaphore.release)

    def _is_suspect(self, source: str) -> bool:
        with self._lock:
            failed_at = self._failures.get(source)
        return failed_at is not None and time.monotonic() - failed_at < FAILURE_WINDOW_SECONDS

    def _note_failure(self, source: str) -> None:
        with self._lock:
            self._failures[source] = time.monotonic()
            self._failures.move_to_end(source)
            if len(self._failures) > MOST_REMEMBERED:
                self._failures.popitem(last=False)
