"""Waking a worker: one way, after commit, that neither waits for the broker nor depends on it."""

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

# Between equal calls of one process.
APART_SECONDS = 0.02


class _Call(NamedTuple):
    task: str
    args: tuple[int | str, ...]


class _Publisher:
    """A thread that sends tasks, so that a request does not wait for the broker.

    The first call goes out at once; an equal one that follows within APART_SECONDS waits until those are over, and all
    that come until then are one with it. So a burst of changes costs its workers a message in a while, not each.
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
                self._thread = threading.Thread(target=self._run, name="wake", daemon=True)
                self._thread.start()
        self._queue.put((call, request_id))

    def _run(self) -> None:
        sent_at: dict[_Call, float] = {}
        held: dict[_Call, str] = {}
        while True:
            next_due = min((sent_at[call] + APART_SECONDS for call in held), default=None)
            try:
                timeout = None if next_due is None else max(next_due - time.monotonic(), 0)
                call, request_id = self._queue.get(timeout=timeout)
                held[call] = request_id
            except queue.Empty:
                pass
            now = time.monotonic()
            for call in [call for call in held if now - sent_at.get(call, 0) >= APART_SECONDS]:
                request_id = held.pop(call)
                with self._lock:
                    # From here on an equal call is another one: what it is about may be committed after we were read.
                    self._waiting.discard(call)
                sent_at[call] = now
                with structlog.contextvars.bound_contextvars(request_id=request_id):
                    _send(call)
            if len(sent_at) > 1000:
                sent_at = {call: at for call, at in sent_at.items() if call in held}


_publisher = _Publisher()


def wake(task: str, *args: int | str) -> None:
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
