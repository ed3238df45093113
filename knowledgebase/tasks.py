from uuid import UUID

from celery import shared_task
from django.db.models import F, Q

from callcentre.core.enqueue import enqueue
from knowledgebase import word_forms
from knowledgebase.models import Article, ArticleImage, Catalog, SearchMiss, Term
from knowledgebase.verbs.images import delete_images

# Articles of one turn: seconds, so that other tasks get theirs.
TURN = 500


@shared_task(name="knowledgebase.count_terms")
def count_terms() -> None:
    """Catalogs with an article that was changed since they were counted; one that lost some shrinks in time."""
    changed = Article.objects.filter(Q(catalog__counted_at=None) | Q(updated_at__gt=F("catalog__counted_at")))
    for catalog in Catalog.objects.filter(pk__in=changed.values("catalog")):
        Term.objects.count_anew(catalog)


@shared_task(name="knowledgebase.add_word_forms")
def add_word_forms(article_id: str) -> None:
    word_forms.add_word_forms(UUID(article_id))


@shared_task(name="knowledgebase.sweep_word_forms")
def sweep_word_forms() -> None:
    """Index articles whose message was lost, and after an upgrade all that there are, turn by turn."""
    if word_forms.index_word_forms(TURN) == TURN:
        enqueue("knowledgebase.sweep_word_forms")


@shared_task(name="knowledgebase.prune")
def prune() -> None:
    SearchMiss.objects.old().delete()
    delete_images(ArticleImage.objects.abandoned())
