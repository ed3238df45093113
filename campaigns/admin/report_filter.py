"""The filter of attempts for links from figures of the report by campaign."""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q
from django.db.models.fields.json import KT
from django.db.models.lookups import IsNull
from django.utils.translation import gettext_lazy as _

from callcentre.admin import PeriodFilter
from callcentre.admin.periods import within
from callcentre.core.counted import Spans
from campaigns.dialling.answered_calls import IN_TIME_SECONDS
from campaigns.models import Attempt, Record, RecordStatus, SystemStatus

_DROPPED = Q(outcome=Attempt.Outcome.DROPPED)
_STATUS = "result__values__status_id"
_WAYS = {
    "dialled": Q(),
    "live": Q(joined_at__isnull=False) | _DROPPED,
    "dropped": _DROPPED | Q(joined_at__gt=F("answered_at") + timedelta(seconds=IN_TIME_SECONDS)),
    "machines": Q(outcome=Attempt.Outcome.MACHINE),
    "settled": Q(IsNull(KT(_STATUS), rhs=False)),
}


class Counted(PeriodFilter):
    """Attempts that a figure counts (reports.outbounds). The arguments are the campaigns."""

    ways = {
        "dialled": _("calls dialled"),
        "live": _("live answers"),
        "dropped": _("drops"),
        "machines": _("answering machines"),
        "settled": _("calls with a result"),
        "succeeded": _("calls with a success"),
        "done": _("last calls of records that are done"),
    }

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        wanted = within("dialled_at", spans) & ~Q(outcome=Attempt.Outcome.NOT_DIALLED)
        if any(arguments):
            wanted &= Q(campaign__in=arguments)
        if way == "done":
            return wanted & _is_last_of_done()
        if way == "succeeded":
            return wanted & _is_success(arguments)
        return wanted & _WAYS[way]


def _is_last_of_done() -> Q:
    """Build the condition for the last attempt of a record that is not called any more."""
    done = Record.objects.filter(pk=OuterRef("record_id"), system_status__in=SystemStatus.completed())
    later = Attempt.objects.filter(record_id=OuterRef("record_id")).exclude(outcome=Attempt.Outcome.NOT_DIALLED)
    later = later.filter(
        Q(dialled_at__gt=OuterRef("dialled_at")) | Q(dialled_at=OuterRef("dialled_at"), pk__gt=OuterRef("pk"))
    )
    return Q(Exists(done.order_by())) & ~Q(Exists(later.order_by()))


def _is_success(campaigns: Sequence[int]) -> Q:
    successes = RecordStatus.objects.filter(is_success=True, campaign__in=campaigns).order_by()
    return Q(**{f"{_STATUS}__in": list(successes.values_list("pk", flat=True))})
