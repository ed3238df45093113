"""The run of one import: lease, progress, transaction, error file."""

import logging
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from django.core.files import File
from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils.translation import gettext_lazy as _

from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.sender import acting
from callcentre.core.spreadsheets import CsvWriter, as_entered
from campaigns.importing.columns import check_choices
from campaigns.importing.do_not_call_file import DoNotCallFile
from campaigns.importing.formats import Format, showable
from campaigns.importing.merge import Merge, Progress, Refusal, Totals
from campaigns.importing.row_reader import RowReader
from campaigns.importing.rows import Rows, Torn
from campaigns.models import RecordImport
from campaigns.models.imports import LEASE
from campaigns.models.rules import CampaignFacts
from campaigns.verbs.imports import fail_import, finish_import
from campaigns.verbs.recycling import copy_records

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

logger = logging.getLogger(__name__)

_RENEWAL_SECONDS = 1.0
# The key of our advisory lock; no other lock uses the number.
_IMPORT_LOCK = 7_302


class Interrupted(Exception):
    """The import was interrupted and added nothing; the sweep starts it again."""


def load(campaign: CampaignFacts, given: RecordImport, file: BinaryIO, progress: Progress) -> tuple[Totals, Merge]:
    """Read the file and merge it, in the transaction of the caller. Raises Invalid for a file that cannot be read."""
    columns = columns_of(given)
    if faults := check_choices(columns, given.region, campaign):
        raise Invalid(faults)
    progress.size = given.file_size
    is_skipping = given.duplicates == RecordImport.Duplicates.SKIP
    merge = Merge(campaign, given.actor, is_skipping=is_skipping, progress=progress)
    with Rows(file, format_of(given)) as rows:
        reader = RowReader(campaign, columns, rows, given.region, refuses_invalid=given.refuses_invalid)
        merge.stage(rows, reader)
    return merge.merge(), merge


def format_of(given: RecordImport) -> Format:
    return Format(given.encoding, given.delimiter, given.has_header)


def columns_of(given: RecordImport) -> dict[int, str]:
    return {int(position): target for position, target in given.columns.items() if target}


def write_errors(
    given: RecordImport, file: BinaryIO, merge: Merge | DoNotCallFile, output: "SupportsWrite[str]"
) -> None:
    """Write the refused rows as they were, after their line and the reason, so that people can correct and import them.

    The file is read a second time; so the first pass need not store any row.
    """
    writer = CsvWriter(output, delimiter=given.delimiter, line_end="\r\n")
    with merge.refusals() as refusals, Rows(file, format_of(given)) as rows:
        if given.has_header:
            writer.write([["line", "error", *map(showable, rows.header)]])
        refusal: Refusal | None = next(refusals, None)
        for line, cells in rows:
            if refusal is None:
                break
            if line == refusal.line:
                original = cells.cells if isinstance(cells, Torn) else cells
                # Without the apostrophe of an export: the writer adds it again.
                writer.write([[line, refusal.message, *(as_entered(showable(cell)) for cell in original)]])
                refusal = next(refusals, None)


def run(
    pk: int,
    source: BinaryIO | None = None,
    errors: Path | None = None,
    progress: Progress | None = None,
) -> RecordImport | None:
    """Run the import and return it; return None if it is not queued or another worker runs it.

    `source` replaces the stored file, `errors` the stored file of refused rows. Raises Interrupted if the connection
    to the database was lost or another transaction had to go first.
    """
    progress = progress or Progress()
    with _Lease(pk, progress) as lease:
        try:
            # The claim has a connection of its own, so it is visible before the records are.
            with transaction.atomic():
                if not _is_alone(pk) or not lease.claim():
                    return None
                given = RecordImport.objects.select_related("campaign").get(pk=pk)
                _import(given, lease, source, errors, progress)
        except (OperationalError, InterfaceError) as error:
            logger.warning("import interrupted", extra={"record_import": pk, "error": repr(error)})
            lease.expire()
            raise Interrupted from error
        except Invalid as error:
            _failed(pk, lease, " ".join(error.messages))
        except Conflict:
            logger.warning("import taken over by another worker", extra={"record_import": pk})
        except Exception:
            logger.exception("import failed", extra={"record_import": pk})
            _failed(pk, lease, _("The service failed; its log has the cause."))
        except BaseException:
            _failed(pk, lease, _("The import was stopped."))
            raise
    return RecordImport.objects.select_related("campaign").get(pk=pk)


def _import(
    given: RecordImport, lease: "_Lease", source: BinaryIO | None, errors: Path | None, progress: Progress
) -> None:
    lease.renew()
    if given.recycled is not None:
        with acting(given.actor, given.actor_address, is_bulk=True):
            added = copy_records(given)
        lease.stop()
        finish_import(given, lease.attempt, {"added_count": added})
        return
    with _opened(given, source) as file:
        # Records name the import in their histories. The upload of a list of numbers is in the audit log: an entry for
        # each of a million numbers says no more.
        with acting(given.actor, given.actor_address, is_bulk=True):
            totals, merge = _load(given, file, progress)
        stored = ""
        if totals.refused:
            stored = _keep_errors(given, file, merge, errors)
    if given.records_events and isinstance(merge, Merge):
        merge.record_events()
    lease.stop()
    finish_import(
        given,
        lease.attempt,
        {
            "read_count": totals.read,
            "added_count": totals.added,
            "duplicate_count": totals.duplicates,
            "faulty_count": totals.faulty,
            "error_file": stored,
        },
    )


