from datetime import timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.advisory_locks import lock_until_commit
from knowledgebase.models.catalog import Catalog

# Version of the word forms that knowledgebase/word_forms.py makes. The worker indexes articles with a lower version
# again.
FORMS_VERSION = 1


class Lemma(models.Model):
    """A Polish lemma and all its forms, without accents. All catalogs share the rows, which never change.

    Searches read the lemmas of their words here.
    """

    lemma = models.CharField(_("lemma"), max_length=100, db_collation="C")
    forms = ArrayField(models.CharField(max_length=100, db_collation="C"), verbose_name=_("forms"))

    class Meta:
        verbose_name = _("lemma")
        verbose_name_plural = _("lemmas")
        ordering = ["lemma", "id"]
        constraints = [models.UniqueConstraint(fields=["lemma"], name="lemma_is_unique")]
        indexes = [GinIndex(fields=["forms"], name="lemma_forms", fastupdate=False)]

    def __str__(self) -> str:
        return self.lemma


# A term in fewer articles is not common: ranking all of them takes milliseconds.
COMMON_FROM = 500
# The beginning of terms for lemmas ('=~zwrot'), which are not words that a reader types.
LEMMA = "=~"
# A number that no other advisory lock of the service uses.
_COUNT_LOCK = 7_306

# Add the words of a published article, so that mistyped searches find them.
LEARN = """
INSERT INTO knowledgebase_term (catalog_id, term, articles, levels, counts)
SELECT a.catalog_id, '=' || w.lexeme, 0, '{}', '{}'
FROM knowledgebase_article a, unnest(a.search) AS w
WHERE a.id = %s AND length(w.lexeme) BETWEEN 2 AND 60
ON CONFLICT DO NOTHING
"""
# Count the articles of each word. For common words and common beginnings ('^' and up to six letters), also count the
# articles in which they stand out, level by level, best first.
COUNT = """
WITH words AS MATERIALIZED (
  SELECT word, ndoc FROM ts_stat(format(
    'SELECT search FROM knowledgebase_article WHERE is_published AND catalog_id = %%L', %(catalog)s::text))
  WHERE length(word) <= 60
), peaks AS MATERIALIZED (
  SELECT substr(word, 3) AS term, left(word, 2)::smallint AS level, ndoc FROM ts_stat(format(
    'SELECT peaks FROM knowledgebase_article WHERE is_published AND catalog_id = %%L', %(catalog)s::text))
), levels AS (
  SELECT term, array_agg(level ORDER BY level DESC) AS levels, array_agg(ndoc ORDER BY level DESC) AS counts
  FROM peaks GROUP BY term
), terms AS (
  SELECT '=' || word AS term, ndoc AS articles FROM words
  UNION ALL
  SELECT '^' || left(word, n), least(sum(ndoc), %(articles)s) FROM words, generate_series(1, 6) AS n
  WHERE length(word) >= n AND word NOT LIKE '~%%' GROUP BY 1
)
INSERT INTO knowledgebase_term (catalog_id, term, articles, levels, counts)
SELECT %(catalog)s, term, articles, coalesce(levels, '{}'), coalesce(counts, '{}')
FROM terms LEFT JOIN levels USING (term)
WHERE articles >= %(common)s AND (levels IS NOT NULL OR term LIKE '=%%')
UNION ALL
SELECT %(catalog)s, term, articles, '{}', '{}' FROM terms WHERE articles < %(common)s AND term LIKE '=%%'
ON CONFLICT DO NOTHING
"""


class TermQuerySet(models.QuerySet["Term"]):
    def learn(self, article_id: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(LEARN, [article_id])

    def count_anew(self, catalog: Catalog) -> None:
        """Count the terms of a catalog again. Searches see the old terms until this is committed."""
        started_at = timezone.now()
        with transaction.atomic(), connection.cursor() as cursor:
            lock_until_commit(_COUNT_LOCK)
            articles = catalog.articles.published().count()
            self.filter(catalog=catalog).delete()
            cursor.execute(COUNT, {"catalog": catalog.pk, "articles": articles, "common": COMMON_FROM})
            Catalog.objects.filter(pk=catalog.pk).update(counted_articles=articles, counted_at=started_at)


class Term(models.Model):
    """A word of a catalog's articles ('=word'), a lemma ('=~lemma') or a beginning of words ('^wo'), with its counts.

    Searches read here which words are common, where a common word stands out (docs/decisions/0012), and what a mistyped
    word may mean. A task counts changed catalogs each hour. Counts that are out of date make a search slower or its
    order a little worse, but never hide an article.
    """

    catalog = models.ForeignKey(Catalog, models.CASCADE, related_name="terms", verbose_name=_("catalog"))
    term = models.CharField(_("term"), max_length=64, db_collation="C")
    articles = models.PositiveIntegerField(_("articles"))
    # The levels at which the term stands out, best first, and the number of articles of each.
    levels = ArrayField(models.SmallIntegerField(), default=list)
    counts = ArrayField(models.PositiveIntegerField(), default=list)

    objects = TermQuerySet.as_manager()

    class Meta:
        verbose_name = _("term")
        verbose_name_plural = _("terms")
        ordering = ["term", "id"]
        constraints = [models.UniqueConstraint(fields=["catalog", "term"], name="term_is_unique")]
        indexes = [GinIndex(fields=["term"], name="term_similar", opclasses=["gin_trgm_ops"])]

    def __str__(self) -> str:
        return self.term


KEPT_DAYS = 90


class MissQuerySet(models.QuerySet["SearchMiss"]):
    def record(self, catalog_id: Any, query: str) -> None:
        """Count a search without a result. Case and blanks do not matter."""
        asked = {"catalog_id": catalog_id, "query": " ".join(query.lower().split())[:200]}
        self.update_or_create({"count": models.F("count") + 1, "last_at": timezone.now()}, {}, **asked)

    def old(self) -> "MissQuerySet":
        return self.filter(last_at__lt=timezone.now() - timedelta(days=KEPT_DAYS))


class SearchMiss(models.Model):
    """A search that found nothing in a catalog, and how often it was made. Editors read here what to write about.

    It is deleted 90 days after the last such search, or when an editor dismisses it.
    """

    catalog = models.ForeignKey(Catalog, models.CASCADE, related_name="misses", verbose_name=_("catalog"))
    # In lower case, with single blanks.
    query = models.CharField(_("query"), max_length=200)
    count = models.PositiveIntegerField(_("times"), default=1)
    first_at = models.DateTimeField(_("first asked"), db_default=Now())
    last_at = models.DateTimeField(_("last asked"), default=timezone.now)

    objects = MissQuerySet.as_manager()

    class Meta:
        verbose_name = _("search without a result")
        verbose_name_plural = _("searches without a result")
        ordering = ["-count", "-id"]
        constraints = [models.UniqueConstraint(fields=["catalog", "query"], name="searchmiss_is_unique")]
        indexes = [models.Index(fields=["last_at"], name="searchmiss_last_at")]

    def __str__(self) -> str:
        return self.query
