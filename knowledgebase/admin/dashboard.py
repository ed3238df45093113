"""The knowledge base's part of the front page: what readers miss, and what did not help them."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from knowledgebase.models import Article, SearchMiss

SHOWN = 5


def knowledgebase_panel(request: HttpRequest) -> dict[str, Any] | None:
    """Nothing where there is no article and no question."""
    if not request.user.has_perm("knowledgebase.view_article"):
        return None
    misses = list(SearchMiss.objects.select_related("catalog")[:SHOWN])
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
