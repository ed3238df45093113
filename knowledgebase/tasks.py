from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.db.models import F, Q
from django.utils import timezone

from callcentre.core.enqueue import enqueue
from knowledgebase import word_forms
from knowledgebase.models import Article, ArticleImage, Catalog, SearchMiss, Term
from knowledgebase.verbs.images import delete_images

# Articles in one run of the task: some seconds, so that other tasks run in between.
TURN = 500


@shared_task(name="knowledgebase.count_terms")
def count_terms() -> None:
    """Count the terms of catalogs with an article that has changed since the last count."""
    changed = Article.objects.filter(Q(catalog__counted_at=None) | Q(updated_at__gt=F("catalog__counted_at")))
    for catalog in Catalog.objects.filter(pk__in=changed.values("catalog")):
        Term.objects.count_anew(catalog)


@shared_task(name="knowledgebase.add_word_forms")
def add_word_forms(article_id: str) -> None:
    word_forms.add_word_forms(UUID(article_id))


@shared_task(name="knowledgebase.sweep_word_forms")
def sweep_word_forms() -> None:
    """Index articles with a lost message, and all articles after an upgrade, turn by turn."""
    if word_forms.index_word_forms(TURN) == TURN:
        enqueue("knowledgebase.sweep_word_forms")


@shared_task(name="knowledgebase.prune")
def prune() -> None:
    SearchMiss.objects.old().delete()
    # Images that were uploaded more than a day ago and belong to no article.
    delete_images(ArticleImage.objects.filter(article=None, created_at__lt=timezone.now() - timedelta(days=1)))
