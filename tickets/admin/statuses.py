"""The statuses, sub-statuses, categories and types of tickets."""

from django.contrib import admin
from django.http import HttpRequest

from callcentre.admin import Admin, Inline
from callcentre.admin.forms import InstalledNamesMixin
from tickets.models import TicketCategory, TicketStatus, TicketSubstatus, TicketType


class SubstatusInline(Inline):
    model = TicketSubstatus
    fields = ("name", "order")


@admin.register(TicketStatus)
class TicketStatusAdmin(InstalledNamesMixin, Admin):
    """The statuses of tickets. The service moves tickets by their kind and order."""

    list_display = ("both_names", "kind", "order")
    list_display_links = ("both_names",)
    fields = ("name", "kind", "order")
    search_fields = ("name",)
    inlines = (SubstatusInline,)
    fixed_fields = ("kind",)  # closed tickets have a closing time, merged ones point to another ticket

    def has_delete_permission(self, request: HttpRequest, obj: TicketStatus | None = None) -> bool:
        """Refuse to delete the last status of a kind: the service moves tickets to it."""
        if obj is not None and not TicketStatus.objects.filter(kind=obj.kind).exclude(pk=obj.pk).exists():
            return False
        return bool(super().has_delete_permission(request, obj))


@admin.register(TicketCategory, TicketType)
class TicketCategoryAdmin(Admin):
    """The topics, and the types, that tickets are sorted by."""

    list_display = ("name", "is_active")
    list_filter = ("is_active",)
    fields = ("name", "is_active")
    search_fields = ("name",)
