from callcentre.api.openapi import path
from callcentre.api.routers import route
from callcentre.core.errors import ErrorCode
from knowledgebase.api.serializers import ARTICLE_ID, CATALOG_ID
from knowledgebase.api.views import ArticleViewSet, CatalogViewSet

path("article_id", "articleId", "Id of the article.", ARTICLE_ID, ErrorCode.ARTICLE_NOT_FOUND)
path("catalog_id", "catalogId", "Id of the catalog.", CATALOG_ID, ErrorCode.CATALOG_NOT_FOUND)

urlpatterns = [
    route("knowledge_base/articles/:article_id", ArticleViewSet, get="retrieve"),
    route("knowledge_base/articles/:article_id/feedback", ArticleViewSet, post="feedback"),
    route("knowledge_base/catalogs", CatalogViewSet, get="list"),
    route("knowledge_base/catalogs/:catalog_id/articles", CatalogViewSet, get="articles"),
    route("knowledge_base/catalogs/:catalog_id/search", CatalogViewSet, get="search"),
]
