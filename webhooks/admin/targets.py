"""Common parts of the admins of receivers: the look-up of the address that a form has, and the page of the secret."""

from typing import Any

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

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

    def show_to_copy(self, request: HttpRequest, row: Model, secret: str) -> HttpResponse:
        intro = _("Put it where the receiver keeps it. A person who has it can send events that look like ours.")
        return self.secret_page(request, row, secret, title=_("The secret"), intro=intro)
