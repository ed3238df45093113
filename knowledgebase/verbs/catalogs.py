"""Edit catalogs; lock their categories."""

from typing import Any

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import ErrorCode, Fault, Invalid
from knowledgebase.models import Catalog, Category


def edit_catalog(catalog: Catalog, actor: Actor, **values: Any) -> None:
    """Change name or language. Another language builds the index of each article again, in this transaction.

    The worker adds Polish word forms later.
    """
    with transaction.atomic():
        locked = Catalog.objects.select_for_update(no_key=True).get(pk=catalog.pk)
        for name, value in values.items():
            setattr(locked, name, value)
        locked.save(update_fields=[*values, "updated_at"])
        if "language" in values:
            catalog.articles.exclude(language=locked.language).update(language=locked.language)
            enqueue("knowledgebase.sweep_word_forms")
    catalog.refresh_from_db()


def lock_category(category_id: Any) -> Category:
    """Return the category with its catalog, locked against deletion. Raises Invalid."""
    categories = Category.objects.select_related("catalog").select_for_update(of=("self",), no_key=True)
    if (category := categories.filter(pk=category_id).first()) is None:
        raise Invalid([Fault(ErrorCode.CATEGORY_NOT_FOUND, "category")])
    return category
