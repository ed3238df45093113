import re

from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.pagination import LimitOffset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, Invalid, NotFound
from callcentre.core.lookups import get_or_404, pk_or_404
from knowledgebase.api.filters import ArticleFilterSet
from knowledgebase.api.serializers import FeedbackInput, article_data, catalog_data, feedback_data, hit_data
from knowledgebase.models import Article, Catalog, SearchMiss
from knowledgebase.search import find
from knowledgebase.search.query import parse
from knowledgebase.verbs.votes import cast_vote

MAX_QUERY = 200
# Characters that PostgreSQL cannot store separate words, like a blank.
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")


class CatalogViewSet(ApiViewSet):
    """Catalogs, their articles, and searches."""

    area = "knowledge_base"

    def list(self, request: Request) -> Response:
        return Response([catalog_data(catalog) for catalog in Catalog.objects.prefetch_related("categories")])

    def articles(self, request: Request, catalog_id: str) -> Response:
        catalog = get_or_404(Catalog.objects.only("pk"), catalog_id, ErrorCode.CATALOG_NOT_FOUND)
        published = Article.objects.published().filter(catalog=catalog)
        pages = LimitOffset()
        articles = ArticleFilterSet.filtered(request, published, pages.faults(request))
        keys = [row["pk"] for row in pages.paginate_queryset(articles, request, columns=["pk"])]
        found = Article.objects.select_related("category", "author").in_bulk(keys)
        base = address_of(request)
        return pages.get_paginated_response([article_data(found[pk], base) for pk in keys if pk in found])

    def search(self, request: Request, catalog_id: str) -> Response:
        pk = pk_or_404(Catalog, catalog_id, ErrorCode.CATALOG_NOT_FOUND)
        text, faults = query_of(request.query_params)
        hits = find(pk, "" if faults else text)
        if hits is None:
            raise NotFound(ErrorCode.CATALOG_NOT_FOUND)
        if faults:
            raise Invalid(faults)
        if not hits and parse(text).terms:
            SearchMiss.objects.record(pk, text)
        return Response({"articles": [hit_data(hit) for hit in hits]})


class ArticleViewSet(ApiViewSet):
    """Published articles, and the votes of readers."""

    area = "knowledge_base"

    def retrieve(self, request: Request, article_id: str) -> Response:
        article = get_or_404(
            Article.objects.published().select_related("category", "author"), article_id, ErrorCode.ARTICLE_NOT_FOUND
        )
        return Response(article_data(article, address_of(request)))

    def feedback(self, request: Request, article_id: str) -> Response:
        article = get_or_404(Article.objects.published().only("pk"), article_id, ErrorCode.ARTICLE_NOT_FOUND)
        values, faults = self.read(FeedbackInput)
        if faults:
            raise Invalid(faults)
        key: str = values.get("user_key", "")
        counted = cast_vote(article, self.principal.id, key, is_positive=values["is_positive"])
        return Response(feedback_data(counted), status=201)


def query_of(params: QueryDict) -> tuple[str, list[Fault]]:
    """Return the text of a search, and its faults. No character is a fault."""
    text = params.get("query", "").strip()
    if not text:
        return "", [Fault(ErrorCode.EMPTY, "query")]
    if len(text) > MAX_QUERY:
        return "", [Fault(ErrorCode.TOO_LONG, "query", {"limit": MAX_QUERY})]
    return _IMPOSSIBLE.sub(" ", text), []


def address_of(request: Request) -> str:
    return str(request._request.build_absolute_uri("/")).rstrip("/")
