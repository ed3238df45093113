"""Locks that PostgreSQL keeps for a connection: the lock of a process that dies ends with its connection."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.db import connection

from callcentre.core.direct_connection import connect_directly


def lock_until_commit(*keys: int) -> None:
    """Wait for a lock, by one key or two, and hold it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({', '.join(['%s'] * len(keys))})", keys)


@contextmanager
def try_lock(space: int, key: int = 0) -> Iterator[bool]:
    """Try to get a lock, and yield whether it is ours. It is released when the block ends."""
    with connect_directly("lock") as own:
        is_ours = take(own, space, key)
        try:
            yield is_ours
        finally:
            # The server notices the end of a connection a moment later, when this process may want the lock again.
            if is_ours:
                with suppress(psycopg.Error):
                    release(own, space, key)


def take(own: psycopg.Connection[Any], space: int, key: int = 0) -> bool:
    """Try to get a lock for this connection. Return whether it is ours."""
    row = own.execute("SELECT pg_try_advisory_lock(%s::int, %s::int)", [space, key]).fetchone()
    return bool(row and row[0])


def release(own: psycopg.Connection[Any], space: int, key: int = 0) -> None:
    own.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [space, key])
