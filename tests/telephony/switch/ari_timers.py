"""Things that happen by themselves in the stand-in for Asterisk, in one thread."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator


class Timers:
    """One thread that acts at given times, under the lock of the PBX."""

    def __init__(self, lock: "threading.RLock") -> None:
        self._changed = threading.Condition(lock)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers: Iterator[int] = itertools.count()
        self._is_closed = False
        threading.Thread(target=self._run, daemon=True).start()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), act))
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._is_closed:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                else:
                    heapq.heappop(self._due)[2]()
