"""Months that are final: a retention deletes their ledgers, so their rollups are never summed anew or compared."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from reports import rollups
from reports.ledgers import Source
from reports.models import RollupProgress
from telephony.models.agent_intervals import LedgerChange


def make_final(before: datetime) -> bool:
    """Make the time before the beginning of a month final. Return False if its sums are not ready, or another process
    sums: then nothing is changed.
    """
    now = timezone.now()
    if before > now or is_final(before):
        return before <= now
    if not rollups.bring_up_to_date(now):
        return False
    with rollups.alone() as is_alone, transaction.atomic():
        summed = RollupProgress.objects.filter(level__in=[Source.DAY, Source.MONTH], until__gte=before).count()
        if not is_alone or summed < 2 or LedgerChange.objects.filter(since__lt=before).exists():
            return False
        RollupProgress.objects.update_or_create(level=RollupProgress.FINAL, defaults={"until": before})
    return True


def is_final(before: datetime) -> bool:
    return RollupProgress.objects.filter(level=RollupProgress.FINAL, until__gte=before).exists()
