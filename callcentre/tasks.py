from celery import shared_task
from django.conf import settings
from django.utils import timezone

from callcentre.models import IdempotencyRecord, Lockout


@shared_task(name="callcentre.prune_idempotency")
def prune_idempotency() -> None:
    """Forget the answers of retried writes that are past their retention, and lockouts that are over."""
    IdempotencyRecord.objects.older_than(timezone.now() - settings.IDEMPOTENCY_RETENTION).delete()
    Lockout.objects.over().delete()
