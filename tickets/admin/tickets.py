from django.contrib import admin

from callcentre.admin import UncountedMixin
from callcentre.admin.base import ReadOnlyAdmin
from tickets.models import Ticket


@admin.register(Ticket)
class TicketAdmin(UncountedMixin, ReadOnlyAdmin):
    """What do customers want, and who sees to it?"""

    list_display = ("subject", "status", "queue", "agent", "updated_at")
    list_select_related = ("status", "queue", "agent")
