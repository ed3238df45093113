"""A pool of threads that runs tasks with the same key one after another, and retries while the database is down."""

import itertools
import logging
import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, connection
from prometheus_client import Counter

logger = logging.getLogger(__name__)

# Before a task is retried after the database was down, or cancelled it for another one.
AGAIN_AFTER_SECONDS = 0.3

failed = Counter("callcentre_listener_failures", "Events and other work of the listener that could not be done")

Task = Callable[[], Any]
# The turns of one thread: urgent ones first (False), then by number. Each is of a key; None ends the thread.
_Turns = queue.PriorityQueue[tuple[bool, int, int | None]]


class KeyedPool:
    """`has_failed` is set after a task has failed or was retried: its requests to the switch may be lost."""

    def __init__(self, size: int) -> None:
        self.has_failed = False
        self._is_over = threading.Event()
        self._turns: list[_Turns] = [queue.PriorityQueue() for _ in range(size)]
        # Key -> its tasks that have not begun, each with its number.
        self._waiting: defaultdict[int, deque[tuple[int, Task]]] = defaultdict(deque)
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._threads = [
            threading.Thread(target=self._work, args=(turns,), name=f"calls {number}", daemon=True)
            for number, turns in enumerate(self._turns)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, key: int, task: Task, *, is_urgent: bool = False) -> None:
        """Run a task behind those of the same key, in the order of their submission.

        An urgent one comes before the tasks of other keys, with all tasks of its own key that are before it.
        """
        with self._lock:
            number = next(self._numbers)
            self._waiting[key].append((number, task))
        self._turns[key % len(self._turns)].put((not is_urgent, number, key))

    def shut_down(self, patience_seconds: float) -> None:
        """Let the threads finish the submitted tasks, for so long at most."""
        for turns in self._turns:
            turns.put((True, next(self._numbers), None))
        deadline = time.monotonic() + patience_seconds
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
        self._is_over.set()

    def _work(self, turns: "_Turns") -> None:
        while True:
            _, number, key = turns.get()
            if key is None:
                break
            for task in self._taken(key, number):
                while not self.run(task):
                    if self._is_over.wait(AGAIN_AFTER_SECONDS):
                        return
        connection.close()

    def _taken(self, key: int, number: int) -> list[Task]:
        """Return the tasks of a key up to this number, to be run now: none if an urgent turn has run them."""
        with self._lock:
            waiting, taken = self._waiting[key], []
            while waiting and waiting[0][0] <= number:
                taken.append(waiting.popleft()[1])
            if not waiting:
                del self._waiting[key]
        return taken

    def run(self, task: Task) -> bool:
        """Run a task. Return false if the database failed, so that a retry may succeed."""
        try:
            task()
        except (OperationalError, InterfaceError) as error:
            logger.warning("the database did not answer", extra={"error": str(error)})
            self.has_failed = True
            connection.close()
            return False
        except Exception:
            logger.exception("not done")
            self.has_failed = True
            failed.inc()
        finally:
            structlog.contextvars.clear_contextvars()
        return True
