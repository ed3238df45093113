"""The ledger of agents' time, read-only, and the pauses. States are a table of millions of rows."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.admin import (
    Admin,
    DatesFilter,
    PeriodFilter,
    ReadOnlyAdmin,
    UncountedMixin,
    column,
    display,
    link,
)
from callcentre.admin.periods import touching, within
from callcentre.admin.scope import AutocompleteSelectFilter, RelatedDropdownFilter
from callcentre.core.counted import Spans
from telephony.admin.state_labels import COLOURS, length, moment
from telephony.admin.undeletable import Undeletable
from telephony.models import AgentSession, AgentState, Pause

AGENT = "agent__id__exact"
# How far back a list of one kind of state goes, without a filter by agent or date.
RECENT = timedelta(days=7)


class Dates(DatesFilter):
    """A filter by the day on which an interval begins."""

    column = "started_at"


class Counted(PeriodFilter):
    ways = {"began": _("began"), "lasted": _("going on"), "there": _("began or going on")}

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        began, lasted = within("started_at", spans), touching("started_at", "ended_at", spans)
        return {"began": began, "lasted": lasted, "there": began | lasted}[way]


class KindFilter(DropdownFilter):
    title = _("state")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return AgentState.Kind.choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[AgentState]) -> QuerySet[AgentState]:
        if self.value() not in AgentState.Kind.values:
            return queryset
        queryset = queryset.filter(kind=self.value())
        if any(request.GET.get(name) for name in (AGENT, "date_from", "date_to")):
            return queryset
        # The search for a rare kind would otherwise read the whole history.
        return queryset.filter(started_at__gte=timezone.now() - RECENT)


class OpenFilter(DropdownFilter):
    title = _("going on")
    parameter_name = "open"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("1", _("now"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        # There are at most as many as agents, in an index of their own. A search by time would read the whole history.
        return queryset.filter(pk__in=list(queryset.filter(ended_at=None).order_by().values_list("pk", flat=True)))


class LedgerAdmin(UncountedMixin, ReadOnlyAdmin):
    has_own_history = True  # never edited: Django's history would be empty
    list_display_links = ("began",)
    newest_by = "started_at"  # with an index for all agents and for one; ids need not be in the order of time
    began = column(lambda interval: moment(interval.started_at), description=_("from"))
    ended = column(lambda interval: moment(interval.ended_at), description=_("to"))
    length = column(lambda interval: length(interval.started_at, interval.ended_at), description=_("length"))


@admin.register(AgentSession)
class AgentSessionAdmin(LedgerAdmin):
    """Sessions of agents."""

    list_display = ("began", "ended", "length", "agent", "ended_by")
    list_further = ("reason",)
    list_filter = (("agent", AutocompleteSelectFilter), Dates, OpenFilter, Counted)
    fields = ("agent", "began", "ended", "length", "ended_by", "reason")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentSession]:
        # No join: the planner could choose the wrong table to begin with.
        return super().get_queryset(request).prefetch_related("agent")


@admin.register(AgentState)
class AgentStateAdmin(LedgerAdmin):
    """States of agents."""

    list_display = ("began", "ended", "length", "agent", "state", "pause_name", "call")
    list_filter = (
        ("agent", AutocompleteSelectFilter),
        KindFilter,
        ("pause", RelatedDropdownFilter),
        Dates,
        OpenFilter,
        Counted,
    )
    list_further = ("reason",)
    fields = ("agent", "kind", "pause_name", "began", "ended", "length", "ends_at", "call", "reason")
    readonly_fields = fields
    state = column(lambda state: (state.kind, state.get_kind_display()), description=_("state"), label=COLOURS)
    pause_name = column(lambda state: str(state.pause or ""), description=_("pause"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentState]:
        return super().get_queryset(request).prefetch_related("agent", "pause", "connection")

    @display(description=_("call"))
    def call(self, state: AgentState) -> str:
        try:
            connection = state.connection
        except ObjectDoesNotExist:  # the database has no constraint on it
            return ""
        if connection is None:
            return ""
        return link(reverse("admin:telephony_connection_change", args=[connection.pk]), connection)


@admin.register(Pause)
class PauseAdmin(Undeletable, Admin):
    """Reasons for pauses."""

    list_display = ("name", "is_active", "order")
    list_filter = ("is_active",)
    search_fields = ("name",)
    fields = ("name", "is_active", "order")

    def get_readonly_fields(self, request: HttpRequest, obj: Pause | None = None) -> tuple[str, ...]:
        return ("is_active",) if obj and obj.is_automatic else ()
