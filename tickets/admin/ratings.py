from collections.abc import Sequence

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.admin import PeriodFilter, ReadOnlyAdmin, UncountedMixin, column, link_to
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
    joined = ("message__ticket", "message__agent")
    fields = ("rating", "ticket", "agent", "given_at")

    rating = column(lambda rating: stars(rating.value), description=_("rating"))
    ticket = column(lambda rating: link_to(rating.message.ticket), description=_("ticket"))
    agent = column(lambda rating: str(rating.message.agent or "–"), description=_("agent"))
