"""The run of one import: progress, transaction, error file."""

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from django.core.files import File
from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import Claim, NotOurs
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.sender import acting
from callcentre.core.spreadsheets import CsvWriter, as_entered
from campaigns.importing.columns import check_choices
from campaigns.importing.do_not_call_file import DoNotCallFile
from campaigns.importing.formats import Format, showable
from campaigns.importing.merge import Merge, Progress, Refusal, Totals
from campaigns.importing.row_reader import RowReader
from campaigns.importing.rows import Rows, Torn
from campaigns.models import RecordImport
from campaigns.models.rules import CampaignFacts
from campaigns.verbs.imports import finish_import
from campaigns.verbs.recycling import copy_records

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

logger = logging.getLogger(__name__)


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


def run(pk: int) -> RecordImport | None:
    """Run the import and return it; return None if it is not due or another worker runs it. Raises Interrupted."""
    claim = RecordImport.objects.select_related("campaign").claim(pk)
    if claim is None:
        return None
    return run_claimed(claim, None, None, Progress())


def run_claimed(
    claim: Claim[RecordImport], source: BinaryIO | None, errors: Path | None, progress: Progress
) -> RecordImport:
    """Run a claimed import and return it.

    `source` replaces the stored file, `errors` the stored file of refused rows. Raises Interrupted if the connection
    to the database was lost or another transaction had to go first.
    """
    claim.report(lambda: {"progress_percent": progress.percent, "read_count": progress.rows})
    with claim:
        _run(claim, source, errors, progress)
    claim.row.refresh_from_db()
    return claim.row


def _run(claim: Claim[RecordImport], source: BinaryIO | None, errors: Path | None, progress: Progress) -> None:
    pk = claim.row.pk
    claim.write(state=RecordImport.State.RUNNING, started_at=timezone.now(), progress_percent=0, read_count=0)
    if source is None and not claim.row.can_start_again:
        return claim.fail(_("The command ended before the import did; start it again."), is_final=True)
    try:
        with transaction.atomic():
            _import(claim, source, errors, progress)
    except (OperationalError, InterfaceError) as error:
        logger.warning("import interrupted", extra={"record_import": pk, "error": repr(error)})
        claim.release()
        raise Interrupted from error
    except Invalid as error:
        claim.fail(" ".join(error.messages), is_final=True)
    except NotOurs:
        raise
    except Exception:
        logger.exception("import failed", extra={"record_import": pk})
        claim.fail(_("The service failed; its log has the cause."), is_final=True)
    except BaseException:
        claim.fail(_("The import was stopped."), is_final=True)
        raise


def _import(claim: Claim[RecordImport], source: BinaryIO | None, errors: Path | None, progress: Progress) -> None:
    given = claim.row
    if given.recycled is not None:
        with acting(given.actor, given.actor_address, is_bulk=True):
            added = copy_records(given)
        finish_import(claim, {"added_count": added})
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
    finish_import(
        claim,
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
        progress.size = given.file_size
        is_removal = given.target == RecordImport.Target.REMOVAL
        with Rows(file, format_of(given)) as rows:
            entries = DoNotCallFile(rows, given.region, progress, is_removal=is_removal)
            return entries.load(), entries
    campaign = CampaignFacts.read(given.campaign.code)
    if campaign is None:
        raise NotOurs
    return load(campaign, given, file, progress)


@contextmanager
def _opened(given: RecordImport, source: BinaryIO | None) -> Iterator[BinaryIO]:
    if source is not None:
        yield source
        return
    try:
        file: Any = given.file.open("rb")
    except (FileNotFoundError, ValueError) as error:
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
