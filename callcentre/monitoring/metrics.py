"""Prometheus metrics of this process: requests, queries, tasks. `/metrics` adds the figures of the stores.

Imported by the settings, before other modules create metrics: if PROMETHEUS_MULTIPROC_DIR is set, the processes keep
their values in files of that folder, and `/metrics` of each web process shows the sums.
"""

import contextvars
import itertools
import os
import time
from collections.abc import Callable
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from celery.exceptions import TimeLimitExceeded, WorkerLostError
from django.db.backends.signals import connection_created
from prometheus_client import Counter, Histogram, values


class _Place:
    """The place of this process among those that share the folder: the first that no living process has.

    A process locks the file of its place until it ends, and continues the counts of the one that had it before. With
    files named by process id, each restart would leave some, and each scrape would read them.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._pid = 0
        self._lock: IO[bytes] | None = None

    def name(self) -> str:
        """Return the name for the files of this process. A forked process gets a place of its own."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            for self._name in map(str, itertools.count()):
                self._lock = (self._folder / f"{self._name}.lock").open("ab")
                with suppress(BlockingIOError):
                    flock(self._lock, LOCK_EX | LOCK_NB)
                    break
        return self._name


if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    Path(folder).mkdir(parents=True, exist_ok=True)
    values.ValueClass = values.MultiProcessValue(_Place(folder).name)  # type: ignore[no-untyped-call]

requests = Histogram(
    "callcentre_request_seconds",
    "Time from the first middleware to the last",
    ["method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
queries = Counter("callcentre_queries", "Statements sent to the database")
query_seconds = Counter("callcentre_query_seconds", "Time spent waiting for the database")
task_seconds = Histogram(
    "callcentre_task_seconds",
    "Time that a task ran; LOST: its process died or it ran out of time",
    ["task", "outcome"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600),
)
task_wait_seconds = Histogram(
    "callcentre_task_wait_seconds",
    "Time from the publication of a task to its start",
    ["task"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600),
)


# The key of request.META for the counter of statements.
QUERIES = "callcentre.queries"
METHODS = frozenset(("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"))


class QueryCount:
    """The number and time of the statements of one request."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0


_current: contextvars.ContextVar[QueryCount | None] = contextvars.ContextVar("queries", default=None)


def count_queries(count: QueryCount) -> None:
    """Count the statements of this thread in this counter from now on."""
    _current.set(count)


def _count_query(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    started = time.perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        if (current := _current.get()) is not None:
            current.count += 1
            current.seconds += time.perf_counter() - started


def _watch(connection: Any, **kwargs: Any) -> None:
    if _count_query not in connection.execute_wrappers:
        connection.execute_wrappers.append(_count_query)


connection_created.connect(_watch, dispatch_uid="callcentre.monitoring.metrics")


_series = lru_cache(maxsize=2048)(requests.labels)


def observe_request(method: str, route: str, status: int, seconds: float, count: QueryCount) -> None:
    # Methods that clients invent would each create a series per route and status.
    _series(method if method in METHODS else "other", route, str(status)).observe(seconds)
    if count.count:
        queries.inc(count.count)
        query_seconds.inc(count.seconds)


def observe_task_start(task: Any) -> None:
    task.request.started_at = time.perf_counter()
    if published_at := getattr(task.request, "published_at", None):
        # The clocks of two machines may differ: a negative time counts as 0.
        task_wait_seconds.labels(task.name).observe(max(time.time() - published_at, 0))


def observe_task_end(task: Any, outcome: str) -> None:
    started_at = getattr(task.request, "started_at", None)
    if started_at is not None:
        task_seconds.labels(task.name, outcome).observe(time.perf_counter() - started_at)


def observe_task_loss(task: Any, error: BaseException | None) -> None:
    """Count a task whose pool process died or was killed; called in the worker's main process."""
    if isinstance(error, WorkerLostError | TimeLimitExceeded):
        task_seconds.labels(task.name, "LOST").observe(0)
