from datetime import UTC, datetime
from typing import Any

from callcentre.api.fields import BooleanField, TextField
from callcentre.api.serializers import Input
from knowledgebase.html import with_absolute_images
from knowledgebase.models import Article, Catalog
from knowledgebase.search import Hit


class FeedbackInput(Input):
    positive = BooleanField(source="is_positive")
    user_key = TextField(required=False, max_length=255)


def instant(value: datetime) -> str:
    """Return ISO 8601 in UTC. Only the knowledge base has this format in the interface."""
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def catalog_data(catalog: Catalog) -> dict[str, Any]:
    return {
        "id": str(catalog.pk),
        "name": catalog.name,
        "language": catalog.language,
        "categories": [{"id": str(category.pk), "name": category.name} for category in catalog.categories.all()],
    }


def article_data(article: Article, base: str) -> dict[str, Any]:
    """Return an article as JSON. `base` is our own address, for the images of the article."""
    return {
        "id": str(article.pk),
        "title": article.title,
        "content": with_absolute_images(article.content, base),
        "category_id": str(article.category_id),
        "category_name": article.category.name,
        "catalog_id": str(article.catalog_id),
        "feedback": feedback_data(article),
        "user_login": article.author.login if article.author else "",
        "created_at": instant(article.created_at),
        # A draft changes nothing for readers.
        "updated_at": instant(article.published_at or article.updated_at),
    }


def feedback_data(article: Article) -> dict[str, int]:
    return {"positive": article.positive_count, "negative": article.negative_count}


def hit_data(hit: Hit) -> dict[str, str]:
    return {
        "id": hit.id,
        "title": hit.title,
        "category_id": hit.category_id,
        "category_name": hit.category_name,
        "highlight": hit.highlight,
    }
