"""Registries of the figures in /metrics and of the checks of /health/….

An app's module `monitoring` registers its own; the web processes import these modules at their start.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from prometheus_client.core import GaugeMetricFamily, Metric

Figures = Callable[[], Iterable[Metric]]

# Functions that read figures from the database, in the order of registration.
database_figures: list[Figures] = []
# Path after /health/ -> a check that raises NotReadyError.
probes: dict[str, Callable[[], None]] = {}
_shared: ContextVar[psycopg.Connection[tuple[Any, ...]] | None] = ContextVar("shared", default=None)


class NotReadyError(Exception):
    """A failed check, with a text that operators and strangers may read."""


def _connect(alias: str = DEFAULT_DB_ALIAS) -> psycopg.Connection[tuple[Any, ...]]:
    limits: dict[str, Any] = {"connect_timeout": 2, "tcp_user_timeout": 2000, "application_name": "callcentre health"}
    return psycopg.connect(**{**connections[alias].get_connection_params(), **limits})


@contextmanager
def one_connection() -> Iterator[None]:
    """Let the queries of the block share a connection: a scrape has twenty."""
    with _connect() as own:
        token = _shared.set(own)
        try:
            yield
        finally:
            _shared.reset(token)


def query(sql: str, values: Sequence[object] | None = None, *, alias: str = DEFAULT_DB_ALIAS) -> list[tuple[Any, ...]]:
    """Run the statement on a new connection, since the connection of the request may hang."""
    shared = _shared.get() if alias == DEFAULT_DB_ALIAS else None
    with nullcontext(shared) if shared else _connect(alias) as own, own.transaction(), own.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 2000")
        cursor.execute(sql.encode(), values)
        return list(cursor.fetchall())


def gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
