"""Calls, read-only. The table has millions of rows: the list counts none and reads the newest by an index."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.admin import DatesFilter, column, display
from callcentre.admin.lists import rows_up_to, takes_all_rows
from callcentre.admin.scope import AutocompleteSelectFilter, AutocompleteSelectMultipleFilter, scope_of
from callcentre.core.times import second
from telephony import causes
from telephony.admin import connection_search
from telephony.admin.call_columns import CallsAdmin, players_of, recordings_of
from telephony.admin.queues import waiting_of
from telephony.admin.report_filter import Counted
from telephony.admin.state_labels import minutes
from telephony.admin.supervision import SupervisionPages, course_of
from telephony.admin.topics import topic_of
from telephony.admin.transcriptions import conversation_of
from telephony.models import (
    CallCommand,
    CallQuality,
    Connection,
    Consultation,
    Leg,
    Offer,
    Supervision,
    Talk,
    Transfer,
)

COLOURS: dict[str, str] = {
    Connection.Disposition.ANSWERED: "success",
    Connection.Disposition.BUSY: "warning",
    Connection.Disposition.NO_ANSWER: "warning",
    Connection.Disposition.FAILED: "danger",
    "": "info",
}
GOING_ON = "open"
# Filters that leave few rows, or rows of an index in the order of the list.
NARROWING = ("agent__id__exact", "queue__id__exact", "q")


class ConnectionDates(DatesFilter):
    column = "created_at"

    def of_span(self, queryset: QuerySet[Any], since: datetime | None, until: datetime | None) -> QuerySet[Any]:
        """Filter by the index on the start. The ids of imported calls have another order."""
        # For the filter of results, which searches the same span.
        self.request.span = since, until  # type: ignore[attr-defined]
        return super().of_span(queryset, since, until)


class _ResultFilter(DropdownFilter):
    """One of two filters that share an index. The first in use finds the newest rows, the other filters them."""

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.per_page = model_admin.list_per_page

    def queryset(self, request: HttpRequest, queryset: QuerySet[Connection]) -> QuerySet[Connection]:
        value = self.value() or ""
        if value == GOING_ON:
            return queryset.open()  # type: ignore[attr-defined, no-any-return]
        if value not in self.values:
            return queryset
        queryset = queryset.filter(**{self.parameter_name: value})
        given = request.GET
        is_second = self.parameter_name == "disposition" and given.get("direction") in Connection.Direction.values
        if (
            takes_all_rows(request)
            or is_second
            or given.get("disposition") == GOING_ON
            or any(given.get(name) for name in NARROWING)
        ):
            return queryset
        rows = rows_up_to(given, self.per_page)
        disposition = given.get("disposition", "")
        pair = {"direction": given.get("direction", ""), "disposition": disposition, self.parameter_name: value}
        if pair["disposition"] not in Connection.Disposition.values:
            pair["disposition"] = ""
        since, until = getattr(request, "span", (None, None))
        scope = scope_of(request)
        ids = connection_search.newest_with_result(**pair, since=since, until=until, count=rows, scope=scope)
        return queryset.filter(pk__in=ids)


class DirectionFilter(_ResultFilter):
    title = _("direction")
    parameter_name = "direction"
    values = Connection.Direction.values

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return Connection.Direction.choices


class DispositionFilter(_ResultFilter):
    title = _("result")
    parameter_name = "disposition"
    values = Connection.Disposition.values

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [(GOING_ON, _("goes on")), *Connection.Disposition.choices]


class _PartInline(TabularInline):
    """Rows that belong to a call, in the order of time."""

    extra = 0
    hide_title = True
    can_delete = False
    show_change_link = False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Allow all users who may view the call."""
        return bool(request.user.has_perm("telephony.view_connection"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        related = [field.name for field in self.model._meta.fields if field.is_relation and field.name != "connection"]
        return super().get_queryset(request).select_related(*related)  # type: ignore[no-any-return]


def _instant(name: str, description: Any) -> Any:
    """Return a column that shows an instant to the second."""
    return column(lambda row: second(getattr(row, name)) or "–", description=description)


def _reason(row: Connection | Consultation | Leg | Supervision) -> str:
    return causes.shown(row.cause_text) or "–"


class OfferInline(_PartInline):
    model = Offer
    fields = ("agent", "queue", "offered", "outcome", "answered", "ended", "transferred")
    offered, answered = _instant("offered_at", _("offered")), _instant("answered_at", _("answered"))
    ended, transferred = _instant("ended_at", _("ended")), _instant("transferred_at", _("transferred"))
    verbose_name_plural = _("offers to agents")


class TalkInline(_PartInline):
    model = Talk
    fields = ("agent", "queue", "started", "ended")
    started, ended = _instant("started_at", _("start")), _instant("ended_at", _("end"))
    verbose_name_plural = _("talks")


def _figure(name: str, description: Any) -> Any:
    """Return a column that shows a mean and the worst value, with one decimal."""

    def shown(row: CallQuality) -> str:
        values = getattr(row, name), getattr(row, f"{name}_worst")
        return "–" if None in values else " / ".join(floatformat(value, 1) for value in values)

    return column(shown, description=description)


class QualityInline(_PartInline):
    model = CallQuality
    fields = ("agent", "mean_loss", "mean_jitter", "mean_round_trip")
    mean_loss = _figure("loss", _("loss in %, mean / worst"))
    mean_jitter = _figure("jitter", _("jitter in ms, mean / worst"))
    mean_round_trip = _figure("round_trip", _("round trip in ms, mean / worst"))


class TransferInline(_PartInline):
    model = Transfer
    fields = ("moment", "actor_name", "from_queue", "from_agent", "queue", "number", "reason")
    moment = _instant("at", _("time"))

    @display(description=_("note"))
    def reason(self, transfer: Transfer) -> str:
        """Return the target that was not reached, and the translated reason."""
        number, colon, reason = transfer.note.partition(": ")
        return f"{number}{colon}{causes.shown(reason)}" or "–"


class ConsultationInline(_PartInline):
    model = Consultation
    fields = ("from_agent", "agent", "queue", "number", "asked", "up", "joined", "ended", "reason", "note")
    asked, up = _instant("asked_at", _("asked")), _instant("up_at", _("picked up"))
    joined, ended = _instant("joined_at", _("with the customer from")), _instant("ended_at", _("ended"))
    reason = column(_reason, description=_("reason"))


class SupervisionInline(_PartInline):
    model = Supervision
    fields = ("agent", "course", "up", "ended", "actor_name", "reason")
    up, ended = _instant("up_at", _("from")), _instant("ended_at", _("to"))
    course = column(course_of, description=_("modes"))
    reason = column(_reason, description=_("reason"))
    verbose_name_plural = _("supervisors")


class LegInline(_PartInline):
    model = Leg
    fields = ("role", "number", "agent", "state", "asked", "up", "ended", "cause", "reason", "tech_cause")
    asked, up = _instant("asked_at", _("asked for")), _instant("up_at", _("up"))
    ended = _instant("ended_at", _("ended"))
    reason = column(_reason, description=_("reason"))


class CommandInline(_PartInline):
    model = CallCommand
    fields = ("asked", "kind", "actor_name", "done", "error", "why")
    why = column(lambda command: command.arguments.get("reason") or "–", description=_("reason"))
    asked, done = _instant("created_at", _("asked")), _instant("done_at", _("done"))


# Parts of which the call itself says whether it has some.
FLAGS: dict[Any, Any] = {
    TalkInline: lambda call: call.has_talks,
    SupervisionInline: lambda call: call.is_supervised,
}


@admin.register(Connection)
class ConnectionAdmin(SupervisionPages, CallsAdmin):
    """Calls, their results, recordings and words."""

    # A phone shows the first five.
    list_display = ("start", "customer", "number", "result", "heard", "login", "place", "way", "talk")
    list_display_links = ("start",)
    list_further = (
        *("src", "dst", "queue", "uid"),
        *("agent", "answer", "end", "ring_seconds", "wait_seconds", "hung_up_by", "reason", "cause"),
        *("caller_id", "campaign_code", "customer_id", "request_of"),
    )
    # The dates come first, because the other filters use their span.
    list_filter = (
        ConnectionDates,
        DirectionFilter,
        DispositionFilter,
        ("agent", AutocompleteSelectFilter),
        ("queue", AutocompleteSelectMultipleFilter),
        Counted,
    )
    list_select_related = ("agent", "queue")
    fieldsets = (
        (None, {"fields": (("uid", "outcome"), ("way", "customer"), ("src", "dst"), ("agent", "queue"))}),
        (_("Course"), {"fields": (("start", "ring_seconds"), ("answer", "wait_seconds"), ("end", "talk"))}),
        (_("End of the call"), {"fields": (("hung_up_by", "request_of"), ("cause", "reason"))}),
    )
    inlines = (
        *(OfferInline, TalkInline, TransferInline, ConsultationInline, SupervisionInline, LegInline, QualityInline),
        CommandInline,
    )
    actions_detail = ("monitor", "end_call")
    change_form_outer_before_template = "admin/telephony/call.html"
    change_form_outer_after_template = "admin/telephony/connection.html"
    newest_by = "created_at"  # the ids of imported calls have another order
    answer = column(lambda call: second(call.answered_at), description=_("answered"))
    end = column(lambda call: second(call.ended_at), description=_("end"))
    uid = column(lambda call: call.uid, description=_("id"))
    way = column(lambda call: call.get_direction_display(), description=_("direction"))
    reason = column(_reason, description=_("reason"))
    request_of = column(lambda call: call.request_id or "–", description=_("request id"))
    talk = column(lambda call: minutes(call.billsec), description=_("talk"))
    heard = column(lambda call: players_of(call.players), description=_("recording"))

    def get_list_display(self, request: HttpRequest) -> Any:
        """Leave the recordings out for a person who may not hear them."""
        columns = super().get_list_display(request)
        may_hear = request.user.has_perm("telephony.view_recording")
        return columns if may_hear else [name for name in columns if name != "heard"]

    def complete_rows(self, rows: Sequence[Any]) -> None:
        super().complete_rows(rows)
        recordings = recordings_of(rows)
        for call in rows:
            call.players = recordings.get(call.pk, [])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Connection]:
        return super().get_queryset(request).select_related("agent", "queue")

    def get_readonly_fields(self, request: HttpRequest, obj: Connection | None = None) -> list[str]:
        return flatten_fieldsets(self.fieldsets)

    def get_inlines(self, request: HttpRequest, obj: Connection | None) -> Any:
        """Return the inlines that have rows for this call."""
        return [
            inline
            for inline in self.inlines
            if obj and (FLAGS[inline](obj) if inline in FLAGS else inline.model.objects.filter(connection=obj).exists())
        ]

    @display(description=_("result"), label=COLOURS)
    def result(self, call: Connection) -> tuple[str, str]:
        if call.cause_text == causes.NO_CONNECTION:
            return call.disposition, causes.shown(call.cause_text)
        return call.disposition, str(call.get_disposition_display() or call.get_state_display())

    @display(description=_("result"))
    def outcome(self, call: Connection) -> str:
        return self.result(call)[1]

    def page_context(self, request: HttpRequest, obj: Connection | None) -> dict[str, Any]:
        return topic_of(obj) | conversation_of(request, obj) | waiting_of(request, obj) if obj else {}
