"""The kinds of a retention: campaigns that are over (callcentre/core/retention.py).

A legal hold on a customer also keeps the records and attempts of the customer's numbers.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from callcentre.core.legal_holds import held
from callcentre.core.retention import Kind, register
from callcentre.core.times import zone
from campaigns.models import AdditionalNumber, Attempt, Campaign, Record, RecordChange
from tickets.models import CustomerNumber


def _over(before: datetime) -> "QuerySet[Campaign]":
    """Return the campaigns whose last day is older."""
    return Campaign.objects.filter(end_date__lt=before.astimezone(zone()).date()).order_by()


def held_numbers() -> list[str]:
    """Return the numbers of customers on hold."""
    return list(
        CustomerNumber.objects.filter(customer__in=held("customer")).order_by().values_list("number", flat=True)
    )


def _records(before: datetime) -> "QuerySet[Record]":
    """Return records that no call holds."""
    return Record.objects.filter(campaign__in=_over(before), leased_by="").exclude(number__in=held_numbers())


def _delete_records(ids: Sequence[int]) -> None:
    for part in (RecordChange.objects.filter(record__in=ids), AdditionalNumber.objects.filter(record__in=ids)):
        part._raw_delete(part.db)
    Record.objects.filter(pk__in=ids).delete()


def _attempts(before: datetime) -> "QuerySet[Attempt]":
    """Return settled attempts of campaigns that are over or gone."""
    over = Q(campaign__in=_over(before)) | Q(campaign=None)
    return Attempt.objects.filter(over, dialled_at__lt=before, settled_at__isnull=False).exclude(
        number__in=held_numbers()
    )


def register_kinds() -> None:
    register(
        records=Kind(
            _("Records of ended campaigns"),
            _("Records with numbers, notes and history, so long after the last day of their campaign."),
            _records,
            _delete_records,
        ),
        attempts=Kind(
            _("Attempts of ended campaigns"),
            _("Attempts, so long after the last day of their campaign. Days of dialling keep their counts."),
            _attempts,
            lambda ids: Attempt.objects.filter(pk__in=ids).delete(),
            is_ledger=True,
        ),
        record_changes=Kind(
            _("Histories of records"),
            _("Who changed records. The records stay."),
            lambda before: RecordChange.objects.filter(at__lt=before).exclude(record__number__in=held_numbers()),
            lambda ids: RecordChange.objects.filter(pk__in=ids).delete(),
        ),
    )
