"""Locks that PostgreSQL keeps for a connection: the lock of a process that dies ends with its connection."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

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
        row = own.execute("SELECT pg_try_advisory_lock(%s::int, %s::int)", [space, key]).fetchone()
        try:
            yield bool(row and row[0])
        finally:
            # The server notices the end of a connection a moment later, when this process may want the lock again.
            with suppress(psycopg.Error):
                own.execute("SELECT pg_advisory_unlock_all()")
