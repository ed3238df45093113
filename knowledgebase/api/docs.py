"""The knowledge base in the documents of the API."""

from callcentre.api.openapi import (
    Operation,
    Parameter,
    array,
    describe,
    document,
    integer,
    page,
    path,
    shape,
    text,
)
from callcentre.core.errors import ErrorCode
from knowledgebase.api.filters import ArticleFilterSet
from knowledgebase.api.serializers import FeedbackInput
from knowledgebase.api.views import MAX_QUERY, ArticleViewSet, CatalogViewSet
from knowledgebase.models.catalog import Language
from knowledgebase.search import MAX_HITS

ARTICLE_ID = "6f0b2c1e-8a55-4b1e-9a58-0f6c2f4f0c11"
CATALOG_ID = "0d9c6a52-5f0b-4a4c-8b1c-6a2f3f1c7e90"
CATEGORY_ID = "b1a7c3d4-2e5f-4a6b-8c9d-0e1f2a3b4c5d"
SEARCH = f"""
At most {MAX_HITS} published articles that have all the words, in any order, best first: those with the words in their
title before others. The last word may be the beginning of one. Accents and case do not matter; in a catalog with a
language, neither do inflections. `"several words"` is a phrase, `-word` leaves out articles that have it; so do words
that punctuation joins (`e-mail`) form a phrase. No other character has a meaning, and none is an error. Where no
article has all the words, those that no article has are taken for mistyped ones. Punctuation alone finds nothing.
""".strip()

describe(
    FeedbackInput,
    positive={"description": "Whether the article was of help.", "example": True},
    user_key=(
        "A text that tells your end users apart. Each has one vote, and the last one counts; without a key"
        " the vote is your own."
    ),
)


def uuid(description: str, example: str) -> dict[str, object]:
    return text(description, example, format="uuid")


FEEDBACK = shape(
    "Feedback",
    "What readers think of an article.",
    positive=integer("How many found it helpful.", 17, minimum=0),
    negative=integer("How many did not.", 2, minimum=0),
)
ARTICLE = shape(
    "Article",
    "A published article.",
    id=uuid("The article's id.", ARTICLE_ID),
    title=text("Its title.", "How to cancel an order"),
    content=text(
        "Its HTML: sanitised, without scripts and styles; images have whole addresses.",
        "<p>Open <strong>Orders</strong> and choose <em>Cancel</em>.</p>",
    ),
    category_id=uuid("Its category.", CATEGORY_ID),
    category_name=text("The category's name.", "Orders"),
    catalog_id=uuid("Its catalog.", CATALOG_ID),
    feedback=FEEDBACK,
    user_login=text("Login of the agent who wrote it; an empty string when unset.", "agent4"),
    created_at=text("When it was begun. ISO 8601, UTC.", "2026-05-04T08:15:00Z", format="date-time"),
    updated_at=text("When what readers see last changed. ISO 8601, UTC.", "2026-11-20T16:40:12Z", format="date-time"),
)
HIT = shape(
    "SearchHit",
    "An article that was found.",
    id=uuid("The article's id.", ARTICLE_ID),
    title=text("Its title, as plain text.", "How to cancel an order"),
    category_id=uuid("Its category.", CATEGORY_ID),
    category_name=text("The category's name.", "Orders"),
    highlight=text(
        "A fragment of its text with `<em>` around what was found; everything else is escaped. Where only the title"
        " has it, the title and the beginning of the text.",
        "Open Orders and choose <em>Cancel</em>.",
    ),
)
HITS = shape("SearchHits", "What a search has found.", articles=array(HIT, "Best first.", maxItems=MAX_HITS))
CATEGORY = shape(
    "Category",
    "A chapter of a catalog.",
    id=uuid("The category's id.", CATEGORY_ID),
    name=text("Its name.", "Orders"),
)
CATALOG = shape(
    "Catalog",
    "A body of articles that is searched as one.",
    id=uuid("The catalog's id.", CATALOG_ID),
    name=text("Its name.", "Customer help"),
    language=text(
        "The language whose inflections a search knows; `simple` for none.", "simple", enum=list(Language.values)
    ),
    categories=array(CATEGORY, "Its categories, in order."),
)
QUERY = Parameter(
    "query",
    {"type": "string", "minLength": 1, "maxLength": MAX_QUERY},
    "What to look for.",
    (ErrorCode.EMPTY, ErrorCode.TOO_LONG),
    is_required=True,
)

document(
    ArticleViewSet,
    {"article_id": path("articleId", "Id of the article.", ARTICLE_ID, ErrorCode.ARTICLE_NOT_FOUND)},
    retrieve=Operation(
        id="read_article",
        summary="Read an article",
        description="Drafts, and articles that were taken back, are not there.",
        answer=ARTICLE,
    ),
    feedback=Operation(
        id="rate_article",
        summary="Say whether an article was of help",
        description="The answer has the counts with this vote.",
        is_extension=True,
        body=FeedbackInput,
        request_example={"positive": True, "user_key": "customer-1881"},
        answer=FEEDBACK,
    ),
)
document(
    CatalogViewSet,
    {"catalog_id": path("catalogId", "Id of the catalog.", CATALOG_ID, ErrorCode.CATALOG_NOT_FOUND)},
    list=Operation(
        id="list_catalogs",
        summary="List the catalogs",
        description="All of them with their categories, ordered by name.",
        is_extension=True,
        answer=array(CATALOG),
    ),
    articles=Operation(
        id="list_articles",
        summary="List the articles of a catalog",
        description="The published ones, ordered by title.",
        is_extension=True,
        filter_set=ArticleFilterSet,
        is_paged=True,
        answer=page(ARTICLE),
    ),
    search=Operation(
        id="search_articles",
        summary="Search the articles of a catalog",
        description=SEARCH,
        query=(QUERY,),
        answer=HITS,
    ),
)
