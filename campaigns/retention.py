"""The kinds of a retention: campaigns that are over (callcentre/core/retention.py)."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from callcentre.core.retention import Kind, register
from callcentre.core.times import zone
from campaigns.models import AdditionalNumber, Attempt, Campaign, Record, RecordChange


def _over(before: datetime) -> "QuerySet[Campaign]":
    """Return the campaigns whose last day is older."""
    return Campaign.objects.filter(end_date__lt=before.astimezone(zone()).date()).order_by()


def _delete_records(ids: Sequence[int]) -> None:
    for part in (RecordChange.objects.filter(record__in=ids), AdditionalNumber.objects.filter(record__in=ids)):
        part._raw_delete(part.db)
    Record.objects.filter(pk__in=ids).delete()


def _attempts(before: datetime) -> "QuerySet[Attempt]":
    """Return settled attempts of campaigns that are over or gone."""
    over = Q(campaign__in=_over(before)) | Q(campaign=None)
    return Attempt.objects.filter(over, dialled_at__lt=before, settled_at__isnull=False)


def register_kinds() -> None:
    register(
        records=Kind(
            _("Records of ended campaigns"),
            _("Records with numbers, notes and history, so long after the last day of their campaign."),
            # No call holds them.
            lambda before: Record.objects.filter(campaign__in=_over(before), leased_by=""),
            _delete_records,
        ),
        attempts=Kind(
            _("Attempts of ended campaigns"),
            _("Attempts, so long after the last day of their campaign. Days of dialling keep their counts."),
            _attempts,
            is_ledger=True,
        ),
        record_changes=Kind(
            _("Histories of records"),
            _("Who changed records. The records stay."),
            lambda before: RecordChange.objects.filter(at__lt=before),
        ),
    )
