from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.admin import ReadOnlyAdmin, UncountedMixin, display
from tickets.models import Rating
from tickets.models.rating import stars


class ValueFilter(DropdownFilter):
    title = _("rating")
    parameter_name = "value"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(str(value), stars(value)) for value in range(1, 6)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Rating]) -> QuerySet[Rating]:
        value = self.value() or ""
        return queryset.filter(value=int(value)) if value in {"1", "2", "3", "4", "5"} else queryset


@admin.register(Rating)
class RatingAdmin(UncountedMixin, ReadOnlyAdmin):
    """What do customers think of replies?"""

    has_own_history = True  # nobody edits them: Django's would be empty
    list_display = ("given_at", "rating", "ticket", "agent")
    list_display_links = ("given_at",)
    list_filter = (ValueFilter,)
    fields = ("rating", "ticket", "agent", "given_at")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rating]:
        related = ("message__ticket", "message__agent")
        return super().get_queryset(request).select_related(*related)

    @display(description=_("rating"))
    def rating(self, rating: Rating) -> str:
        return stars(rating.value)

    @display(description=_("ticket"))
    def ticket(self, rating: Rating) -> str:
        ticket = rating.message.ticket
        url = reverse("admin:tickets_ticket_change", args=[ticket.pk])
        return format_html('<a class="cc-link" href="{}">{}</a>', url, ticket)

    @display(description=_("agent"))
    def agent(self, rating: Rating) -> str:
        return str(rating.message.agent or "–")
