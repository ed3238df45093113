"""The return of the database to its state after the migrations, when a test has committed.

Django truncates every table and restores the rows of migrations through the ORM, which takes most of a second. Here
only tables that a test has touched are restored, through a connection that stays open: a new one reads the catalogue
again, which takes ten times as long as the restoring.
"""

import time
from typing import Any

import psycopg
from django.db import connections
from psycopg.errors import InsufficientPrivilege, LockNotAvailable

# A table with more rows is truncated: that is slower than deleting a few rows, and faster than deleting many.
FEW = 1000


class Pristine:
    def __init__(self) -> None:
        """Remember the default database as it is now."""
        self._parameters = _parameters()
        self._connect()
        rows = self._server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
        self._tables = [f'"{name}"' for (name,) in rows]
        # Table -> its copy, for tables with rows.
        self._kept = {table: f"pristine.{table}" for table in self._row_counts(self._tables)}
        self._server.execute("CREATE SCHEMA pristine")
        for table, copy in self._kept.items():
            self._server.execute(f"CREATE TABLE {copy} AS TABLE {table}")
        self._marks = self._current_marks()

    def _connect(self) -> None:
        self._server = psycopg.connect(**self._parameters, autocommit=True, prepare_threshold=0)
        # All tables are restored, so no trigger is needed, and no check of references. A server that is given may
        # not permit this.
        try:
            self._server.execute("SET session_replication_role = replica")
            self._has_triggers = False
        except InsufficientPrivilege:
            self._has_triggers = True

    def close(self) -> None:
        self._server.close()

    def restore(self) -> None:
        try:
            self._restore()
        except psycopg.OperationalError:
            if not self._server.closed:
                raise
            # A test has ended all connections of the database, or the server.
            self._connect()
            self._restore()

    def _restore(self) -> None:
        with self._server.transaction():
            self._lock()
            emptied = [table for table in self._tables if table not in self._kept]
            # Again, because triggers of one table may write to another.
            while counts := self._row_counts(emptied):
                if large := [table for table, count in counts.items() if count > FEW]:
                    self._server.execute(f"TRUNCATE {', '.join(large)} CASCADE")
                for table in counts.keys() - large:
                    self._server.execute(f"DELETE FROM {table}")
                if not self._has_triggers:
                    break
            touched = [table for table, mark in self._current_marks().items() if mark != self._marks[table]]
            for table in touched:
                self._server.execute(f"DELETE FROM {table}")
                self._server.execute(f"INSERT INTO {table} TABLE {self._kept[table]}")
            if touched:
                self._marks = self._current_marks()

    def _current_marks(self) -> dict[str, tuple[int, int]]:
        """Return table -> count and newest transaction of its rows: each write changes one of them."""
        marks = " UNION ALL ".join(
            f"SELECT '{table}', count(*), max(xmin::text::bigint) FROM {table}" for table in self._kept
        )
        return {table: (count, newest) for table, count, newest in self._server.execute(marks).fetchall()}

    def _lock(self, seconds: float = 60.0) -> None:
        """Wait for a process that still writes for an earlier test.

        Hold no lock meanwhile: the process may need these tables in another order, which would be a deadlock.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                with self._server.transaction():
                    self._server.execute(f"LOCK TABLE {', '.join(self._tables)} NOWAIT")
            except LockNotAvailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _row_counts(self, tables: list[str]) -> dict[str, int]:
        """Return the number of rows of tables that have any, counted up to FEW + 1."""
        counts = " UNION ALL ".join(
            f"SELECT '{table}', count(*) FROM (SELECT FROM {table} LIMIT {FEW + 1}) AS few HAVING count(*) > 0"
            for table in tables
        )
        return dict(self._server.execute(counts).fetchall())


def _parameters() -> dict[str, Any]:
    """Return what the default connection connects with."""
    given = connections["default"].get_connection_params()
    return {name: given[name] for name in ("dbname", "host", "port", "user", "password") if name in given}
