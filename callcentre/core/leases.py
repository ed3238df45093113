"""The lease of a worker on a row that was due, renewed by a thread as long as the worker lives.

So the lease is short, however long the work lasts: the row of a worker that was killed is due again a minute later.
"""

import threading
from datetime import datetime, timedelta
from typing import Any, Self

from django.db import Error, connection
from django.db.models import QuerySet
from django.utils import timezone

LEASE = timedelta(minutes=1)
RENEW_SECONDS = 15.0


class Lease:
    """A claim on one row, whose `next_attempt_at` is the end of the lease. Another time there means that it is lost."""

    def __init__(self, row: "QuerySet[Any]") -> None:
        self._row = row
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self.until: datetime | None = None

    def extend(self, rows: "QuerySet[Any]", **values: Any) -> bool:
        """Acquire or extend the lease of the row, if it is among these, and write the values. Return whether it was."""
        with self._lock:
            until = timezone.now() + LEASE
            ours = rows.filter(next_attempt_at=self.until) if self.until else rows
            if not ours.update(next_attempt_at=until, **values):
                return False
            self.until = until
            return True

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _renew(self) -> None:
        is_ours = True
        while is_ours and not self._ended.wait(RENEW_SECONDS):
            try:
                is_ours = self.extend(self._row)
            except Error:
                # The next turn is before the end of the lease.
                pass
            finally:
                connection.close()
