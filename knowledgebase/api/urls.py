from callcentre.api.routers import route
from knowledgebase.api.views import ArticleViewSet, CatalogViewSet

urlpatterns = [
    route("knowledge_base/articles/:article_id", ArticleViewSet, get="retrieve"),
    route("knowledge_base/articles/:article_id/feedback", ArticleViewSet, post="feedback"),
    route("knowledge_base/catalogs", CatalogViewSet, get="list"),
    route("knowledge_base/catalogs/:catalog_id/articles", CatalogViewSet, get="articles"),
    route("knowledge_base/catalogs/:catalog_id/search", CatalogViewSet, get="search"),
]
