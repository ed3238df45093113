from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from callcentre.admin import ReadOnlyAdmin, display, link
from webhooks.models import Resend

COLOURS = {Resend.State.QUEUED: "info", Resend.State.RUNNING: "warning", Resend.State.FINISHED: "success"}


@admin.register(Resend)
class ResendAdmin(ReadOnlyAdmin):
    """Resends and their progress."""

    list_display = ("created_at", "webhook", "since", "progress", "done_count", "actor_name")
    list_display_links = ("created_at",)
    list_select_related = ("webhook",)
    sortable_by = ()
    has_own_history = True  # read-only: Django's history would be empty
    fields = (
        "webhook_link",
        "since",
        "includes_waiting",
        "state",
        "done_count",
        "total_count",
        "actor_name",
        "created_at",
        "finished_at",
    )
    readonly_fields = fields
    change_form_outer_before_template = "admin/webhooks/resend.html"

    class Media:
        js = ("callcentre/live.js",)

    @display(description=_("state"), label={state.value: colour for state, colour in COLOURS.items()})
    def progress(self, resend: Resend) -> tuple[str, str]:
        label = str(resend.get_state_display())
        return resend.state, f"{label} {resend.percent} %" if resend.state == Resend.State.RUNNING else label

    @display(description=_("webhook"))
    def webhook_link(self, resend: Resend) -> str:
        return link(reverse("admin:webhooks_webhook_change", args=[resend.webhook_id]), resend.webhook)

    def page_context(self, request: HttpRequest, obj: Any | None) -> dict[str, Any]:
        return {"deliveries_url": reverse("admin:webhooks_delivery_changelist")}
