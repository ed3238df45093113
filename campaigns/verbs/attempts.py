"""The retention of attempts."""

from django.conf import settings
from django.utils import timezone

from campaigns.models import Attempt

BATCH = 10_000


def prune_old_attempts() -> int:
    """Delete the oldest attempts past their retention. Return their number."""
    old = Attempt.objects.filter(dialled_at__lt=timezone.now() - settings.ATTEMPT_RETENTION)
    ids = old.order_by("dialled_at").values_list("pk", flat=True)[:BATCH]
    return Attempt.objects.filter(pk__in=list(ids)).delete()[0]
