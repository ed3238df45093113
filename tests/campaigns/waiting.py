"""Transactions in other threads, and those that wait for a lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection, transaction

from tests.processes import wait_for


def waiting_sessions() -> int:
    """Return how many sessions of this database wait for a lock."""
    with connection.cursor() as cursor:
        # In a transaction, PostgreSQL shows the sessions of the first look again and again.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
        return int(cursor.rowcount)


def in_thread(act: Callable[[], object]) -> object:
    """Return the result of a transaction in another thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_apart, transaction.atomic(act)).result(timeout=30)


def while_it_waits(
    act: Callable[[], object], first: Callable[[], object], then: Callable[[], object] = lambda: None
) -> None:
    """In one transaction: do `first`, start `act` in another thread, and do `then` once `act` waits for a lock."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            acting = pool.submit(_apart, act)
            wait_for(waiting_sessions, "the other transaction waits", seconds=30)
            then()
        acting.result(60)


def _apart(act: Callable[[], object]) -> object:
    try:
        return act()
    finally:
        connection.close()
