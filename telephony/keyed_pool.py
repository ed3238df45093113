"""A pool of threads that runs tasks with the same key one after another, and retries while the database is down."""

import itertools
import logging
import queue
import threading
import time
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
# The tasks of one thread: urgent ones first (False), then by number; None ends the thread.
_Queue = queue.PriorityQueue[tuple[bool, int, Task | None]]


class KeyedPool:
    """`has_failed` is set after a task has failed or was retried: its requests to the switch may be lost."""

    def __init__(self, size: int) -> None:
        self.has_failed = False
        self._is_over = threading.Event()
        self._queues: list[_Queue] = [queue.PriorityQueue() for _ in range(size)]
        self._numbers = itertools.count()
        self._threads = [
            threading.Thread(target=self._work, args=(tasks,), name=f"calls {number}", daemon=True)
            for number, tasks in enumerate(self._queues)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, key: int, task: Task, *, is_urgent: bool = False) -> None:
        """Run a task behind those of the same key, in the order of their submission. Urgent ones come first."""
        self._queues[key % len(self._queues)].put((not is_urgent, next(self._numbers), task))

    def shut_down(self, patience_seconds: float) -> None:
        """Let the threads finish the submitted tasks, for so long at most."""
        for tasks in self._queues:
            tasks.put((True, next(self._numbers), None))
        deadline = time.monotonic() + patience_seconds
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
        self._is_over.set()

    def _work(self, tasks: "_Queue") -> None:
        while (task := tasks.get()[2]) is not None:
            while not self.run(task):
                if self._is_over.wait(AGAIN_AFTER_SECONDS):
                    return
        connection.close()

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
