"""Prometheus metrics of this process: requests and queries. `/metrics` adds what the stores know."""

import contextvars
import time
from collections.abc import Callable
from typing import Any

from django.db.backends.signals import connection_created
from prometheus_client import Counter, Histogram

requests = Histogram(
    "callcentre_request_seconds",
    "Time from the first middleware to the last",
    ["method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
queries = Counter("callcentre_queries", "Statements sent to the database")
query_seconds = Counter("callcentre_query_seconds", "Time spent waiting for the database")


class QueryCount:
    """Statements of one request."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0


_current: contextvars.ContextVar[QueryCount | None] = contextvars.ContextVar("queries", default=None)


def start_counting_queries() -> QueryCount:
    count = QueryCount()
    _current.set(count)
    return count


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


connection_created.connect(_watch, dispatch_uid="callcentre.metrics")


def observe_request(method: str, route: str, status: int, seconds: float, count: QueryCount) -> None:
    requests.labels(method, route, str(status)).observe(seconds)
    if count.count:
        queries.inc(count.count)
        query_seconds.inc(count.seconds)
