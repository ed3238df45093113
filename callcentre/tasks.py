from celery import shared_task
from django.conf import settings
from django.utils import timezone

from callcentre.core import audit, deletions, due_work, file_removals, person_exports, retention
from callcentre.core.enqueue import enqueue
from callcentre.core.exporting.jobs import remove_outdated_files
from callcentre.models import IdempotencyRecord, Lockout, PersonExport
from callcentre.signin.models import SessionStore


@shared_task(name="callcentre.prune_idempotency")
def prune_idempotency() -> None:
    """Delete the answers of retried writes past their retention, and expired lockouts."""
    IdempotencyRecord.objects.filter(created_at__lt=timezone.now() - settings.IDEMPOTENCY_RETENTION).delete()
    Lockout.objects.over().delete()


@shared_task(name="callcentre.prune_sessions")
def prune_sessions() -> None:
    """Delete expired sessions of the back office."""
    SessionStore.clear_expired()


@shared_task(name="callcentre.prune_audit")
def prune_audit() -> None:
    """Delete entries of the audit log past their retention, in batches."""
    while audit.prune(timezone.now() - settings.AUDIT_RETENTION):
        pass


@shared_task(name="callcentre.delete_personal_data")
def delete_personal_data(pk: int) -> None:
    """Run one deletion that a person asked for."""
    deletions.run(pk)


@shared_task(name="callcentre.build_person_exports")
def build_person_exports() -> None:
    if person_exports.build_next():
        enqueue(PersonExport.task)


@shared_task(name="callcentre.prune_person_exports")
def prune_person_exports() -> None:
    remove_outdated_files(PersonExport)


@shared_task(name="callcentre.run_retention")
def run_retention(kind: str) -> None:
    """Delete rows of a kind past their retention, for some minutes."""
    retention.run(kind)


@shared_task(name="callcentre.remove_files")
def remove_files() -> None:
    """Remove the files that deletions left in the storage."""
    file_removals.remove_files()


@shared_task(name="callcentre.sweep_due_work")
def sweep_due_work() -> None:
    """Enqueue work that is due again, or whose message or worker was lost."""
    due_work.sweep()
