"""The campaigns on the front page below the overview: the imports of today."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from callcentre.admin import user_of
from callcentre.core.scope import within_scope
from callcentre.models import User
from campaigns.models import RecordImport

SHOWN_IMPORTS = 10


def campaigns_panel(request: HttpRequest) -> dict[str, Any] | None:
    if not request.user.has_perm("campaigns.view_campaign"):
        return None
    return {"template": "admin/campaigns/dashboard.html", "imports": _imports_of_today(user_of(request))}


def _imports_of_today(user: User) -> list[RecordImport]:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    recent = within_scope(RecordImport.objects.select_related("campaign"), user).filter(created_at__gte=midnight)
    counts = ("progress_percent", "added_count", "duplicate_count", "faulty_count")
    columns = ("file_name", "target", "state", *counts, "campaign__code", "campaign__name")
    return list(recent.order_by("-id").only(*columns)[:SHOWN_IMPORTS])
