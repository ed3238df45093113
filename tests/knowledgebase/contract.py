"""The operations of the API that belong to the knowledge base, and a world for them."""

from tests.contract import GROUP, Operation, ours
from tests.knowledgebase.factories import ArticleFactory, CatalogFactory, CategoryFactory

KNOWLEDGE = "knowledge_base:read"
CATALOG, ARTICLE = "0d9c6a52-5f0b-4a4c-8b1c-6a2f3f1c7e90", "6f0b2c1e-8a55-4b1e-9a58-0f6c2f4f0c11"
NO_CATALOG, NO_ARTICLE = f"/knowledge_base/catalogs/{ARTICLE}", f"/knowledge_base/articles/{CATALOG}"
CATALOG_SHAPE = {"id": str, "name": str, "language": str, "categories": [GROUP | {"id": str}]}
CATEGORY_OF_ARTICLE = {"category_id": str, "category_name": str}
ARTICLE_SHAPE = CATEGORY_OF_ARTICLE | {
    "id": str,
    "title": str,
    "content": str,
    "catalog_id": str,
    "feedback": {"positive": int, "negative": int},
    "user_login": str,
    "created_at": str,
    "updated_at": str,
}
HIT = CATEGORY_OF_ARTICLE | {"id": str, "title": str, "highlight": str}

OPERATIONS = [
    # INTERFACE 4.5
    Operation("GET", f"/knowledge_base/articles/{ARTICLE}", KNOWLEDGE, 200, ARTICLE_SHAPE, 2, None, NO_ARTICLE),
    Operation(
        "GET",
        f"/knowledge_base/catalogs/{CATALOG}/search?query=article",
        KNOWLEDGE,
        200,
        {"articles": [HIT]},
        2,
        None,
        f"{NO_CATALOG}/search",
    ),
    # DECISIONS 9: knowledge base
    ours("GET", "/knowledge_base/catalogs", KNOWLEDGE, 200, [CATALOG_SHAPE], 3),
    ours(
        "GET",
        f"/knowledge_base/catalogs/{CATALOG}/articles",
        KNOWLEDGE,
        200,
        {"count": int, "result": [ARTICLE_SHAPE]},
        5,
        None,
        f"{NO_CATALOG}/articles",
    ),
    ours(
        "POST",
        f"/knowledge_base/articles/{ARTICLE}/feedback",
        "knowledge_base:write",
        201,
        {"positive": int, "negative": int},
        6,
        {"positive": True},
        f"{NO_ARTICLE}/feedback",
    ),
]


def fill(size: int) -> None:
    category = CategoryFactory(catalog=CatalogFactory(pk=CATALOG))
    CategoryFactory.create_batch(size - 1)
    ArticleFactory(pk=ARTICLE, category=category, written=True)
    ArticleFactory.create_batch(size - 1, category=category, written=True)
