"""Settings of PostgreSQL for one transaction. A setting of a session would stay with others behind a pooler."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.signals import connection_created
from psycopg.pq import TransactionStatus

_BEGINNING = re.compile(r"\A\s*(?:INSERT|UPDATE|DELETE|WITH)\b")
_CHANGE = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM)\b")


def is_write(sql: Any) -> bool:
    return isinstance(sql, str) and bool(_BEGINNING.match(sql) and _CHANGE.search(sql))


def transaction_around(connection: Any) -> AbstractContextManager[Any]:
    """Return a transaction for one statement, unless one is open."""
    return connection.connection.transaction() if connection.get_autocommit() else nullcontext()


def limit_lock_waits(seconds: int) -> None:
    """Let no statement of this process wait longer for a row that another transaction holds.

    PostgreSQL itself gets the limit with each new connection. A pooler refuses such options, so each transaction that
    goes through one begins with the limit, in one more round trip, and a write outside a transaction gets one.
    """
    if settings.DIRECT_DATABASE is None:
        for parameters in connections.settings.values():
            given = parameters["OPTIONS"].get("options", "")
            parameters["OPTIONS"]["options"] = f"-c lock_timeout={seconds}s {given}".strip()
        return
    limit = f"SET LOCAL lock_timeout = '{seconds}s'".encode()

    def within_limit(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        connection = context["connection"]
        is_alone = connection.get_autocommit()
        if not (is_write(sql) if is_alone else _begins(connection)):
            return execute(sql, params, many, context)
        with connection.wrap_database_errors, transaction_around(connection):
            connection.connection.execute(limit)
            return execute(sql, params, many, context)

    def watch(connection: Any, **kwargs: Any) -> None:
        if within_limit not in connection.execute_wrappers:
            connection.execute_wrappers.append(within_limit)

    connection_created.connect(watch, weak=False, dispatch_uid="callcentre.core.transactions")


def _begins(connection: Any) -> bool:
    """Return whether the next statement is the first one of its transaction."""
    return bool(connection.connection.info.transaction_status == TransactionStatus.IDLE)
