"""The connection that Django finds by the name of this package."""

from typing import Any

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose cursors on the server end with their transaction.

    Without a transaction Django declares them WITH HOLD, also for the choices of a field, and reads them in others.
    """

    def chunked_cursor(self) -> Any:
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()
