from uuid import UUID

from callcentre.api.filters import FilterSet, TextFilter
from knowledgebase.models import Article


class CategoryFilter(TextFilter):
    def parse(self, text: str) -> str:
        """One that cannot be an id finds nothing, as one that is unknown does."""
        try:
            return str(UUID(super().parse(text)))
        except ValueError:
            return str(UUID(int=0))


class ArticleFilterSet(FilterSet):
    category_id = CategoryFilter(field_name="category_id", help_text="Articles of this category only.")

    class Meta:
        model = Article
        fields: tuple[str, ...] = ()
