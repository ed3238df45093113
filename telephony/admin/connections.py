"""Calls, read-only. The table has millions of rows: the list counts none and reads the newest by an index."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.db.models import DateTimeField, Model, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.admin import DatesFilter, column, display, needs, never
from callcentre.admin.lists import rows_up_to, takes_all_rows
from callcentre.admin.scope import AutocompleteSelectFilter, AutocompleteSelectMultipleFilter, scope_of
from callcentre.core.times import second
from telephony import causes, models
from telephony.admin import connection_search
from telephony.admin.call_columns import CallsAdmin, players_of, recordings_of
from telephony.admin.queues import waiting_of
from telephony.admin.report_filter import Counted
from telephony.admin.state_labels import minutes
from telephony.admin.supervision import SupervisionPages, course_of
from telephony.admin.topics import topic_of
from telephony.admin.transcriptions import conversation_of

COLOURS: dict[str, str] = {
    models.Connection.Disposition.ANSWERED: "success",
    models.Connection.Disposition.BUSY: "warning",
    models.Connection.Disposition.NO_ANSWER: "warning",
    models.Connection.Disposition.FAILED: "danger",
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

    def queryset(self, request: HttpRequest, queryset: QuerySet[models.Connection]) -> QuerySet[models.Connection]:
        value = self.value() or ""
        if value == GOING_ON:
            return queryset.open()  # type: ignore[attr-defined, no-any-return]
        if value not in self.values:
            return queryset
        queryset = queryset.filter(**{self.parameter_name: value})
        given = request.GET
        is_second = (
            self.parameter_name == "disposition" and given.get("direction") in models.Connection.Direction.values
        )
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
        if pair["disposition"] not in models.Connection.Disposition.values:
            pair["disposition"] = ""
        since, until = getattr(request, "span", (None, None))
        scope = scope_of(request)
        ids = connection_search.newest_with_result(**pair, since=since, until=until, count=rows, scope=scope)
        return queryset.filter(pk__in=ids)


class DirectionFilter(_ResultFilter):
    title = _("direction")
    parameter_name = "direction"
    values = models.Connection.Direction.values

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return models.Connection.Direction.choices


class DispositionFilter(_ResultFilter):
    title = _("result")
    parameter_name = "disposition"
    values = models.Connection.Disposition.values

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [(GOING_ON, _("goes on")), *models.Connection.Disposition.choices]


class _PartInline(TabularInline):
    """Rows that belong to a call, in the order of time."""

    extra = 0
    hide_title = True
    can_delete = False
    show_change_link = False
    has_add_permission = has_change_permission = never
    has_view_permission = needs("telephony.view_connection")

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        related = [field.name for field in self.model._meta.fields if field.is_relation and field.name != "connection"]
        return super().get_queryset(request).select_related(*related)  # type: ignore[no-any-return]


@display(description=_("reason"))
def _reason(row: Any) -> str:
    return causes.shown(row.cause_text) or "–"


def _figure(name: str, description: Any) -> Any:
    """Return a column that shows a mean and the worst value, with one decimal."""

    def shown(row: models.CallQuality) -> str:
        values = getattr(row, name), getattr(row, f"{name}_worst")
        return "–" if None in values else " / ".join(floatformat(value, 1) for value in values)

    return display(description=description)(shown)


@display(description=_("note"))
def _note(transfer: models.Transfer) -> str:
    """Return the note, or the target that was not reached and the translated reason."""
    number, colon, reason = transfer.note.partition(": ")
    return f"{number}{colon}{causes.shown(reason)}" or "–"


def _part(model: Any, fields: str, *, title: Any = None, **columns: Any) -> Any:
    """Return the table of the rows of a model that belong to a call.

    Instants are shown to the second, fields with a column in `columns` by that.
    """

    def shown(name: str) -> Any:
        field = None if name in columns else model._meta.get_field(name)
        if isinstance(field, DateTimeField):
            return display(description=field.verbose_name)(lambda row: second(getattr(row, name)) or "–")
        return columns.get(name, name)

    names = tuple(map(shown, fields.split()))
    values = {"model": model, "fields": names, "verbose_name_plural": title or model._meta.verbose_name_plural}
    return type(f"{model.__name__}Inline", (_PartInline,), values)


PARTS = (
    _part(
        models.Offer, "agent queue offered_at outcome answered_at ended_at transferred_at", title=_("offers to agents")
    ),
    _part(models.Talk, "agent queue started_at ended_at"),
    _part(models.Transfer, "at actor_name from_queue from_agent queue number note", note=_note),
    _part(
        models.Consultation,
        "from_agent agent queue number asked_at up_at joined_at ended_at cause_text note",
        cause_text=_reason,
    ),
    _part(
        models.Supervision,
        "agent modes up_at ended_at actor_name cause_text",
        title=_("supervisors"),
        modes=display(description=_("modes"))(course_of),
        cause_text=_reason,
    ),
    _part(
        models.Leg, "role number agent state asked_at up_at ended_at cause cause_text tech_cause", cause_text=_reason
    ),
    _part(
        models.CallQuality,
        "agent loss jitter round_trip",
        loss=_figure("loss", _("loss in %, mean / worst")),
        jitter=_figure("jitter", _("jitter in ms, mean / worst")),
        round_trip=_figure("round_trip", _("round trip in ms, mean / worst")),
    ),
    _part(
        models.CallCommand,
        "created_at kind actor_name done_at error arguments",
        arguments=display(description=_("reason"))(lambda command: command.arguments.get("reason") or "–"),
    ),
)
# Parts of which the call itself says whether it has some.
FLAGS = {models.Talk: "has_talks", models.Supervision: "is_supervised"}


@admin.register(models.Connection)
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
    joined = ("agent", "queue")
    fieldsets = (
        (None, {"fields": (("uid", "outcome"), ("way", "customer"), ("src", "dst"), ("agent", "queue"))}),
        (_("Course"), {"fields": (("start", "ring_seconds"), ("answer", "wait_seconds"), ("end", "talk"))}),
        (_("End of the call"), {"fields": (("hung_up_by", "request_of"), ("cause", "reason"))}),
    )
    inlines = PARTS
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

    def get_readonly_fields(self, request: HttpRequest, obj: models.Connection | None = None) -> list[str]:
        return flatten_fieldsets(self.fieldsets)

    def get_inlines(self, request: HttpRequest, obj: models.Connection | None) -> Any:
        def has_rows(model: Any) -> bool:
            flag = FLAGS.get(model)
            return bool(getattr(obj, flag) if flag else model.objects.filter(connection=obj).exists())

        return [inline for inline in self.inlines if obj and has_rows(inline.model)]

    @display(description=_("result"), label=COLOURS)
    def result(self, call: models.Connection) -> tuple[str, str]:
        if call.cause_text == causes.NO_CONNECTION:
            return call.disposition, causes.shown(call.cause_text)
        return call.disposition, str(call.get_disposition_display() or call.get_state_display())

    @display(description=_("result"))
    def outcome(self, call: models.Connection) -> str:
        return self.result(call)[1]

    def page_context(self, request: HttpRequest, obj: models.Connection | None) -> dict[str, Any]:
        return topic_of(obj) | conversation_of(request, obj) | waiting_of(request, obj) if obj else {}
