"""Locks that PostgreSQL keeps for a connection: the lock of a process that dies ends with its connection."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def try_lock(space: int, key: int = 0) -> Iterator[bool]:
    """Try to get a lock, and yield whether it is ours. It is released when the block ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s::int, %s::int)", [space, key])
        (is_ours,) = cursor.fetchone()
    try:
        yield is_ours
    finally:
        if is_ours:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [space, key])
