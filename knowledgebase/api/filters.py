from uuid import UUID

from callcentre.api.filters import FilterSet, TextFilter
from knowledgebase.models import Article


class CategoryFilter(TextFilter):
    def parse(self, text: str) -> str:
        """Return the id. A text that is no id finds nothing, like an unknown id."""
        try:
            return str(UUID(super().parse(text)))
        except ValueError:
            return str(UUID(int=0))


class ArticleFilterSet(FilterSet):
    category_id = CategoryFilter(field_name="category_id", help_text="Articles of this category only.")

    class Meta:
        model = Article
        fields: tuple[str, ...] = ()
