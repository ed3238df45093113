"""Delete old events and the rows of removed webhooks, in short transactions.

Deliveries are locked before their attempts are deleted: a worker that stores an attempt locks its delivery, so no
attempt can be stored afterwards.
"""

from datetime import datetime

from django.conf import settings
from django.db import transaction

from webhooks.models import Attempt, Delivery, Event, Webhook
from webhooks.models.delivery import DeliveryQuerySet

PIECE = 1_000


def prune(now: datetime) -> None:
    """Delete events older than the retention, with their deliveries and attempts."""
    old = Event.objects.filter(created_at__lt=now - settings.EVENT_RETENTION).order_by("-created_at", "-id").first()
    while old and (piece := Event.objects.filter(pk__lte=old.pk).order_by("id").values_list("pk", flat=True)[:PIECE]):
        upto = max(piece)
        with transaction.atomic():
            _delete(Delivery.objects.filter(event_id__lte=upto).order_by("id"))
            Event.objects.filter(pk__lte=upto).delete()


def purge(webhook_id: int) -> None:
    """Delete what was sent to a removed webhook, then the webhook. Its history stays."""
    removed = Webhook.objects.purgeable().filter(pk=webhook_id)
    if removed.exists():
        while _delete(Delivery.objects.filter(webhook_id=webhook_id).order_by("id")[:PIECE]):
            pass
        removed.delete()


@transaction.atomic
def _delete(deliveries: DeliveryQuerySet) -> int:
    """Delete deliveries with their attempts. Return their number."""
    ids = list(deliveries.select_for_update().values_list("pk", flat=True))
    Attempt.objects.filter(delivery__in=ids).delete()
    Delivery.objects.filter(pk__in=ids).delete()
    return len(ids)
