from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, Inline, actor_of, column
from knowledgebase.models import Article, Catalog, Category
from knowledgebase.verbs.articles import edit_catalog


class CategoryInline(Inline):
    model = Category
    fields = ("name", "order")


@admin.register(Catalog)
class CatalogAdmin(Admin):
    """Catalogs with their language, categories and number of articles."""

    list_display = ("name", "language", "categories_count", "articles_count", "identifier")
    search_fields = ("name",)
    inlines = (CategoryInline,)
    readonly_fields = ("identifier",)

    categories_count = column(lambda catalog: int(vars(catalog)["category_count"]), description=_("categories"))
    articles_count = column(lambda catalog: int(vars(catalog)["article_count"]), description=_("published articles"))
    identifier = column(lambda catalog: str(catalog.pk), description=_("id"))

    def get_fields(self, request: HttpRequest, obj: Catalog | None = None) -> Any:
        return ("name", "language", *(("identifier",) if obj else ()))

    def for_list(self, rows: QuerySet[Catalog]) -> QuerySet[Catalog]:
        """Add the counts. A join of both would count each pair."""
        return rows.annotate(
            category_count=_count_of(Category.objects.all()),
            article_count=_count_of(Article.objects.filter(is_published=True)),
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.save(force_insert=True)
        elif values := {name: form.cleaned_data[name] for name in form.changed_data}:
            edit_catalog(Catalog.objects.get(pk=obj.pk), actor_of(request), **values)


def _count_of(rows: QuerySet[Any]) -> Coalesce:
    """Build the count of the rows of each catalog."""
    counted = rows.order_by().filter(catalog=OuterRef("pk")).values("catalog").annotate(count=Count("pk"))
    return Coalesce(Subquery(counted.values("count")), 0)
