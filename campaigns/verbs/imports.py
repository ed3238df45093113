"""The life of an import of records: uploaded, described, queued, running, finished or failed."""

from collections.abc import Mapping
from typing import Any

from django.core.files import File
from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import change_columns, store
from callcentre.core.due_work import Claim
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.request_id import current_request_id
from callcentre.core.sender import acting
from campaigns.models import Campaign, RecordImport


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
        store(given, **values)


def queue_import(given: RecordImport, actor: Actor) -> None:
    """Let a worker import the file as it is described now; a failed import starts again. Raises Conflict."""
    with transaction.atomic():
        _lock_idle(given)
        given.state = RecordImport.State.QUEUED
        given.message = ""
        given.attempt_count = given.progress_percent = given.read_count = 0
        given.started_at = given.finished_at = None
        given.next_attempt_at = timezone.now()
        given.request_id = current_request_id()
        for name, value in change_columns(actor).items():
            setattr(given, name, value)
        given.save()
        enqueue("campaigns.import_records", given.pk)


def finish_import(claim: Claim[RecordImport], values: Mapping[str, Any]) -> None:
    """End an import, in the transaction that adds its records. Raises NotOurs if another worker has taken it over.

    The audit log has one entry for the import, and none for each record.
    """
    given, now = claim.row, timezone.now()
    claim.finish(state=RecordImport.State.FINISHED, message="", progress_percent=100, finished_at=now, **values)
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
