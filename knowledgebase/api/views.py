import re
from uuid import UUID

from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.filters import FilterSet, TextFilter
from callcentre.api.openapi import Parameter, array, operation, page
from callcentre.api.pagination import LimitOffset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, Invalid, NotFound
from callcentre.core.lookups import get_or_404, pk_or_404
from knowledgebase.api.serializers import (
    ARTICLE,
    CATALOG,
    FEEDBACK,
    HIT,
    HITS,
    FeedbackInput,
    article_data,
    catalog_data,
)
from knowledgebase.models import Article, Catalog, SearchMiss
from knowledgebase.search import MAX_HITS, find
from knowledgebase.search.query import parse
from knowledgebase.verbs.articles import cast_vote


class CategoryFilter(TextFilter):
    def parse(self, text: str) -> str:
        """Return the id. A text that is no id finds nothing, like an unknown id."""
        try:
            return str(UUID(super().parse(text)))
        except ValueError:
            return str(UUID(int=0))


class ArticleFilterSet(FilterSet):
    category_id = CategoryFilter(field_name="category_id", help_text="Articles of this category only.")


MAX_QUERY = 200
# Characters that PostgreSQL cannot store separate words, like a blank.
_IMPOSSIBLE = re.compile("[\0\ud800-\udfff]")


SEARCH = f"""
At most {MAX_HITS} published articles that have all the words, in any order, best first: those with the words in their
title before others. The last word may be the beginning of one. Accents and case do not matter; in a catalog with a
language, neither do inflections. `"several words"` is a phrase, `-word` leaves out articles that have it; so do words
that punctuation joins (`e-mail`) form a phrase. No other character has a meaning, and none is an error. Where no
article has all the words, those that no article has are taken for mistyped ones. Punctuation alone finds nothing.
""".strip()


QUERY = Parameter(
    "query",
    {"type": "string", "minLength": 1, "maxLength": MAX_QUERY},
    "What to look for.",
    (ErrorCode.EMPTY, ErrorCode.TOO_LONG),
    is_required=True,
)


class CatalogViewSet(ApiViewSet):
    """Catalogs, their articles, and searches."""

    area = "knowledge_base"

    @operation(
        "list_catalogs",
        "List the catalogs",
        "All of them with their categories, ordered by name.",
        answer=array(CATALOG),
    )
    def list(self, request: Request) -> Response:
        return Response([catalog_data(catalog) for catalog in Catalog.objects.prefetch_related("categories")])

    @operation(
        "list_articles",
        "List the articles of a catalog",
        "The published ones, ordered by title.",
        filter_set=ArticleFilterSet,
        is_paged=True,
        answer=page(ARTICLE),
    )
    def articles(self, request: Request, catalog_id: str) -> Response:
        catalog = get_or_404(Catalog.objects.only("pk"), catalog_id, ErrorCode.CATALOG_NOT_FOUND)
        published = Article.objects.published().filter(catalog=catalog)
        pages = LimitOffset()
        articles = ArticleFilterSet.filtered(request, published, pages.faults(request))
        keys = [row["pk"] for row in pages.paginate_queryset(articles, request, columns=["pk"])]
        found = Article.objects.select_related("category", "author").in_bulk(keys)
        base = address_of(request)
        return pages.get_paginated_response([article_data(found[pk], base) for pk in keys if pk in found])

    @operation(
        "search_articles", "Search the articles of a catalog", SEARCH, is_extension=False, query=[QUERY], answer=HITS
    )
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
        return Response({"articles": [HIT.data(hit) for hit in hits]})


class ArticleViewSet(ApiViewSet):
    """Published articles, and the votes of readers."""

    area = "knowledge_base"

    @operation(
        "read_article",
        "Read an article",
        "Drafts, and articles that were taken back, are not there.",
        is_extension=False,
        answer=ARTICLE,
    )
    def retrieve(self, request: Request, article_id: str) -> Response:
        article = get_or_404(
            Article.objects.published().select_related("category", "author"), article_id, ErrorCode.ARTICLE_NOT_FOUND
        )
        return Response(article_data(article, address_of(request)))

    @operation(
        "rate_article",
        "Say whether an article was of help",
        "The answer has the counts with this vote.",
        body=FeedbackInput,
        answer=FEEDBACK,
    )
    def feedback(self, request: Request, article_id: str) -> Response:
        article = get_or_404(Article.objects.published().only("pk"), article_id, ErrorCode.ARTICLE_NOT_FOUND)
        values, faults = self.read(FeedbackInput)
        if faults:
            raise Invalid(faults)
        key: str = values.get("user_key", "")
        counted = cast_vote(article, self.principal.id, key, is_positive=values["is_positive"])
        return Response(FEEDBACK.data(counted), status=201)


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
