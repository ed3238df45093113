"""The ledger of agents' time, read-only, and the pauses. States are a table of millions of rows."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter

from callcentre.admin import (
    Admin,
    PeriodFilter,
    ReadOnlyAdmin,
    UncountedChangeList,
    UncountedMixin,
    column,
    link_to,
    never,
    related,
    unbroken,
)
from callcentre.admin.dates import dates_filter
from callcentre.admin.periods import near, touching, within
from callcentre.admin.scope import AutocompleteSelectFilter, AutocompleteSelectMultipleFilter, RelatedDropdownFilter
from callcentre.core.counted import Spans
from callcentre.core.parsing import INT32
from callcentre.core.times import second
from telephony.admin.state_labels import COLOURS, length
from telephony.models import AgentSession, AgentState, Connection, Offer, Pause

AGENT = "agent__id__exact"
# How far back a list of one kind of state goes, without a filter by agent or date.
RECENT = timedelta(days=7)


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
    began = column(lambda interval: second(interval.started_at), description=_("from"))
    ended = column(lambda interval: second(interval.ended_at), description=_("to"))
    length = column(lambda interval: length(interval.started_at, interval.ended_at), description=_("length"))


@admin.register(AgentSession)
class AgentSessionAdmin(LedgerAdmin):
    """Sessions of agents."""

    list_display = ("began", "ended", "length", "agent", "ended_by")
    list_further = ("reason",)
    list_filter = (("agent", AutocompleteSelectFilter), dates_filter("started_at"), OpenFilter, Counted)
    fields = ("agent", "began", "ended", "length", "ended_by", "reason")
    readonly_fields = fields
    prefetched = ("agent",)


@admin.register(AgentState)
class AgentStateAdmin(LedgerAdmin):
    """States of agents."""

    list_display = ("began", "ended", "length", "agent", "state", "pause_name", "call")
    list_filter = (
        ("agent", AutocompleteSelectFilter),
        KindFilter,
        ("pause", RelatedDropdownFilter),
        dates_filter("started_at"),
        OpenFilter,
        Counted,
    )
    list_further = ("reason",)
    fields = ("agent", "kind", "pause_name", "began", "ended", "length", "ends_at", "call", "reason")
    readonly_fields = fields
    prefetched = ("agent", "pause", "connection")
    state = column(lambda state: (state.kind, state.get_kind_display()), description=_("state"), label=COLOURS)
    call = column(lambda state: link_to(call) if (call := related(state, "connection")) else "", description=_("call"))
    pause_name = column(lambda state: str(state.pause or ""), description=_("pause"))


@admin.register(Pause)
class PauseAdmin(Admin):
    """Reasons for pauses."""

    list_display = ("name", "is_active", "order")
    list_filter = ("is_active",)
    search_fields = ("name",)
    fields = ("name", "is_active", "order")
    has_delete_permission = never  # the ledger refers to it: it is made inactive

    def get_readonly_fields(self, request: HttpRequest, obj: Pause | None = None) -> tuple[str, ...]:
        return ("is_active",) if obj and obj.is_automatic else ()


_COLOURS: dict[str, str] = {
    Offer.Outcome.RINGING: "info",
    Offer.Outcome.ANSWERED: "success",
    Offer.Outcome.NOT_ANSWERED: "warning",
    Offer.Outcome.REFUSED: "warning",
    Offer.Outcome.ABANDONED: "warning",
    Offer.Outcome.FAILED: "danger",
}


class CountedOffers(PeriodFilter):
    """The filter of offers for links from figures of the report."""

    ways = {
        "offered": _("offered"),
        "answered": _("answered"),
        "in_time": _("answered in time"),
        "missed": _("not answered"),
        "handed_on": _("transferred"),
        "talked": _("talked"),
        "waited": _("callers waited"),
    }

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        match way:
            case "talked":
                talked = Q(answered_at__isnull=False) & touching("answered_at", "ended_at", spans)
                wanted = talked & near("offered_at", spans)
            case "waited":
                answered = Q(answered_at__isnull=False) & touching("offered_at", "answered_at", spans)
                waited = answered | Q(answered_at=None) & touching("offered_at", "ended_at", spans)
                wanted = waited & near("offered_at", spans)
            case _:
                wanted = within("offered_at", spans)
        match way:
            case "answered":
                wanted &= Q(answered_at__isnull=False)
            case "in_time":
                wanted &= Q(answered_at__lte=F("offered_at") + timedelta(seconds=min(arguments[0], INT32)))
            case "missed":
                wanted &= Q(answered_at=None, ended_at__isnull=False)
            case "handed_on":
                wanted &= Q(transferred_at__isnull=False)
        # A phone that could not be reached never rang.
        rang = ~Q(outcome=Offer.Outcome.FAILED)
        return wanted & rang & Q(connection__direction=Connection.Direction.INBOUND)


def _clock(name: str, description: Any) -> Any:
    """Return a column with the time of day. The column of the offer shows the day."""
    return column(lambda offer: second(getattr(offer, name))[11:] or "–", description=description)


class OfferChangeList(UncountedChangeList):
    """A list by time for one agent, which has an index, else by id."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        return ["-offered_at", "-pk"] if request.GET.get("agent__id__exact") else ["-pk"]


@admin.register(Offer)
class OfferAdmin(UncountedMixin, ReadOnlyAdmin):
    """Offers and their outcomes."""

    has_own_history = True  # never edited: Django's history would be empty
    list_display = ("offered", "answered", "ended", "login", "queue", "result", "transferred", "call")
    list_display_links = ("offered",)
    list_filter = (
        ("agent", AutocompleteSelectFilter),
        ("queue", AutocompleteSelectMultipleFilter),
        ("outcome", ChoicesDropdownFilter),
        dates_filter("offered_at"),
        CountedOffers,
    )
    fields = ("agent", "queue", "offered", "answered", "ended", "outcome", "transferred", "call")
    readonly_fields = fields
    prefetched = ("agent", "queue", "connection")
    login = column(lambda offer: offer.agent.login, description=_("agent"))
    answered, ended = _clock("answered_at", _("answered")), _clock("ended_at", _("ended"))
    transferred = _clock("transferred_at", _("transferred"))
    offered = column(lambda offer: unbroken(second(offer.offered_at)), description=_("offered"))
    call = column(lambda offer: link_to(offer.connection), description=_("call"))
    result = column(
        lambda offer: (offer.outcome, offer.get_outcome_display()), description=_("outcome"), label=_COLOURS
    )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UncountedChangeList]:
        return OfferChangeList
