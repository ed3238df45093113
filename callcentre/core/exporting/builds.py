"""Building exports, one of a person at a time: from the claim of one to its file.

A builder holds an advisory lock of one of two places, and one of the person who asked: a long export stops no other
person's. PostgreSQL releases both when the connection of the builder ends. An
export that is running while the lock of its person is free has lost its builder, and the next builder starts it again.
While one connection reads in its snapshot, a second one writes the progress.
"""

import logging
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, Generic, TypeVar, cast

import structlog
from billiard.exceptions import SoftTimeLimitExceeded
from django.core.files import File
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Min
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from callcentre.core.direct_connection import connect_directly
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.exporting.jobs import MAX_ATTEMPTS, FileJob, lock_key
from callcentre.core.free_space import is_full

logger = logging.getLogger(__name__)

# The time between two writes of the progress.
PROGRESS_SECONDS = 1.0
Job = TypeVar("Job", bound=FileJob)

# The exports of all models that are built at one time.
PLACES = 2
_PLACE_LOCK, _PERSON_LOCK = 0x706C6163, 0x70657273
_PROGRESS = """
UPDATE {table} SET percent = %s, row_count = %s, read_at = %s
WHERE id = %s AND attempts = %s AND state = 'running' RETURNING id
"""


class Refused(Exception):
    """The reason why an export cannot be built, as a sentence for the person who asked."""


class Desk:
    """A second connection: it holds the lock, and what it writes is visible at once."""

    def __init__(self) -> None:
        self._own = connect_directly("export")

    def execute(self, statement: str, parameters: list[Any]) -> tuple[Any, ...] | None:
        with connection.wrap_database_errors:
            return self._own.execute(statement, parameters).fetchone()

    def lock(self, space: int, key: int) -> bool:
        """Try to get a lock, which lasts until the desk is closed."""
        locked = self.execute("SELECT pg_try_advisory_lock(%s::int, %s::int)", [space, key])
        return bool(locked and locked[0])

    def unlock(self, space: int, key: int) -> None:
        self.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [space, key])

    def close(self) -> None:
        self._own.close()


@dataclass(frozen=True)
class Builder(Generic[Job]):
    """The builder of the exports of a model.

    `write` writes all rows to the file and returns their number; it may raise Refused. `finish` names the file in the
    row; it raises Conflict if another worker has taken over.
    """

    model: type[Job]
    write: Callable[[Job, IO[bytes], Desk], int]
    finish: Callable[..., None]
    too_long: Any

    def build_next(self) -> bool:
        """Build the next export. Return False if there is none, other workers build, or a volume is full."""
        if is_full():
            return False
        with closing(Desk()) as desk:
            if not any(desk.lock(_PLACE_LOCK, place) for place in range(PLACES)) or (job := self._claim(desk)) is None:
                return False
            with structlog.contextvars.bound_contextvars(request_id=job.request_id):
                self._build(job, desk)
        return True

    def _claim(self, desk: Desk) -> Job | None:
        """Claim the next export of a person for whom no worker builds, of this or another model."""
        waiting = self.model.objects.waiting()
        people = waiting.values_list("actor_kind", "actor_id").annotate(tries=Min("attempts"), first=Min("id"))
        for kind, pk, _tries, _first in people.order_by("tries", "first"):
            if not desk.lock(_PERSON_LOCK, lock_key(kind, pk)):
                continue
            for job in waiting.filter(actor_kind=kind, actor_id=pk).order_by("attempts", "id"):
                if job.attempts < MAX_ATTEMPTS:
                    return _started(cast("Job", job))
                # No worker builds it: it ended all of them.
                logger.error("export given up", extra={"export": job.pk})
                _fail(job, _("The export was started %s times and ended early each time.") % MAX_ATTEMPTS)
            desk.unlock(_PERSON_LOCK, lock_key(kind, pk))
        return None

    def _build(self, job: Job, desk: Desk) -> None:
        try:
            with translation.override(job.language), tempfile.NamedTemporaryFile() as output:
                rows = self.write(job, output, desk)
                self._keep(job, output, rows)
        except (OperationalError, InterfaceError) as error:
            # The database went away, or ends this connection: the next builder starts again.
            logger.warning("export interrupted", extra={"export": job.pk, "error": repr(error)})
        except Conflict:
            logger.warning("export taken over by another worker", extra={"export": job.pk})
        except Refused as refusal:
            _fail(job, refusal.args[0])
        except SoftTimeLimitExceeded:
            _fail(job, self.too_long)
        except Exception:
            logger.exception("export failed", extra={"export": job.pk})
            _fail(job, _("The service failed; its log has the cause."))

    def _keep(self, job: Job, output: IO[bytes], rows: int) -> None:
        """Store the file, then name it in the row. The next attempt removes a file that was stored without a row.

        If the connection is lost, the row may have been written: only a Conflict tells that no row will name the file.
        """
        size = output.seek(0, 2)
        output.seek(0)
        storage = job.file.storage
        job.forget_files()
        name = storage.save(job.name_of_file(job.attempts), File(output))
        try:
            self.finish(job, job.attempts, file=name, file_size=size, row_count=rows)
        except Conflict:
            storage.delete(name)
            raise


def _started(job: Job) -> Job:
    job.state, job.attempts, job.started_at, job.percent, job.row_count = (
        job.State.RUNNING,
        job.attempts + 1,
        timezone.now(),
        0,
        0,
    )
    job.save(update_fields=["state", "attempts", "started_at", "percent", "row_count"])
    return job


def _fail(job: FileJob, message: Any) -> None:
    """Mark the export as failed, unless it is finished: the interruption may have come during the last statement.

    A new connection waits for the end of that statement.
    """
    connection.close()
    with translation.override(job.language):
        if job.fail(job.attempts, message):
            job.forget_files()


class Progress:
    """The progress of an export, written about once a second and at the end of its rows."""

    def __init__(self, job: FileJob, desk: Desk, read_at: datetime) -> None:
        self._job, self._desk, self._read_at = job, desk, read_at
        self._written_at = time.monotonic()

    def tell(self, share: float, rows: int) -> None:
        """Write that this share of the work is done, unless the last time was a moment ago."""
        if time.monotonic() - self._written_at >= PROGRESS_SECONDS:
            self._written_at = time.monotonic()
            self.write(int(99 * min(share, 1)), rows)

    def write(self, percent: int, rows: int) -> None:
        """Write the progress: 99 until the file is stored. Raises Conflict if another worker has taken over."""
        statement = _PROGRESS.format(table=self._job._meta.db_table)
        given = [percent, rows, self._read_at, self._job.pk, self._job.attempts]
        if self._desk.execute(statement, given) is None:
            raise Conflict(ErrorCode.CONFLICT)
