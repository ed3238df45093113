"""Building exports, one of a person at a time: from the claim of one to its file."""

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

import structlog
from billiard.exceptions import SoftTimeLimitExceeded
from django.apps import apps
from django.core.files import File
from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from callcentre.core import replica
from callcentre.core.advisory_locks import lock_until_commit
from callcentre.core.due_work import Claim, NotOurs
from callcentre.core.exporting.jobs import FileJob
from callcentre.core.free_space import is_full

logger = logging.getLogger(__name__)

Job = TypeVar("Job", bound=FileJob)

# The exports of all models that are built at one time: a long export stops no other person's.
PLACES = 2
_CHOICE_LOCK = 0x63686F69


class Refused(Exception):
    """The reason why an export cannot be built, as a sentence for the person who asked."""


@dataclass(frozen=True)
class Builder(Generic[Job]):
    """The builder of the exports of a model.

    `write` writes all rows to the file and returns their number; it may raise Refused. `finish` names the file in the
    row; it raises NotOurs if another worker has taken over.
    """

    model: type[Job]
    write: Callable[[Job, IO[bytes]], int]
    finish: Callable[..., None]
    too_long: Any

    def build_next(self) -> bool:
        """Build the next export. Return False if there is none, other workers build, or a volume is full."""
        if is_full() or (claim := self._claim()) is None:
            return False
        claim.report(lambda: {name: getattr(claim.row, name) for name in ("percent", "row_count", "read_at")})
        with structlog.contextvars.bound_contextvars(request_id=claim.row.request_id), claim:
            self._build(claim)
        return True

    def _claim(self) -> Claim[Job] | None:
        """Claim the next export of a person for whom no worker builds, of this or another model."""
        with transaction.atomic():
            # One worker after another: each sees the claims of those before.
            lock_until_commit(_CHOICE_LOCK)
            models = [model for model in apps.get_models() if issubclass(model, FileJob)]
            claimed = {"attempt_count__gt": 0, "next_attempt_at__gt": timezone.now()}
            built = [job for model in models for job in model.objects.waiting().filter(**claimed)]
            due = self.model.objects.due()
            for job in built:
                due = due.exclude(actor_kind=job.actor_kind, actor_id=job.actor_id)
            if len(built) >= PLACES:
                return None
            for pk in due.order_by("attempt_count", "id").values_list("pk", flat=True):
                if claim := self.model.objects.claim(pk, _give_up):
                    return claim
        return None

    def _build(self, claim: Claim[Job]) -> None:
        job = claim.row
        claim.write(state=job.State.RUNNING, started_at=timezone.now(), percent=0, row_count=0)
        job.percent = job.row_count = 0
        try:
            with translation.override(job.language), tempfile.NamedTemporaryFile() as output:
                job.row_count = self.write(job, output)
                self._keep(claim, output)
        except NotOurs:
            raise
        except (OperationalError, InterfaceError) as error:
            # The database went away, or ends this connection: the next builder starts again.
            logger.warning("export interrupted", extra={"export": job.pk, "error": repr(error)})
            claim.release()
        except Refused as refusal:
            _fail(claim, refusal.args[0])
        except SoftTimeLimitExceeded:
            _fail(claim, self.too_long)
        except Exception:
            logger.exception("export failed", extra={"export": job.pk})
            _fail(claim, _("The service failed; its log has the cause."))

    def _keep(self, claim: Claim[Job], output: IO[bytes]) -> None:
        """Store the file, then name it in the row. The next attempt removes a file that was stored without a row.

        If the connection is lost, the row may have been written: only NotOurs tells that no row will name the file.
        """
        job, size = claim.row, output.seek(0, 2)
        output.seek(0)
        storage = job.file.storage
        job.forget_files()
        name = storage.save(job.name_of_file(job.attempt_count), File(output))
        now, values = timezone.now(), {"file": name, "file_size": size, "row_count": job.row_count, "message": ""}
        try:
            self.finish(claim, state=job.State.FINISHED, percent=100, finished_at=now, read_at=job.read_at, **values)
        except NotOurs:
            storage.delete(name)
            raise


def _fail(claim: Claim[Any], message: Any) -> None:
    """Mark the export as failed, unless it is finished: the interruption may have come during the last statement.

    A new connection waits for the end of that statement.
    """
    connection.close()
    with translation.override(claim.row.language):
        claim.fail(message, is_final=True)
    claim.row.forget_files()


def _give_up(claim: Claim[Any]) -> None:
    claim.fail()
    claim.row.forget_files()


def written_once(job: FileJob, output: IO[bytes], write: Callable[[IO[bytes], datetime], int]) -> int:
    """Write the rows by this function, as of an instant after the request. A failing replica begins the file anew."""

    def write_anew(as_of: datetime) -> int:
        with Path(output.name).open("wb") as begun:
            return write(begun, as_of)

    return replica.read(write_anew, since=job.created_at)


class Progress:
    """The progress of an export, which its claim writes about once a second."""

    def __init__(self, job: FileJob, read_at: datetime) -> None:
        self._job = job
        job.read_at = read_at

    def tell(self, share: float, rows: int) -> None:
        """Note that this share of the work is done: 99 until the file is stored."""
        self._job.percent, self._job.row_count = int(99 * min(share, 1)), rows
