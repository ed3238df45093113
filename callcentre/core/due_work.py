"""Due work: rows that a worker takes when their time has come, until the work succeeds or is given up.

A row is due at `next_attempt_at`. A claim moves that a minute ahead, and a thread moves it on while the worker works:
the row of a killed worker is due again within a minute. The end of the lease also identifies the claim. If the row has
another time, another worker or a person has taken it over, and this worker writes nothing more.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, ClassVar, Generic, Self, TypeVar

from django.apps import apps
from django.db import Error, connection, models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.enqueue import enqueue
from callcentre.core.sweeps import going_on

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=1)
RENEW_SECONDS = 15.0
# The time between two renewals that write the progress of the work.
PROGRESS_SECONDS = 1.0
# Rows of a model that one sweep enqueues.
BATCH = 50
DIED = "the worker died at every attempt"


class Retries:
    """The table of delays between attempts. The first attempt is made at once, the last one after the last delay."""

    @staticmethod
    def _after(*minutes: float) -> tuple[timedelta, ...]:
        return tuple(timedelta(minutes=each) for each in minutes)

    # An event for a receiver that is down for a day.
    EVENT = _after(1 / 12, 5, 30, 120, 300, 600, 600)
    # A mail server that is down on a Saturday gets the mail to a customer on Monday.
    MESSAGE = _after(1, 5, 15, 60, 240, 720, 1440, 1440)
    # A mail server that is down in the night gets the report until noon.
    REPORT = _after(1, 5, 15, 60, 240, 480)
    # Afterwards the mail of an alarm is no help any more, and a person who waits for a password asks again.
    ALARM = _after(1, 2, 5, 15, 30)
    PASSWORD = _after(1, 2, 5, 15)
    # A switch that restarts, or is down for a night.
    RECORDING = _after(1 / 12, 1 / 2, 2, 10, 60, 360)
    TRANSCRIPTION = _after(1 / 6, 1, 5, 30)
    DELETION = _after(1, 1, 1, 1)
    # Imports, exports, actions on lists: only a worker or a database that ended is a reason to start again.
    JOB = _after(0, 0, 0, 0)


class NotOurs(Exception):
    """The row belongs to another worker, or a person has changed it: the claim is lost."""


class DueQuerySet(models.QuerySet[Any]):
    def due(self) -> Self:
        """Return the rows that a worker may claim."""
        return self.filter(self.model.waits, next_attempt_at__lte=timezone.now())

    def claim(self, pk: Any, give_up: "Callable[[Claim[Any]], object] | None" = None) -> "Claim[Any] | None":
        """Claim a row for one attempt. Return None if it is not due, or another worker is at it.

        A row that ended its worker at every attempt is given up instead.
        """
        rows = self.due().select_for_update(skip_locked=True, no_key=True, of=("self",))
        with transaction.atomic():
            row = rows.filter(pk=pk).first()
            if row is None:
                return None
            is_over = row.attempt_count > len(row.delays)
            row.attempt_count += not is_over
            row.next_attempt_at = timezone.now() + LEASE
            values = {"attempt_count": row.attempt_count, "next_attempt_at": row.next_attempt_at}
            self.model._base_manager.filter(pk=pk).update(**values)
        claim = Claim(row)
        if not is_over:
            return claim
        with claim:
            (give_up or Claim.fail)(claim)
        return None

    def enqueue_due(self, most: int = BATCH) -> None:
        """Enqueue rows that are due, the longest due first."""
        for pk in self.due().order_by("next_attempt_at").values_list("pk", flat=True)[:most]:
            enqueue(self.model.task, pk)


class DueWork(models.Model):
    """A row of due work. `next_attempt_at` is when a worker may take it; NULL: never again."""

    # The condition of rows that are not done yet.
    waits: ClassVar[Q] = Q(state="queued")
    delays: ClassVar[Sequence[timedelta]]
    # The task that works on one row, by its primary key; "" if the sweep leaves the rows alone.
    task: ClassVar[str] = ""

    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True)

    class Meta:
        abstract = True

    def failed(self, error: str) -> dict[str, Any]:
        """Return the column of the reason of a failure, if there is one."""
        return {field.name: error[: field.max_length] for field in self._meta.fields if field.name == "error"}

    def given_up(self, error: str) -> dict[str, Any]:
        """Return the columns of a row for which no attempt follows. Without an error, each worker died."""
        return {"state": "failed", **self.failed(error or DIED)}


Row = TypeVar("Row", bound=DueWork)


class Claim(Generic[Row]):
    """The claim of a worker on a row, renewed as long as its block lasts. A block that lost the row ends silently."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self._until = row.next_attempt_at
        self._progress: Callable[[], dict[str, Any]] = dict
        self._seconds = RENEW_SECONDS
        # The statements by which this worker names its lease wait for a renewal, which changes the name.
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew_regularly, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self._ended.set()
        self._thread.join()
        if not isinstance(error, NotOurs):
            return False
        logger.warning("due work was taken over", extra=self._named)
        return True

    @property
    def is_last(self) -> bool:
        return self.row.attempt_count > len(self.row.delays)

    def report(self, progress: Callable[[], dict[str, Any]]) -> None:
        """Write these columns with each renewal. They are visible although a transaction of the work is open."""
        self._progress, self._seconds = progress, PROGRESS_SECONDS

    def check(self) -> None:
        """Raise NotOurs if the claim is lost."""
        with self._lock:
            if not self._ours().exists():
                raise NotOurs

    def lock(self) -> None:
        """Lock the row for the transaction of the caller. Raise NotOurs."""
        with self._lock:
            if self._ours().select_for_update(no_key=True).values_list("pk").first() is None:
                raise NotOurs

    def write(self, **values: Any) -> None:
        """Write to the row. Raise NotOurs."""
        with self._lock:
            if not self._ours().update(**values):
                raise NotOurs

    def finish(self, **values: Any) -> None:
        """Write to the row that no attempt follows. Raise NotOurs."""
        self.write(next_attempt_at=None, **values)

    def put_off(self, pause: timedelta = timedelta(), **values: Any) -> None:
        """Write to the row that another attempt follows after a pause. Raise NotOurs."""
        self.write(next_attempt_at=timezone.now() + pause, **values)

    def fail(self, error: object = "", *, is_final: bool = False, retry_after: timedelta = timedelta()) -> None:
        """Store why the attempt failed. Another one follows, unless this was the last. Raise NotOurs."""
        said = str(error).replace("\0", "") or (type(error).__name__ if isinstance(error, Exception) else "")
        is_over = is_final or self.is_last
        details = {**self._named, "error": said or DIED}
        logger.log(logging.ERROR if self.is_last else logging.WARNING, "attempt failed", extra=details)
        if is_over:
            self.finish(**self.row.given_up(said))
        else:
            self.put_off(max(self.row.delays[self.row.attempt_count - 1], retry_after), **self.row.failed(said))

    def release(self) -> None:
        """Let the next worker begin at once, after an error of the database: if it answers again."""
        if not connection.is_usable():
            connection.close()
        with suppress(Error, NotOurs):
            self.put_off()

    @property
    def _named(self) -> dict[str, Any]:
        return {"model": self.row._meta.label, "row": self.row.pk, "attempt": self.row.attempt_count}

    def _ours(self) -> models.QuerySet[Row]:
        return type(self.row)._base_manager.filter(pk=self.row.pk, next_attempt_at=self._until)

    def _renew_regularly(self) -> None:
        try:
            while not self._ended.wait(self._seconds):
                try:
                    self._renew()
                except Error as error:
                    # The next turn is before the end of the lease.
                    logger.warning("lease not renewed", extra={**self._named, "error": repr(error)})
                    connection.close()
        finally:
            connection.close()

    def _renew(self) -> None:
        """Move the end of the lease. A row that a transaction of the work has locked is left for the next time."""
        until = timezone.now() + LEASE
        with self._lock:
            with transaction.atomic():
                locked = self._ours().select_for_update(no_key=True, skip_locked=True).values_list("pk").first()
                if locked:
                    self._ours().update(next_attempt_at=until, **self._progress())
            if locked:
                self._until = until


def sweep() -> None:
    """Enqueue the rows of all models that are due again, and those whose message was lost."""
    for model in apps.get_models():
        if issubclass(model, DueWork) and model.task:
            with going_on("due work could not be enqueued", model=model._meta.label):
                rows: Any = model._default_manager
                rows.enqueue_due()
