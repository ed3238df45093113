"""The report's part of the front page: scheduled reports that have failed."""

from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.utils import timezone

from callcentre.admin import user_of
from callcentre.core.scope import within_scope
from reports.admin.schedules import condition_of
from reports.catalogue import of_open_reports
from reports.models import Export, ExportMail

SHOWN = 5
# Failures are shown for so long.
RECENT = timedelta(days=7)


def reports_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel, or None if nothing has failed."""
    if not request.user.has_perm("reports.view_export"):
        return None
    failed_mail = ExportMail.objects.filter(export=OuterRef("pk"), state=ExportMail.State.FAILED)
    shown = of_open_reports(within_scope(Export.objects.all(), user_of(request)), request.user)
    recent = shown.filter(due_at__gte=timezone.now() - RECENT)
    failed = recent.filter(Q(state=Export.State.FAILED) | Exists(failed_mail))
    exports = list(failed.select_related("schedule").prefetch_related("mails")[:SHOWN])
    if not exports:
        return None
    return {
        "template": "admin/reports/dashboard.html",
        "is_troubled": True,
        "lines": [(export, condition_of(export)[1]) for export in exports],
    }
