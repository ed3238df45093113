"""A pool of threads that runs tasks with the same key one after another, and retries while the database is down.

Any free thread takes the next key. With a thread for each key, an answer waited for slow work of other calls while
other threads were free.
"""

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
# Urgent ones first (False), then by number. Each is of a key; None ends a thread.
_Turn = tuple[bool, int, int | None]


class KeyedPool:
    """`has_failed` is set after a task has failed or was retried: its requests to the switch may be lost."""

    def __init__(self, size: int) -> None:
        self.has_failed = False
        self._is_over = threading.Event()
        self._turns: queue.PriorityQueue[_Turn] = queue.PriorityQueue()
        # Key -> its tasks that have not begun, each with its number.
        self._waiting: defaultdict[int, deque[tuple[int, Task]]] = defaultdict(deque)
        # Key that a thread works on -> its turns that have come meanwhile.
        self._busy: dict[int, list[_Turn]] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._threads = [
            threading.Thread(target=self._work, name=f"calls {number}", daemon=True) for number in range(size)
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
        self._turns.put((not is_urgent, number, key))

    def shut_down(self, patience_seconds: float) -> None:
        """Let the threads finish the submitted tasks, for so long at most."""
        for _ in self._threads:
            self._turns.put((True, next(self._numbers), None))
        deadline = time.monotonic() + patience_seconds
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
        self._is_over.set()

    def _work(self) -> None:
        while True:
            turn = self._turns.get()
            if (key := turn[2]) is None:
                break
            if self._is_taken(key, turn):
                for task in self._tasks(key, turn[1]):
                    while not self.run(task):
                        if self._is_over.wait(AGAIN_AFTER_SECONDS):
                            return
                self._leave(key)
        connection.close()

    def _is_taken(self, key: int, turn: _Turn) -> bool:
        """Take a key for this thread. Return false if another one works on it, which puts the turn back."""
        with self._lock:
            if key in self._busy:
                self._busy[key].append(turn)
                return False
            self._busy[key] = []
            return True

    def _tasks(self, key: int, number: int) -> list[Task]:
        """Return the tasks of a key up to this number, to be run now: none if an urgent turn has run them."""
        with self._lock:
            waiting, tasks = self._waiting[key], []
            while waiting and waiting[0][0] <= number:
                tasks.append(waiting.popleft()[1])
            if not waiting:
                del self._waiting[key]
        return tasks

    def _leave(self, key: int) -> None:
        with self._lock:
            for turn in self._busy.pop(key):
                self._turns.put(turn)

    def run(self, task: Task) -> bool:
        """Run a task. Return false if the database failed, so that a retry may succeed."""
        try:
            self.attempt(task)
        except (OperationalError, InterfaceError) as error:
            logger.warning("the database did not answer", extra={"error": str(error)})
            self.has_failed = True
            connection.close()
            return False
        return True

    def attempt(self, task: Task) -> None:
        """Run a task. Log and count its failure, and raise that of the database."""
        try:
            task()
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("not done")
            self.has_failed = True
            failed.inc()
        finally:
            structlog.contextvars.clear_contextvars()
