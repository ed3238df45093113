"""Slots: the threads of a process that may wait for receivers, so that hanging receivers do not block the others."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# An origin is slow if its answers take longer on average over a batch.
SLOW_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Receiver:
    """A webhook that needs a slot. Webhooks of one origin (scheme, host and port) wait for one server."""

    webhook_id: int
    origin: str
    # Its last attempt failed, so it may hang.
    is_suspect: bool


class Slots:
    """The slots of this process.

    `bound` limits all slots, below the size of the worker's pool. `per_origin` limits the slots of one origin; the
    limit is one while the origin is suspect or slow, or while a third of all slots is taken, so that many receivers
    that begin to hang at once leave slots free. `for_suspects` limits the slots of all suspect and slow origins.

    A webhook without a free slot waits in a list. A thread with a slot checks the list for its webhook before it ends;
    a free slot goes to the first webhook that fits. Each process measures which origins are slow.
    """

    # The worker of the queue `webhooks` has 32 threads. The other 8 run tasks that wait for no receiver.
    def __init__(self, bound: int = 24, per_origin: int = 2, for_suspects: int = 12) -> None:
        self.bound = bound
        self._per_origin = per_origin
        self._for_suspects = for_suspects
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()
        self._taken_by_suspects = 0
        # In order of arrival.
        self._waiting: dict[int, Receiver] = {}
        self._slow: set[str] = set()

    @contextmanager
    def acquire(self, receiver: Receiver) -> Iterator[bool]:
        """Acquire a slot, or let the webhook wait. Yield whether there was a slot."""
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
                    # Remove zeros, because a process meets many origins.
                    self._taken += Counter()

    def pop_waiting(self, webhook_id: int) -> bool:
        """Remove the webhook from the list. Return whether it was waiting."""
        with self._lock:
            return self._waiting.pop(webhook_id, None) is not None

    def pop_next(self) -> int | None:
        """Remove and return the first waiting webhook for which a slot is free."""
        with self._lock:
            for webhook_id, receiver in self._waiting.items():
                if self._fits(receiver):
                    del self._waiting[webhook_id]
                    return webhook_id
        return None

    def measure(self, origin: str, seconds: float) -> None:
        """Store whether the answers of an origin are slow."""
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
