"""The refusal of databases that have only a part of the migrations before 1.0.0, which 1.0.0 replaced by one an app."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


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


class Command(migrate.Command):
    """Django's command, which refuses a database that an unfinished upgrade to 1.0.0 has left."""

    def handle(self, *args: Any, **options: Any) -> None:
        if fault := fault_of_upgrade(connections[options["database"]]):
            raise CommandError(fault)
        super().handle(*args, **options)
