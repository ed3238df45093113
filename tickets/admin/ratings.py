from collections.abc import Sequence

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from callcentre.admin import PeriodFilter, ReadOnlyAdmin, UncountedMixin, column, display, link
from callcentre.admin.lists import ConditionFilter
from callcentre.admin.periods import within
from callcentre.core.counted import Spans
from tickets.models import Rating
from tickets.models.message import stars


class ValueFilter(ConditionFilter):
    title = _("rating")
    parameter_name = "value"
    conditions = {str(value): (stars(value), Q(value=value)) for value in range(1, 6)}


class Counted(PeriodFilter):
    """Ratings that a figure of the report of tickets counts. The arguments are the ticket queues."""

    ways = {"given": _("given")}

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        of_queues = Q(message__ticket__queue__in=arguments) if any(arguments) else Q()
        return of_queues & within("given_at", spans)


@admin.register(Rating)
class RatingAdmin(UncountedMixin, ReadOnlyAdmin):
    """The ratings that customers gave to replies."""

    has_own_history = True  # no edits: Django's history would be empty
    list_display = ("given_at", "rating", "ticket", "agent")
    list_display_links = ("given_at",)
    list_filter = (ValueFilter, Counted)
    date_column = "given_at"
    fields = ("rating", "ticket", "agent", "given_at")

    rating = column(lambda rating: stars(rating.value), description=_("rating"))
    agent = column(lambda rating: str(rating.message.agent or "–"), description=_("agent"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rating]:
        related = ("message__ticket", "message__agent")
        return super().get_queryset(request).select_related(*related)

    @display(description=_("ticket"))
    def ticket(self, rating: Rating) -> str:
        ticket = rating.message.ticket
        return link(reverse("admin:tickets_ticket_change", args=[ticket.pk]), ticket)
