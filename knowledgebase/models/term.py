from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.advisory_locks import lock_until_commit
from knowledgebase.models.catalog import Catalog

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
