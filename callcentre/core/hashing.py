"""The bound on slow hashes: how many passwords one process checks at a time, and for whom.

A slow hash takes a core for a quarter of a second, and a stranger can ask for one with each log-in. A process computes
one at a time. A few more threads wait for it; the other log-ins are refused at once, without a hash.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

# A wrong log-in counts against its address for so long.
FAILURE_WINDOW_SECONDS = 300
# Threads of one process that compute or wait for a hash, of those that one gate let in. The web server has 16.
MOST_INSIDE = 5
# Places among these that are kept for addresses from which no wrong log-in came lately.
KEPT_FREE = 2
# Addresses that a process remembers for that.
MOST_REMEMBERED = 10_000
RETRY_AFTER_SECONDS = 1

_Result = TypeVar("_Result")
_core = threading.Lock()


class Busy(Exception):
    """Too many log-ins wait for their hash already. Nothing was computed."""


class HashGate:
    """The entrance to slow hashes of one kind of log-in.

    Guesses at the API leave the places of the back office free, for each has a gate of its own.
    """

    def __init__(self, most_inside: int = MOST_INSIDE, kept_free: int = KEPT_FREE) -> None:
        self._places = threading.BoundedSemaphore(most_inside)
        self._places_of_suspects = threading.BoundedSemaphore(most_inside - kept_free)
        self._failures: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, source: str, compute: Callable[[], _Result]) -> _Result:
        """Return what `compute` returns; a false result marks the source as one that guesses. Raises Busy."""
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
