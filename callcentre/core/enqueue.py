"""The one way to start a task: after commit, without waiting for the broker or depending on it."""

import logging
import os
import queue
import threading
import time
from typing import NamedTuple

import structlog
from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)

# Before the first message: publishing takes time of this process, and the answer of the request is to go before it.
FIRST_SECONDS = 0.002
# Between equal calls of one process: at first, and while they keep coming.
APART_SECONDS = 0.02
LONGEST_APART_SECONDS = 0.1


class _Call(NamedTuple):
    task: str
    args: tuple[int | str, ...]


class _Pause(NamedTuple):
    """After a call: until when equal ones are held, and how long those after them would be."""

    ends_at: float
    next_seconds: float

    def next(self, now: float) -> "_Pause":
        return _Pause(now + self.next_seconds, min(2 * self.next_seconds, LONGEST_APART_SECONDS))


class _Publisher:
    """A thread that sends tasks, so that a request does not wait for the broker.

    The first call goes out at once but for the time in which its request is answered. An equal one that follows within
    APART_SECONDS waits until those are over, and all that come until then are one with it. The next wait is twice as
    long, until one passes without a call. So a change now and then is told of at once, and a stream of them costs its
    workers ten messages a second, not one each.
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
        request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))
        with self._lock:
            if self._pid != os.getpid():  # a forked worker inherits the queue, not the thread
                self._start_anew()
            if call in self._waiting:
                return
            self._waiting.add(call)
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
                    # From here on an equal call is another one: what it is about may be committed after we were read.
                    self._waiting.discard(call)
                pauses[call] = pauses[call].next(now)
                with structlog.contextvars.bound_contextvars(request_id=request_id):
                    _send(call)
            if len(pauses) > 1000:
                pauses = {call: pause for call, pause in pauses.items() if call in held}


_publisher = _Publisher()


def enqueue(task: str, *args: int | str) -> None:
    """Send the task its row's primary key once the surrounding transaction has committed.

    A broker that is down costs a warning, not the caller's request: the row says what is due, and the task's sweep
    finds it.
    """
    call = _Call(task, args)
    transaction.on_commit(lambda: _publisher.put(call), robust=True)


def _send(call: _Call) -> None:
    try:
        current_app.send_task(call.task, args=call.args)
    except Exception as error:  # noqa: BLE001  (whatever the transport raises: the row is saved, the sweep finds it)
        logger.warning("task not published, left to its sweep", extra={"task": call.task, "error": repr(error)})
