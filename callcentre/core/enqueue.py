"""The one way to start a task: after commit, without waiting for the broker."""

import logging
import os
import queue
import threading
import time
from typing import NamedTuple

import structlog
from celery import current_app
from django.db import transaction

from callcentre.core.request_id import current_request_id

logger = logging.getLogger(__name__)

# The delay of the first message, so that the answer of the request is sent before it.
FIRST_SECONDS = 0.002
# The time between equal calls of one process: at first, and at most.
APART_SECONDS = 0.02
LONGEST_APART_SECONDS = 0.1
# The calls that wait while the broker is slow or away. Further ones are left to the sweeps, which find their rows.
MOST_WAITING = 10_000


class _Call(NamedTuple):
    task: str
    args: tuple[int | str, ...]


class _Pause(NamedTuple):
    """The hold after a call: equal calls wait until `until`; the next hold lasts `seconds`."""

    ends_at: float
    next_seconds: float

    def next(self, now: float) -> "_Pause":
        return _Pause(now + self.next_seconds, min(2 * self.next_seconds, LONGEST_APART_SECONDS))


class _Publisher:
    """A thread that sends tasks, so that requests do not wait for the broker.

    The first call is sent after a short delay. Equal calls within APART_SECONDS are joined into one, sent at the end of
    that time. Each further hold is twice as long, until one passes without a call. A single change is therefore
    published at once, and a stream of changes costs ten messages a second instead of one message each.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start_anew()

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._queue: queue.SimpleQueue[tuple[_Call, str]] = queue.SimpleQueue()
        self._waiting: set[_Call] = set()
        self._thread: threading.Thread | None = None

    def put(self, call: _Call) -> None:
        request_id = current_request_id()
        with self._lock:
            if self._pid != os.getpid():  # a forked worker inherits the queue, not the thread
                self._start_anew()
            if call in self._waiting or len(self._waiting) > MOST_WAITING:
                return
            self._waiting.add(call)
            if len(self._waiting) > MOST_WAITING:
                logger.warning("too many tasks wait for the broker, further ones are left to their sweeps")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="enqueue", daemon=True)
                self._thread.start()
        self._queue.put((call, request_id))

    def _run(self) -> None:
        held: dict[_Call, str] = {}
        pauses: dict[_Call, _Pause] = {}
        while True:
            next_due = min((pauses[call].ends_at for call in held), default=None)
            try:
                timeout = None if next_due is None else max(next_due - time.monotonic(), 0)
                call, request_id = self._queue.get(timeout=timeout)
                now = time.monotonic()
                if call not in pauses or pauses[call].ends_at <= now:
                    pauses[call] = _Pause(now + FIRST_SECONDS, APART_SECONDS)
                held[call] = request_id
            except queue.Empty:
                now = time.monotonic()
            for call in [call for call in held if pauses[call].ends_at <= now]:
                request_id = held.pop(call)
                with self._lock:
                    # Equal calls from here on are sent again: their rows may be committed after this task read them.
                    self._waiting.discard(call)
                pauses[call] = pauses[call].next(now)
                with structlog.contextvars.bound_contextvars(request_id=request_id):
                    _send(call)
            if len(pauses) > 1000:
                pauses = {call: pause for call, pause in pauses.items() if call in held}


_publisher = _Publisher()


def enqueue(task: str, *args: int | str) -> None:
    """Send the task the primary key of its row once the surrounding transaction has committed.

    A broker that is down costs only a warning: the task's sweep finds the row by its due time.
    """
    call = _Call(task, args)
    transaction.on_commit(lambda: _publisher.put(call), robust=True)


def _send(call: _Call) -> None:
    try:
        current_app.send_task(call.task, args=call.args)
    except Exception as error:  # noqa: BLE001  (the transport raises any exception; the sweep finds the row)
        logger.warning("task not published, left to its sweep", extra={"task": call.task, "error": repr(error)})
