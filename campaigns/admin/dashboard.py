"""The campaigns on the front page: active ones, their progress, and the imports of today."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Count
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from campaigns.admin.progress import Progress, snapshot
from campaigns.models import Campaign, RecordImport

# The list of campaigns shows the others.
SHOWN_CAMPAIGNS = 50
SHOWN_IMPORTS = 10


@dataclass(frozen=True, slots=True)
class ActiveCampaign:
    """An active campaign. `warning` is the reason why it is not dialled, or soon will not be."""

    campaign: Campaign
    progress: Progress
    agents: int
    warning: str


def campaigns_panel(request: HttpRequest) -> dict[str, Any] | None:
    if not request.user.has_perm("campaigns.view_campaign"):
        return None
    counted = snapshot()
    today = timezone.localdate()
    active = Campaign.objects.filter(is_active=True).annotate(agent_count=Count("agents"))
    lines = []
    for campaign in active.order_by("order", "code"):
        progress = counted.of(campaign.pk)
        agents: int = vars(campaign)["agent_count"]
        lines.append(ActiveCampaign(campaign, progress, agents, _warning(campaign, progress, agents, today)))
    running = [line for line in lines if _is_within_dates(line.campaign, today)]
    return {
        "template": "admin/campaigns/dashboard.html",
        "at": counted.at,
        "lines": lines[:SHOWN_CAMPAIGNS],
        "hidden_count": max(len(lines) - SHOWN_CAMPAIGNS, 0),
        "running_count": len(running),
        "to_call": sum(line.progress.to_call for line in running),
        "done": sum(line.progress.done for line in running),
        "in_progress": sum(line.progress.in_progress for line in running),
        "imports": _imports_of_today(),
        "may_see_records": request.user.has_perm("campaigns.view_record"),
        "campaigns_url": reverse("admin:campaigns_campaign_changelist"),
        "records_url": reverse("admin:campaigns_record_changelist"),
    }


def _is_within_dates(campaign: Campaign, today: date) -> bool:
    return campaign.start_date <= today and (campaign.end_date is None or campaign.end_date >= today)


def _warning(campaign: Campaign, progress: Progress, agents: int, today: date) -> str:
    if campaign.end_date and campaign.end_date < today:
        return _("ended on %(day)s") % {"day": date_format(campaign.end_date)}
    if campaign.start_date > today:
        return _("starts on %(day)s") % {"day": date_format(campaign.start_date)}
    if not progress.total:
        return _("no records")
    if not progress.to_call:
        return _("nothing left to call")
    if not agents:
        return _("no agents")
    return ""


def _imports_of_today() -> list[RecordImport]:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    recent = RecordImport.objects.select_related("campaign").filter(created_at__gte=midnight)
    counts = ("progress_percent", "added_count", "duplicate_count", "faulty_count")
    columns = ("file_name", "target", "state", *counts, "campaign__code", "campaign__name")
    return list(recent.order_by("-id").only(*columns)[:SHOWN_IMPORTS])