def _load(given: RecordImport, file: BinaryIO, progress: Progress) -> tuple[Totals, Merge | DoNotCallFile]:
    if given.campaign is None:
        return _load_list(given, file, progress)
    campaign = CampaignFacts.read(given.campaign.code)
    if campaign is None:
        raise Conflict(ErrorCode.CONFLICT)
    return load(campaign, given, file, progress)


def _load_list(given: RecordImport, file: BinaryIO, progress: Progress) -> tuple[Totals, DoNotCallFile]:
    """Read a file of do-not-call entries and merge it, in the transaction of the caller. Raises Invalid."""
    progress.size = given.file_size
    with Rows(file, format_of(given)) as rows:
        entries = DoNotCallFile(rows, given.region, progress, is_removal=given.target == RecordImport.Target.REMOVAL)
        return entries.load(), entries


@contextmanager
def _opened(given: RecordImport, source: BinaryIO | None) -> Iterator[BinaryIO]:
    if source is not None:
        yield source
        return
    try:
        file: Any = given.file.open("rb")
    except (OSError, ValueError) as error:
        raise Invalid([Fault(ErrorCode.FILE_GONE)]) from error
    with file:
        yield file.file


def _keep_errors(given: RecordImport, file: BinaryIO, merge: Merge | DoNotCallFile, path: Path | None) -> str:
    """Store the refused rows. Return their name in the storage, or "" if a path outside it is given."""
    if path is not None:
        with path.open("w", encoding="utf-8-sig", newline="") as output:
            write_errors(given, file, merge, output)
        return ""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8-sig", newline="", suffix=".csv") as output:
        write_errors(given, file, merge, output)
        output.flush()
        storage = given.error_file.storage
        # The name has the import's id: the next attempt replaces the file of an attempt that died before its commit.
        name = given.error_file.field.generate_filename(given, f"{given.pk}-not-imported.csv")
        storage.delete(name)
        with Path(output.name).open("rb") as written:
            return str(storage.save(name, File(written)))


def _is_alone(pk: int) -> bool:
    """Tell whether no other transaction runs this import. The lock also shows a worker that is just dying."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_IMPORT_LOCK, pk % 2**31])
        return bool(cursor.fetchone()[0])


def _failed(pk: int, lease: "_Lease", message: Any) -> None:
    lease.stop()
    if lease.attempt:
        fail_import(RecordImport(pk=pk), message)


class _Lease:
    """The lease of a worker on an import. It is renewed, with the progress, through a connection of its own.

    So the progress is visible although the transaction with the records is still open.
    """

    def __init__(self, pk: int, progress: Progress) -> None:
        self._pk = pk
        self._progress = progress
        self._connection = connection.copy()
        self._connection.inc_thread_sharing()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.attempt = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._connection.close()

    def claim(self) -> bool:
        """Acquire the lease of an import that is queued, or running with an expired lease."""
        claimed = self._execute(
            "UPDATE campaigns_recordimport SET state = 'running', attempts = attempts + 1, leased_until = now() + %s,"
            " started_at = now(), progress_percent = 0, read_count = 0 WHERE id = %s"
            " AND (state = 'queued' OR (state = 'running' AND leased_until < now())) RETURNING attempts",
            [LEASE, self._pk],
        )
        self.attempt = claimed[0] if claimed else 0
        return bool(self.attempt)

    def renew(self) -> None:
        self._thread = threading.Thread(target=self._renew_regularly, name=f"import-{self._pk}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def expire(self) -> None:
        """Expire the lease, so that the sweep finds the import at once."""
        self.stop()
        try:
            self._execute(
                "UPDATE campaigns_recordimport SET leased_until = now() WHERE id = %s AND attempts = %s"
                " AND state = 'running' RETURNING id",
                [self._pk, self.attempt],
            )
        except OperationalError:
            logger.warning("import not released, its lease expires later", extra={"record_import": self._pk})

    def _renew_regularly(self) -> None:
        while not self._stopped.wait(_RENEWAL_SECONDS):
            try:
                self._execute(
                    "UPDATE campaigns_recordimport SET leased_until = now() + %s, progress_percent = %s,"
                    " read_count = %s WHERE id = %s AND attempts = %s AND state = 'running' RETURNING id",
                    [LEASE, self._progress.percent, self._progress.rows, self._pk, self.attempt],
                )
            except OperationalError as error:
                # The transaction has its own connection and notices a lost database itself.
                logger.warning("import's lease not renewed", extra={"record_import": self._pk, "error": repr(error)})
                self._connection.close()

    def _execute(self, statement: str, parameters: list[Any]) -> tuple[Any, ...] | None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row
