"""Django's `migrate`, which waits for no lock for long, and refuses databases with a part of what is before 1.0.0.

A statement that waits for the lock of a table makes all later requests for the table wait behind it.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import LockNotAvailable

LOCK_SECONDS = 3
_LIMIT = f"SET lock_timeout = '{LOCK_SECONDS}s'"
_LOCKED = (
    f"A migration waited {LOCK_SECONDS} s for a lock that another transaction holds, and was undone, so that no request"
    " waits behind it. Repeat `migrate`, which goes on with this migration; pg_stat_activity shows long transactions."
)


def fault_of_upgrade(connection: BaseDatabaseWrapper) -> str:
    """Return why the database cannot be migrated; "" if it can."""
    recorded = set(MigrationRecorder(connection).applied_migrations())
    partly = [
        key[0]
        for key, migration in (MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}).items()
        if (replaced := set(migration.replaces)) and not replaced <= recorded and recorded & {key, *replaced}
    ]
    if not partly:
        return ""
    return (
        f"The database is older than 0.1.0, the last version before 1.0.0 (apps: {', '.join(sorted(partly))}): "
        "install 0.1.0, run its `migrate`, then install this version again."
    )


def _wait_for_index(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    """Let the build of an index wait for all older transactions: meanwhile it stops no other."""
    if "CONCURRENTLY" not in str(sql):
        return execute(sql, params, many, context)
    own = context["connection"].connection
    own.execute("SET lock_timeout = 0")
    try:
        return execute(sql, params, many, context)
    finally:
        own.execute(_LIMIT)


class Command(migrate.Command):
    """The command, on a connection without a pooler, which would give its settings to others."""

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if settings.DIRECT_DATABASE is not None:
            connection.close()
            connection.settings_dict.update(settings.DIRECT_DATABASE)
        if fault := fault_of_upgrade(connection):
            raise CommandError(fault)
        with connection.cursor() as cursor:
            cursor.execute(_LIMIT)
        try:
            with connection.execute_wrapper(_wait_for_index):
                super().handle(*args, **options)
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise CommandError(_LOCKED) from error
            raise
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
