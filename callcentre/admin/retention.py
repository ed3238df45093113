"""The page of retention: how long each kind of rows is kept, what would go now, and how far the nightly work is."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin.base import ReadOnlyAdmin, actor_of
from callcentre.admin.lists import UncountedMixin
from callcentre.admin.theme import column, needs
from callcentre.core import retention
from callcentre.core.errors import Invalid
from callcentre.core.retention import LEAST_DAYS, MOST_COUNTED, Retention

# What settings of the installation delete.
_BY_SETTINGS = (
    (_("Recordings"), "RECORDING_RETENTION"),
    (_("Events"), "EVENT_RETENTION"),
    (_("Audit log"), "AUDIT_RETENTION"),
    (_("Attempts"), "ATTEMPT_RETENTION"),
)


@admin.register(Retention)
class RetentionAdmin(UncountedMixin, ReadOnlyAdmin):
    """The kinds whose rows are deleted after a time."""

    list_display = ("kind", "days", "removed_count", "begun_at", "ended_at", "why")
    why = column(lambda row: row.why, description=_("error"))
    has_set_permission = needs("callcentre.change_retention")

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("settings/", self.settings_view, "settings"), *super().get_urls()]

    def settings_view(self, request: HttpRequest) -> HttpResponse:
        """Show all kinds. Save their days, or count the rows of one that would go."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        may_change = self.has_set_permission(request)
        if request.method == "POST" and not may_change:
            raise PermissionDenied
        given, faults, counted = request.POST, {}, {}
        days: dict[str, int | None] = {}
        for name in retention.KINDS:
            try:
                days[name] = retention.checked_days(given.get(f"days-{name}"))
            except Invalid as invalid:
                faults[name] = " ".join(fault.in_words({}) for fault in invalid.faults)
        if request.method == "POST" and (counting := given.get("count")):
            if days.get(counting):
                counted[counting] = retention.count(counting, days[counting] or 0)
        elif request.method == "POST" and not faults:
            for name, _kind, row in retention.all_kinds():
                if days[name] != row.days:
                    retention.set_days(actor_of(request), name, days[name])
            self.message_user(request, _now("Saved. Rows are deleted in the night."), messages.SUCCESS)
            return redirect(self.url_of("settings"))
        rows = [
            {
                "name": name,
                "kind": kind,
                "row": row,
                "days": given.get(f"days-{name}") if given else row.days,
                "fault": faults.get(name) if given else "",
                "counted": counted.get(name),
                "is_more": (counted.get(name) or 0) > MOST_COUNTED,
            }
            for name, kind, row in retention.all_kinds()
        ]
        context: dict[str, Any] = {
            "rows": rows,
            "may_change": may_change,
            "least": LEAST_DAYS,
            "most_counted": MOST_COUNTED,
            "by_settings": [(label, getattr(settings, name).days, f"{name}_DAYS") for label, name in _BY_SETTINGS],
            "hours": (settings.RETENTION_FROM_HOUR, settings.RETENTION_UNTIL_HOUR),
        }
        return self.page(request, "admin/retention.html", None, title=_now("Retention"), media=self.media, **context)
