"""The life of an import of records: uploaded, described, queued, running, finished or failed."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.files import File
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import change_columns
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.request_id import current_request_id
from callcentre.core.sender import acting
from campaigns.models import Campaign, RecordImport

# A queued import waits this long for a worker; then its message is sent once more.
RESEND_AFTER = timedelta(seconds=60)
# An import whose workers died this often is not started again.
MAX_ATTEMPTS = 5


def upload_import(campaign: Campaign | None, actor: Actor, file: "File[bytes]", **values: Any) -> RecordImport:
    """Store a file of records, or of do-not-call entries without a campaign; `values` describe it as far as known."""
    name = (file.name or "records.csv").replace("\\", "/").rpartition("/")[2][-200:]
    columns = change_columns(actor)
    return RecordImport.objects.create(
        campaign=campaign, file=file, file_name=name, file_size=file.size, **columns, **values
    )


def describe_import(given: RecordImport, actor: Actor, **values: Any) -> None:
    """Set how the file is to be read: columns, region, … Raises Conflict once the import is queued."""
    with transaction.atomic():
        _lock_idle(given)
        for name, value in values.items():
            setattr(given, name, value)
        given.save(update_fields=values)


def queue_import(given: RecordImport, actor: Actor) -> None:
    """Let a worker import the file as it is described now; a failed import starts again. Raises Conflict."""
    with transaction.atomic():
        _lock_idle(given)
        given.state = RecordImport.State.QUEUED
        given.message = ""
        given.attempts = given.progress_percent = given.read_count = 0
        given.started_at = given.finished_at = None
        given.leased_until = timezone.now() + RESEND_AFTER
        given.request_id = current_request_id()
        for name, value in change_columns(actor).items():
            setattr(given, name, value)
        given.save()
        enqueue("campaigns.import_records", given.pk)


def resume_import(given: RecordImport) -> None:
    """Queue an import again that lost its message or its worker; fail it if it has no file or too many attempts."""
    with transaction.atomic():
        due = RecordImport.objects.due().filter(pk=given.pk)
        due = due.select_for_update(skip_locked=True, no_key=True, of=("self",))
        if not due.exists():
            return
        if not given.can_start_again:
            fail_import(given, _("The command ended before the import did; start it again."))
        elif given.attempts >= MAX_ATTEMPTS:
            fail_import(given, _("The import was started %s times and ended early each time.") % given.attempts)
        else:
            due.update(leased_until=timezone.now() + RESEND_AFTER, state=RecordImport.State.QUEUED)
            enqueue("campaigns.import_records", given.pk)


def fail_import(given: RecordImport, message: Any) -> None:
    """End an import that added no record; the message is the reason."""
    RecordImport.objects.filter(pk=given.pk).exclude(state=RecordImport.State.FINISHED).update(
        state=RecordImport.State.FAILED, message=str(message), finished_at=timezone.now(), leased_until=None
    )


def finish_import(given: RecordImport, attempt: int, values: Mapping[str, Any]) -> None:
    """End an import, in the transaction that adds its records. Raises Conflict if another worker has taken it over.

    The audit log has one entry for the import, and none for each record.
    """
    ours = RecordImport.objects.filter(pk=given.pk, state=RecordImport.State.RUNNING, attempts=attempt)
    if not ours.update(
        state=RecordImport.State.FINISHED,
        message="",
        progress_percent=100,
        finished_at=timezone.now(),
        leased_until=None,
        **values,
    ):
        raise Conflict(ErrorCode.CONFLICT)
    counts = {name: [None, count] for name, count in values.items() if name.endswith("_count")}
    with acting(given.asker, given.actor_address):
        record(given.asker, AuditAction.IMPORT, given, name=given.file_name, changes=counts)


def remove_import_files(given: RecordImport) -> None:
    """Delete the uploaded file and the file of refused rows; the counts stay."""
    for file in (given.file, given.error_file):
        if file:
            file.delete(save=False)
    given.save(update_fields=["file", "error_file"])


def _lock_idle(given: RecordImport) -> None:
    """Lock an import that is not queued, running or finished. Raises Conflict for others."""
    state = RecordImport.objects.select_for_update(no_key=True).get(pk=given.pk).state
    if state not in (RecordImport.State.UPLOADED, RecordImport.State.FAILED):
        raise Conflict(ErrorCode.CONFLICT)
