from celery import shared_task
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from callcentre.models import IdempotencyRecord, Lockout


@shared_task(name="callcentre.prune_idempotency")
def prune_idempotency() -> None:
    """Forget the answers of retried writes that are past their retention, and lockouts that are over."""
    IdempotencyRecord.objects.older_than(timezone.now() - settings.IDEMPOTENCY_RETENTION).delete()
    Lockout.objects.over().delete()


@shared_task(name="callcentre.prune_sessions")
def prune_sessions() -> None:
    """Delete the sessions of the back office that are over."""
    SessionStore.clear_expired()
