from datetime import UTC
from typing import Any

from callcentre.api.fields import BooleanField, Input, TextField
from callcentre.api.openapi import array, count, shape, text
from knowledgebase.html import with_absolute_images
from knowledgebase.models import Article, Catalog
from knowledgebase.models.catalog import Language
from knowledgebase.search import MAX_HITS


class FeedbackInput(Input):
    positive = BooleanField("Whether the article was of help.", source="is_positive", example=True)
    user_key = TextField(
        "A text that tells your end users apart. Each has one vote, and the last one counts; without a key"
        " the vote is your own.",
        required=False,
        max_length=255,
        example="customer-1881",
    )


def instant(description: str, example: str, of: Any) -> dict[str, Any]:
    """Return a property in ISO 8601 in UTC. Only the knowledge base has this format in the interface."""
    return text(
        description, example, format="date-time", of=of, write=lambda at: f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    )


ARTICLE_ID = "6f0b2c1e-8a55-4b1e-9a58-0f6c2f4f0c11"
CATALOG_ID = "0d9c6a52-5f0b-4a4c-8b1c-6a2f3f1c7e90"
CATEGORY_ID = "b1a7c3d4-2e5f-4a6b-8c9d-0e1f2a3b4c5d"


def uuid(description: str, example: str) -> dict[str, Any]:
    return text(description, example, format="uuid", write=str)


FEEDBACK = shape(
    "Feedback",
    "What readers think of an article.",
    positive=count("How many found it helpful.", 17, of="positive_count"),
    negative=count("How many did not.", 2, of="negative_count"),
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
    category_name=text("The category's name.", "Orders", of=lambda article: article.category.name),
    catalog_id=uuid("Its catalog.", CATALOG_ID),
    feedback=FEEDBACK,
    user_login=text(
        "Login of the agent who wrote it; an empty string when unset.",
        "agent4",
        of=lambda article: article.author.login if article.author else "",
    ),
    created_at=instant("When it was begun. ISO 8601, UTC.", "2026-05-04T08:15:00Z", of="created_at"),
    # A draft changes nothing for readers.
    updated_at=instant(
        "When what readers see last changed. ISO 8601, UTC.",
        "2026-11-20T16:40:12Z",
        of=lambda article: article.published_at or article.updated_at,
    ),
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


def catalog_data(catalog: Catalog) -> dict[str, Any]:
    return CATALOG.data(catalog, categories=[CATEGORY.data(category) for category in catalog.categories.all()])


def article_data(article: Article, base: str) -> dict[str, Any]:
    """Return an article as JSON. `base` is our own address, for the images of the article."""
    content = with_absolute_images(article.content, base)
    return ARTICLE.data(article, content=content, feedback=FEEDBACK.data(article))
