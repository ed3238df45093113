"""Building exports, one at a time: from the claim of one to its file.

A builder holds an advisory lock, which PostgreSQL releases when the connection of the builder ends. An export that is
running while the lock is free has lost its builder, and the next builder starts it again. While one connection reads in
its snapshot, a second one writes the progress.
"""

import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import structlog
from billiard.exceptions import SoftTimeLimitExceeded
from django.core.files import File
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.scope import within_scope
from reports import report
from reports.catalogue import REPORTS
from reports.exporting.formats import writer_of
from reports.exporting.portions import portions
from reports.models import Export
from reports.models.export import MAX_ATTEMPTS
from reports.parameters import queues_within, subjects_of
from reports.periods import Aggregation
from reports.report import Question
from reports.verbs.exports import fail_export, finish_export
from telephony.models import Agent

logger = logging.getLogger(__name__)

_LOCK = 0x6578706F
# The time between two writes of the progress.
_PROGRESS_SECONDS = 1.0

_CLAIM = """
UPDATE reports_export SET state = 'running', attempts = attempts + 1, started_at = now(), percent = 0, row_count = 0
WHERE id = (
  SELECT id FROM reports_export WHERE state IN ('queued', 'running') AND attempts < %s ORDER BY attempts, id LIMIT 1
) RETURNING id
"""
_PROGRESS = """
UPDATE reports_export SET percent = %s, row_count = %s, read_at = %s
WHERE id = %s AND attempts = %s AND state = 'running' RETURNING id
"""


def build_next() -> bool:
    """Build the next export. Return False if there is none, or another worker builds."""
    with _lock() as desk:
        if desk is None:
            return False
        _fail_deadly_exports()
        claimed = desk.execute(_CLAIM, [MAX_ATTEMPTS])
        if claimed is None:
            return False
        export = Export.objects.get(pk=claimed[0])
        with structlog.contextvars.bound_contextvars(request_id=export.request_id):
            _build(export, desk)
    return True


def _fail_deadly_exports() -> None:
    """Fail exports that ended every worker. The caller holds the lock, so no worker builds them."""
    for export in Export.objects.waiting().filter(attempts__gte=MAX_ATTEMPTS):
        logger.error("export given up", extra={"export": export.pk})
        _fail(export, _("The export was started %s times and ended early each time.") % MAX_ATTEMPTS)


def _forget_files(export: Export) -> None:
    """Delete the files that attempts left in the storage; no row names them before the export is finished."""
    for name in export.names_of_files():
        export.file.storage.delete(name)


class _Desk:
    """A second connection: it holds the lock, and what it writes is visible at once."""

    def __init__(self) -> None:
        self._connection = connection.copy()

    def execute(self, statement: str, parameters: list[Any]) -> tuple[Any, ...] | None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row

    def close(self) -> None:
        self._connection.close()


@contextmanager
def _lock() -> Iterator[_Desk | None]:
    desk = _Desk()
    try:
        locked = desk.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        yield desk if locked and locked[0] else None
    finally:
        desk.close()


def _build(export: Export, desk: _Desk) -> None:
    try:
        with translation.override(export.language), tempfile.NamedTemporaryFile() as output:
            rows = _write(export, output, desk)
            _keep(export, output, rows)
    except (OperationalError, InterfaceError) as error:
        # The database went away, or ends this connection: the next builder starts again.
        logger.warning("export interrupted", extra={"export": export.pk, "error": repr(error)})
    except Conflict:
        logger.warning("export taken over by another worker", extra={"export": export.pk})
    except SoftTimeLimitExceeded:
        _fail(export, _("It would have taken longer than an hour. Ask for a shorter span, or for fewer agents."))
    except Exception:
        logger.exception("export failed", extra={"export": export.pk})
        _fail(export, _("The service failed; its log has the cause."))


def _fail(export: Export, message: Any) -> None:
    """Mark the export as failed, unless it is finished: the interruption may have come during the last statement.

    A new connection waits for the end of that statement.
    """
    connection.close()
    with translation.override(export.language):
        if fail_export(export, export.attempts, message):
            _forget_files(export)


def _write(export: Export, output: IO[bytes], desk: _Desk) -> int:
    """Write all rows, read of one instant. Return their number."""
    rows, written_at = 0, time.monotonic()
    with report.snapshot():
        question = question_of(export)
        described = REPORTS[export.report]
        columns = described.columns_of(export.columns)
        writer = writer_of(export.format, output, columns, len(described.fixed))
        for lines, share in portions(described, question):
            writer.write(lines)
            rows += len(lines)
            if time.monotonic() - written_at >= _PROGRESS_SECONDS:
                written_at = time.monotonic()
                _write_progress(export, desk, int(99 * share), rows, question)
        if described.subjects and rows:
            writer.write_total(described.answer(question, 0, 0).total)
        writer.close()
        _write_progress(export, desk, 99, rows, question)
    return rows


def question_of(export: Export) -> Question:
    named = REPORTS[export.report].subjects
    return Question(
        subjects=subjects_of(named, export.scope, getattr(export, named.field)) if named else _agents_of(export),
        begin=export.begins_at,
        end=export.ends_at,
        aggregation=Aggregation(export.aggregation),
        now=timezone.now().replace(microsecond=0),
        threshold=export.threshold,
        queues=None if named else queues_within(export.scope, export.queue_ids),
        within=export.answered_within,
    )


def _agents_of(export: Export) -> dict[int, dict[str, str]]:
    """Return the agents that were asked for, by login: with ids and of groups, or all; within the scope."""
    ids, group_ids = export.agent_ids, export.agent_group_ids
    agents = within_scope(Agent.objects.order_by("login"), export)
    if ids or group_ids:
        agents = agents.filter(pk__in=ids) | agents.filter(group__in=group_ids)
    rows = agents.values_list("pk", "login", "name", "surname")
    return {pk: {"login": login, "name": name, "surname": surname} for pk, login, name, surname in rows}


def _write_progress(export: Export, desk: _Desk, percent: int, rows: int, asked: Question) -> None:
    """Write the progress. Raises Conflict if another worker has taken over."""
    if desk.execute(_PROGRESS, [percent, rows, asked.now, export.pk, export.attempts]) is None:
        raise Conflict(ErrorCode.CONFLICT)


def _keep(export: Export, output: IO[bytes], rows: int) -> None:
    """Store the file, then name it in the row. The next attempt removes a file that was stored without a row.

    If the connection is lost, the row may have been written: only a Conflict tells that no row will name the file.
    """
    size = output.seek(0, 2)
    output.seek(0)
    storage = export.file.storage
    _forget_files(export)
    name = storage.save(export.name_of_file(export.attempts), File(output))
    try:
        finish_export(export, export.attempts, file=name, file_size=size, row_count=rows)
    except Conflict:
        storage.delete(name)
        raise
