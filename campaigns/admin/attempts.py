"""The attempts of the dialler in the admin: a list without edits, and a file of it."""

import io
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.lookups import IsNull
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin import PeriodFilter, ReadOnlyAdmin, UncountedMixin, actor_of, column
from callcentre.admin.dates import dates_filter
from callcentre.admin.periods import within
from callcentre.admin.scope import AutocompleteSelectFilter
from callcentre.core.audit import AuditAction, record
from callcentre.core.counted import Spans
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.spreadsheets import CsvWriter
from campaigns.dialling.answered_calls import IN_TIME_SECONDS
from campaigns.dialling.hours import IGNORED
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


# Column of the file -> look-up of its value.
COLUMNS = {
    "id": "pk",
    "outbound_id": "campaign_code",
    "record_id": "record_id",
    "phone_number": "phone_number",
    "mode": "mode",
    "agent_login": "agent__login",
    "connection_id": "connection_uid",
    "dialled": "dialled_at",
    "answered": "answered_at",
    "joined": "joined_at",
    "ended": "ended_at",
    "outcome": "outcome",
    "zone": "zone",
    "rule": "rule",
    "figures": "figures",
}
# Of the outcomes; every one needs an entry, to be shown in words.
COLOURS = dict.fromkeys((*Attempt.Outcome.values, "open"), "info") | {
    "answered": "success",
    "dropped": "danger",
    "machine": "warning",
    "failed": "warning",
}
_ROWS = 2_000
_BYTE_ORDER_MARK = "\ufeff"


@admin.register(Attempt)
class AttemptAdmin(UncountedMixin, ReadOnlyAdmin):
    """The list answers which numbers were called when, why that was allowed, and with what outcome."""

    newest_by = "dialled_at"  # with an index for all campaigns and for one
    list_display = (
        "dialled_at",
        "phone_number",
        "campaign_code",
        "outcome_shown",
        "mode",
        "agent",
        "zone",
        "rule_shown",
    )
    list_display_links = ("dialled_at",)
    list_filter = (
        ("campaign", AutocompleteSelectFilter),
        ("outcome", ChoicesDropdownFilter),
        dates_filter("dialled_at"),
        Counted,
    )
    list_select_related = ("agent",)
    list_before_template = "admin/campaigns/attempts_download.html"
    search_fields = ("number",)
    search_help_text = _("Number in any spelling")
    fields = (
        *("campaign_code", "record_id", "phone_number", "mode", "agent", "connection_uid"),
        *("dialled_at", "answered_at", "joined_at", "ended_at", "outcome", "zone", "rule_shown", "figures"),
    )

    outcome_shown = column(
        lambda attempt: (attempt.outcome or "open", attempt.get_outcome_display() or _("in a call")),
        description=_("outcome"),
        label=COLOURS,
    )
    rule_shown = column(
        lambda attempt: _("hours ignored") if attempt.rule == IGNORED else attempt.rule, description=_("rule of hours")
    )

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("download/", self.download_view, "download"), *super().get_urls()]

    def found(self, request: HttpRequest, rows: QuerySet[Attempt], text: str) -> QuerySet[Attempt]:
        try:
            return rows.filter(number=normalise(text))
        except PhoneError:
            return rows.none()

    def download_view(self, request: HttpRequest) -> StreamingHttpResponse:
        """Answer with the attempts of the list, with its filters, as CSV."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            attempts = self.get_changelist_instance(request).get_queryset(request)
        except IncorrectLookupParameters as error:
            raise BadRequest from error
        record(actor_of(request), AuditAction.EXPORT, name=str(self.opts.verbose_name_plural))
        response = StreamingHttpResponse(_file_of(attempts), content_type="text/csv; charset=utf-8")
        name = f"attempts-{timezone.localdate():%Y-%m-%d}.csv"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response


def _file_of(attempts: QuerySet[Attempt]) -> Iterator[bytes]:
    """Yield the file in blocks, header first."""
    written = io.StringIO()
    writer = CsvWriter(written)
    written.write(_BYTE_ORDER_MARK)
    writer.write([[*COLUMNS]])
    # A cursor of PostgreSQL lasts as long as its transaction.
    with transaction.atomic():
        rows = attempts.values_list(*COLUMNS.values()).iterator(chunk_size=_ROWS)
        for position, row in enumerate(rows, start=1):
            writer.write([[_cell(value) for value in row]])
            if position % _ROWS == 0:
                yield written.getvalue().encode()
                written.seek(0)
                written.truncate()
    yield written.getvalue().encode()


def _cell(value: Any) -> Any:
    """Return an instant with its milliseconds and its offset, other values as they are."""
    if hasattr(value, "isoformat"):
        return timezone.localtime(value).isoformat(timespec="milliseconds")
    return "" if value in (None, {}) else value
