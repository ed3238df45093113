from django.contrib import admin
from django.http import HttpRequest

from callcentre.admin import Admin
from tickets.models import CustomerSettings


@admin.register(CustomerSettings)
class CustomerSettingsAdmin(Admin):
    """The setting that makes customers of unknown senders and callers."""

    list_display = ("__str__", "creates_unknown")
    fields = ("creates_unknown",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: CustomerSettings | None = None) -> bool:
        return False
