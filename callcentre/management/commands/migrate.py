from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from callcentre.core.upgrades import fault_of_upgrade


class Command(migrate.Command):
    """Django's command, which refuses a database that an unfinished upgrade to 1.0.0 has left."""

    def handle(self, *args: Any, **options: Any) -> None:
        if fault := fault_of_upgrade(connections[options["database"]]):
            raise CommandError(fault)
        super().handle(*args, **options)
