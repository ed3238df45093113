"""The bound on slow hashes: how many passwords one process checks at a time.

A slow hash takes a core for a quarter of a second, and a stranger can ask for one with each log-in. A process computes
one at a time. A few more threads wait for it; the other log-ins are refused at once, without a hash.
"""

import threading
from types import TracebackType

# Threads of one process that compute or wait for a hash, of those that one gate let in. The web server has 16.
MOST_INSIDE = 5
RETRY_AFTER_SECONDS = 1

_core = threading.Lock()


class Busy(Exception):
    """Too many log-ins wait for their hash already. Nothing was computed."""


class HashGate:
    """The entrance to slow hashes, as a context manager. Raises Busy where too many threads are inside.

    Each kind of log-in has a gate of its own: guesses at the API leave the places of the back office free.
    """

    def __init__(self, most_inside: int = MOST_INSIDE) -> None:
        self._places = threading.BoundedSemaphore(most_inside)

    def __enter__(self) -> None:
        if not self._places.acquire(blocking=False):
            raise Busy
        _core.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _core.release()
        self._places.release()
