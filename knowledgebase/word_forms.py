"""Word forms of articles: the worker looks up the words of an article and adds their lemmas to its index.

A search finds a new text at once by the words as they are written, and by other forms after the worker has run. While
the worker indexes older articles again (FORMS_VERSION), searches use their previous index.
"""

from typing import Any
from uuid import UUID

from django.db import connection, transaction

from knowledgebase import polish
from knowledgebase.models import Article, Catalog, Lemma, Term
from knowledgebase.models.catalog import Language
from knowledgebase.models.term import FORMS_VERSION
from knowledgebase.search.query import WORD

# The index has so many characters of a text (knowledgebase_words).
_INDEXED = 100_000
_BATCH = 50
ADD_LEMMAS = """
UPDATE knowledgebase_article
SET search = made.vector, peaks = knowledgebase_peaks(made.vector), forms_version = %(version)s
FROM (
  SELECT knowledgebase_with_lemmas(
    knowledgebase_vector(language, title, text), %(words)s::text[], %(lemmas)s::text[]) AS vector
  FROM knowledgebase_article WHERE id = %(id)s
) AS made
WHERE id = %(id)s
"""


def add_word_forms(article_id: UUID) -> None:
    """Index one article that was published or changed."""
    _index(1, pk=article_id)


def index_word_forms(limit: int) -> int:
    """Index at most `limit` articles, and return their number.

    If no article of a catalog waits any more, count its terms again: searches need to know how common the lemmas are.
    """
    indexed: list[Article] = []
    while len(indexed) < limit and (batch := _index(min(_BATCH, limit - len(indexed)))):
        indexed += batch
    for catalog in Catalog.objects.filter(pk__in={article.catalog_id for article in indexed}):
        if not catalog.articles.without_word_forms().exists():
            Term.objects.count_anew(catalog)
    return len(indexed)


def _index(limit: int, **filters: UUID) -> list[Article]:
    """Index some articles in one transaction; skip those that another process has locked."""
    if not polish.is_installed():
        return []
    with transaction.atomic():
        waiting = Article.objects.without_word_forms().filter(**filters).order_by("forms_version")
        articles = list(waiting.select_for_update(skip_locked=True, no_key=True)[:limit])
        found = {article.pk: _lemmas(article) for article in articles}
        _learn({lemma for words in found.values() for lemmas in words.values() for lemma in lemmas})
        for article_id, lemmas_by_word in found.items():
            if lemmas_by_word:
                _add_lemmas(article_id, lemmas_by_word)
        others = [article_id for article_id, lemmas_by_word in found.items() if not lemmas_by_word]
        Article.objects.filter(pk__in=others).update(forms_version=FORMS_VERSION)
    return articles


def _lemmas(article: Article) -> dict[str, set[str]]:
    words = WORD.findall(f"{article.title} {article.text[:_INDEXED]}")
    return polish.lemmas_by_word(words, is_polish=article.language == Language.POLISH)


def _learn(lemmas: set[str]) -> None:
    """Store the forms of lemmas that no article had before.

    Store them in order, so that two workers with the same lemmas cannot deadlock.
    """
    known = Lemma.objects.filter(lemma__in=lemmas).values_list("lemma", flat=True)
    new = [Lemma(lemma=lemma, forms=sorted(polish.forms_of(lemma))) for lemma in sorted(lemmas.difference(known))]
    Lemma.objects.bulk_create(new, ignore_conflicts=True)


def _add_lemmas(article_id: UUID, lemmas_by_word: dict[str, set[str]]) -> None:
    pairs = [(word, lemma) for word, lemmas in lemmas_by_word.items() for lemma in sorted(lemmas)]
    values: dict[str, Any] = {
        "id": article_id,
        "version": FORMS_VERSION,
        "words": [word for word, _lemma in pairs],
        "lemmas": [lemma for _word, lemma in pairs],
    }
    with connection.cursor() as cursor:
        cursor.execute(ADD_LEMMAS, values)
    Term.objects.learn(article_id)
