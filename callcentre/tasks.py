from celery import shared_task
from django.conf import settings
from django.utils import timezone

from callcentre.core import audit, deletions
from callcentre.models import IdempotencyRecord, Lockout
from callcentre.signin.models import SessionStore


@shared_task(name="callcentre.prune_idempotency")
def prune_idempotency() -> None:
    """Delete the answers of retried writes past their retention, and expired lockouts."""
    IdempotencyRecord.objects.older_than(timezone.now() - settings.IDEMPOTENCY_RETENTION).delete()
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


@shared_task(name="callcentre.sweep_deletions")
def sweep_deletions() -> None:
    """Resume deletions that lost their message or worker, and remove files that a deletion left in the storage."""
    deletions.sweep()
