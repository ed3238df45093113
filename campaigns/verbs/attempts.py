"""The retention of attempts, and of the failures of the trunk."""

from django.conf import settings
from django.utils import timezone

from campaigns.models import Attempt, TrunkFailure

BATCH = 10_000


def prune_old_attempts() -> int:
    """Delete the oldest attempts past their retention, and failures of the same age. Return the number of attempts."""
    before = timezone.now() - settings.ATTEMPT_RETENTION
    TrunkFailure.objects.filter(ended_at__lt=before).delete()
    old = Attempt.objects.filter(dialled_at__lt=before)
    ids = old.order_by("dialled_at").values_list("pk", flat=True)[:BATCH]
    return Attempt.objects.filter(pk__in=list(ids)).delete()[0]
