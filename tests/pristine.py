"""The return of the database to its state after the migrations, when a test has committed.

Django truncates every table and restores the rows of migrations through the ORM, which takes most of a second. Here
only tables that a test has touched are restored.
"""

import time

from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

# A table with more rows is truncated: that is slower than deleting a few rows, and faster than deleting many.
FEW = 1000


class Pristine:
    def __init__(self) -> None:
        """Remember the database as it is now."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
            self._tables = [f'"{name}"' for (name,) in cursor.fetchall()]
            # Table -> its copy, for tables with rows.
            self._kept = {table: f"pristine.{table}" for table in self._row_counts(self._tables)}
            cursor.execute("CREATE SCHEMA pristine")
            for table, copy in self._kept.items():
                cursor.execute(f"CREATE TABLE {copy} AS TABLE {table}")

    def restore(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            self._lock()
            emptied = [table for table in self._tables if table not in self._kept]
            # Again, because triggers of one table may write to another.
            while counts := self._row_counts(emptied):
                if large := [table for table, count in counts.items() if count > FEW]:
                    cursor.execute(f"TRUNCATE {', '.join(large)} CASCADE")
                for table in counts.keys() - large:
                    cursor.execute(f"DELETE FROM {table}")
            for table, copy in self._kept.items():
                cursor.execute(
                    f"SELECT FROM ((TABLE {table} EXCEPT ALL TABLE {copy}) UNION ALL"
                    f" (TABLE {copy} EXCEPT ALL TABLE {table})) AS differences LIMIT 1"
                )
                if cursor.fetchone() is not None:
                    cursor.execute(f"DELETE FROM {table}")
                    cursor.execute(f"INSERT INTO {table} TABLE {copy}")

    def _lock(self, seconds: float = 60.0) -> None:
        """Wait for a process that still writes for an earlier test.

        Hold no lock meanwhile: the process may need these tables in another order, which would be a deadlock.
        """
        deadline = time.monotonic() + seconds
        while not self._has_locked(last=time.monotonic() > deadline):
            time.sleep(0.01)

    def _has_locked(self, *, last: bool) -> bool:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLE {', '.join(self._tables)} NOWAIT")
        except OperationalError as error:
            if last or not isinstance(error.__cause__, LockNotAvailable):
                raise
            return False
        return True

    @staticmethod
    def _row_counts(tables: list[str]) -> dict[str, int]:
        """Return the number of rows of tables that have any, counted up to FEW + 1."""
        with connection.cursor() as cursor:
            cursor.execute(
                " UNION ALL ".join(
                    f"SELECT '{table}', count(*) FROM (SELECT FROM {table} LIMIT {FEW + 1}) AS few HAVING count(*) > 0"
                    for table in tables
                )
            )
            return dict(cursor.fetchall())
