from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models, transaction
from django.utils.translation import gettext_lazy as _

from knowledgebase.models.catalog import Catalog

# A term in fewer articles is no common one: to rank so few costs milliseconds.
COMMON_FROM = 500
# Terms of lemmas ('=~zwrot') begin so. They are no words that anyone types.
LEMMA = "=~"
# Any number will do that no other advisory lock of ours uses.
_COUNT_LOCK = 7_306

# Words of an article that was just published, for those who mistype them.
LEARN = """
INSERT INTO knowledgebase_term (catalog_id, term, articles, levels, counts)
SELECT a.catalog_id, '=' || w.lexeme, 0, '{}', '{}'
FROM knowledgebase_article a, unnest(a.search) AS w
WHERE a.id = %s AND length(w.lexeme) BETWEEN 2 AND 60
ON CONFLICT DO NOTHING
"""
# Every word, and how many articles have it. Of the common ones, and of the common beginnings ('^' and up to six
# letters), in how many articles they stand out, level by level, best first.
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
        """What the catalog's articles say now. A search sees the old terms until this is committed."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_COUNT_LOCK])
            cursor.execute("SELECT now()")
            (now,) = cursor.fetchone()
            articles = catalog.articles.published().count()
            self.filter(catalog=catalog).delete()
            cursor.execute(COUNT, {"catalog": catalog.pk, "articles": articles, "common": COMMON_FROM})
            Catalog.objects.filter(pk=catalog.pk).update(counted_articles=articles, counted_at=now)


class Term(models.Model):
    """A word of a catalog's articles ('=word'), a lemma ('=~lemma') or a beginning of words ('^wo').

    It has the counts of the time when the catalog was counted last.

    Searches read here which words are common, and where such a word stands out (docs/decisions/0012); and which word
    somebody may have meant who mistyped one. Counts that are out of date make a search slower or a little worse, never
    wrong. Counted anew every hour where articles have changed.
    """

    catalog = models.ForeignKey(Catalog, models.CASCADE, related_name="terms", verbose_name=_("catalog"))
    term = models.CharField(_("term"), max_length=64, db_collation="C")
    articles = models.PositiveIntegerField(_("articles"))
    # How much it stands out, best first; and in how many articles each.
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
