"""The look-up of the address that a form has, for the admins of receivers."""

from typing import Any

from django.http import HttpRequest

from callcentre.admin import Admin
from webhooks.transport.targets import looked_up


class TargetAdmin(Admin):
    """An admin of receivers. Django saves its form in a transaction, which does not wait for a name server."""

    target_field = "subscription_url"

    def changeform_view(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        if request.method != "POST":
            return super().changeform_view(request, *args, **options)
        with looked_up(request.POST.get(self.target_field, "").strip("\0 ")):
            return super().changeform_view(request, *args, **options)
