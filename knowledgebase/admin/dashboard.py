"""The knowledge base on the front page: searches without a result, and articles that did not help."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from callcentre.admin import may_see
from knowledgebase.models import Article, SearchMiss

SHOWN = 5


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
