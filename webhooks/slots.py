"""Who of a process may wait for which receiver: a receiver that hangs must not take the threads of the others."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# A receiver whose answers take longer on average, over a batch, is slow.
SLOW_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Receiver:
    """One webhook as the slots see it. Webhooks of one origin (scheme, host and port) wait for one server."""

    webhook_id: int
    origin: str
    # Its last answer was a failure: it may hang.
    is_suspect: bool


class Slots:
    """The threads of this process that may wait for receivers at one time.

    `bound` is for all of them, below the size of the worker's pool. Within that, `per_origin` bounds those that wait
    for one origin: one while the origin is suspect or slow, or while a third of all slots is taken, so that many
    receivers that begin to hang at one moment leave slots free. `for_suspects` bounds those that wait for all suspect
    and slow origins together.

    A webhook that finds no slot leaves a note. A thread with a slot looks for a note of its webhook before it ends;
    a slot that becomes free goes to the oldest note that fits. Each process measures which origins are slow.
    """

    def __init__(self, bound: int, per_origin: int, for_suspects: int) -> None:
        self.bound = bound
        self._per_origin = per_origin
        self._for_suspects = for_suspects
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()
        self._taken_by_suspects = 0
        # In the order in which they came.
        self._waiting: dict[int, Receiver] = {}
        self._slow: set[str] = set()

    @contextmanager
    def acquire(self, receiver: Receiver) -> Iterator[bool]:
        """Take a slot, or leave a note. Whether there was one."""
        with self._lock:
            is_suspect = self._may_hang(receiver)
            if has_slot := self._fits(receiver):
                self._taken[receiver.origin] += 1
                self._taken_by_suspects += is_suspect
                self._waiting.pop(receiver.webhook_id, None)
            else:
                self._waiting[receiver.webhook_id] = receiver
        try:
            yield has_slot
        finally:
            if has_slot:
                with self._lock:
                    self._taken[receiver.origin] -= 1
                    self._taken_by_suspects -= is_suspect
                    # Zeros go: a process meets many origins in its life.
                    self._taken += Counter()

    def pop_waiting(self, webhook_id: int) -> bool:
        """Whether the webhook has left a note since; it is taken away."""
        with self._lock:
            return self._waiting.pop(webhook_id, None) is not None

    def pop_next(self) -> int | None:
        """The webhook with the oldest note for which there is a slot now; the note is taken away."""
        with self._lock:
            for webhook_id, receiver in self._waiting.items():
                if self._fits(receiver):
                    del self._waiting[webhook_id]
                    return webhook_id
        return None

    def measure(self, origin: str, seconds: float) -> None:
        """Remember whether the answers of an origin are slow."""
        with self._lock:
            (self._slow.add if seconds > SLOW_SECONDS else self._slow.discard)(origin)

    def is_slow(self, origin: str) -> bool:
        return origin in self._slow

    def _fits(self, receiver: Receiver) -> bool:
        taken = self._taken.total()
        if self._may_hang(receiver):
            limit = 1 if self._taken_by_suspects < self._for_suspects else 0
        else:
            limit = self._per_origin if taken < self.bound // 3 else 1
        return taken < self.bound and self._taken[receiver.origin] < limit

    def _may_hang(self, receiver: Receiver) -> bool:
        return receiver.is_suspect or receiver.origin in self._slow
