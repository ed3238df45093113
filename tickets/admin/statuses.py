"""The words that tickets are sorted by: statuses, their sub-statuses, categories."""

from django.contrib import admin
from django.http import HttpRequest

from callcentre.admin import Admin, Inline
from tickets.models import TicketCategory, TicketStatus, TicketSubstatus


class SubstatusInline(Inline):
    model = TicketSubstatus
    fields = ("name", "order")


@admin.register(TicketStatus)
class TicketStatusAdmin(Admin):
    """Which statuses can tickets have, and to which does a ticket move by itself?"""

    list_display = ("name", "kind", "order")
    list_display_links = ("name",)
    fields = ("name", "kind", "order")
    search_fields = ("name",)
    inlines = (SubstatusInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: TicketStatus | None = None) -> tuple[str, ...]:
        """Tickets have moved by it: closed ones have a time of closing, merged ones lead to another."""
        return ("kind",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: TicketStatus | None = None) -> bool:
        """Of each kind there is always one: tickets move to it by themselves."""
        if obj is not None and not TicketStatus.objects.filter(kind=obj.kind).exclude(pk=obj.pk).exists():
            return False
        return bool(super().has_delete_permission(request, obj))


@admin.register(TicketCategory)
class TicketCategoryAdmin(Admin):
    """What can tickets be about?"""

    list_display = ("name", "is_active")
    list_filter = ("is_active",)
    fields = ("name", "is_active")
    search_fields = ("name",)
