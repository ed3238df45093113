"""Offers of inbound calls to agents: one row each time that a phone rang."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin import (
    DatesFilter,
    PeriodFilter,
    ReadOnlyAdmin,
    UncountedChangeList,
    UncountedMixin,
    column,
    display,
    link,
)
from callcentre.admin.periods import near, touching, within
from callcentre.admin.scope import AutocompleteSelectFilter, AutocompleteSelectMultipleFilter
from callcentre.core.counted import Spans
from callcentre.core.parsing import INT32
from callcentre.core.times import second
from telephony.models import Connection, Offer

COLOURS: dict[str, str] = {
    Offer.Outcome.RINGING: "info",
    Offer.Outcome.ANSWERED: "success",
    Offer.Outcome.NOT_ANSWERED: "warning",
    Offer.Outcome.REFUSED: "warning",
    Offer.Outcome.ABANDONED: "warning",
    Offer.Outcome.FAILED: "danger",
}


class Dates(DatesFilter):
    """A filter by the day on which the phone rang."""

    column = "offered_at"


class Counted(PeriodFilter):
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
        Dates,
        Counted,
    )
    fields = ("agent", "queue", "offered", "answered", "ended", "outcome", "transferred", "call")
    readonly_fields = fields
    login = column(lambda offer: offer.agent.login, description=_("agent"))
    answered, ended = _clock("answered_at", _("answered")), _clock("ended_at", _("ended"))
    transferred = _clock("transferred_at", _("transferred"))
    result = column(lambda offer: (offer.outcome, offer.get_outcome_display()), description=_("outcome"), label=COLOURS)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UncountedChangeList]:
        return OfferChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Offer]:
        # No join: the planner could choose the wrong table to begin with.
        return super().get_queryset(request).prefetch_related("agent", "queue", "connection")

    @display(description=_("offered"))
    def offered(self, offer: Offer) -> str:
        return format_html('<span class="whitespace-nowrap">{}</span>', second(offer.offered_at))

    @display(description=_("call"))
    def call(self, offer: Offer) -> str:
        return link(reverse("admin:telephony_connection_change", args=[offer.connection_id]), offer.connection)
