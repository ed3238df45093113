from celery import shared_task
from django.db.models import F, Q

from knowledgebase.models import Article, ArticleImage, Catalog, SearchMiss, Term


@shared_task(name="knowledgebase.count_terms")
def count_terms() -> None:
    """Catalogs with an article that was changed since they were counted; one that lost some shrinks in time."""
    changed = Article.objects.filter(Q(catalog__counted_at=None) | Q(updated_at__gt=F("catalog__counted_at")))
    for catalog in Catalog.objects.filter(pk__in=changed.values("catalog")):
        Term.objects.count_anew(catalog)


@shared_task(name="knowledgebase.prune")
def prune() -> None:
    SearchMiss.objects.old().delete()
    ArticleImage.objects.forgotten().remove()
