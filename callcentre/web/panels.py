"""The panels of the front page below the overview. They name several apps, so they belong to the roof."""

from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from callcentre.admin import may_see, user_of
from callcentre.core.scope import within_scope
from campaigns.models import RecordImport
from knowledgebase.models import Article, SearchMiss
from reports.admin.schedules import condition_of
from reports.catalogue import of_open_reports
from reports.models import Export, ExportMail
from webhooks.models import Webhook

SHOWN, SHOWN_IMPORTS = 5, 10
# Failures of reports are shown for so long.
RECENT = timedelta(days=7)


def campaigns_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the imports of today."""
    if not request.user.has_perm("campaigns.view_campaign"):
        return None
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    imports = within_scope(RecordImport.objects.select_related("campaign"), user_of(request))
    counts = ("progress_percent", "added_count", "duplicate_count", "faulty_count")
    columns = ("file_name", "target", "state", *counts, "campaign__code", "campaign__name")
    today = imports.filter(created_at__gte=midnight).order_by("-id").only(*columns)
    return {"template": "admin/campaigns/dashboard.html", "imports": list(today[:SHOWN_IMPORTS])}


def knowledgebase_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel's context; None if there is neither an article nor a search without a result."""
    if not may_see(request.user, "knowledgebase", "article"):
        return None
    is_told = may_see(request.user, "knowledgebase", "searchmiss")
    misses = list(SearchMiss.objects.select_related("catalog")[:SHOWN]) if is_told else []
    published = Article.objects.published().count()
    drafts = Article.objects.with_drafts().count()
    if not (misses or published or drafts):
        return None
    return {
        "template": "admin/knowledgebase/dashboard.html",
        "misses": misses,
        "voted_down": list(Article.objects.voted_down()[:SHOWN]),
        "published": published,
        "drafts": drafts,
        "articles_url": reverse("admin:knowledgebase_article_changelist"),
        "misses_url": reverse("admin:knowledgebase_searchmiss_changelist"),
    }


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


def webhooks_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Return the panel's context; None if no webhook is registered, or one is in trouble."""
    if not may_see(request.user, "webhooks", "webhook"):
        return None
    if not Webhook.objects.registered().exists() or Webhook.objects.troubled().exists():
        return None
    return {"template": "admin/webhooks/dashboard.html", "webhooks_url": reverse("admin:webhooks_webhook_changelist")}
