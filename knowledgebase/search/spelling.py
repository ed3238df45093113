"""Words that no article has are taken for others: with two letters in each other's place, or that look like them, by
the trigrams they share. Of a short word two letters that change places leave hardly a trigram as it was.
"""

from dataclasses import replace
from uuid import UUID

from django.db import connection

from knowledgebase.search.query import Query, fold

# More words than that nobody mistypes at once.
MAX_WORDS = 8
# Words -> the one most like each, "" for none. One that the catalog has, or that begins one that it has, is right.
SIMILAR = """
SELECT w.word,
  CASE WHEN known.term IS NOT NULL THEN w.word ELSE coalesce(substr(coalesce(turned.term, like_it.term), 2), '') END
FROM unnest(%(words)s::text[]) AS w(word)
LEFT JOIN LATERAL (
  SELECT t.term FROM knowledgebase_term t
  WHERE t.catalog_id = %(catalog)s AND t.term >= '=' || w.word
    AND (t.term = '=' || w.word OR w.word = %(beginning)s AND t.term < '=' || w.word || chr(1114111))
  LIMIT 1
) AS known ON true
LEFT JOIN LATERAL (
  SELECT t.term FROM generate_series(1, length(w.word) - 1) AS i, knowledgebase_term t
  WHERE t.catalog_id = %(catalog)s AND known.term IS NULL
    AND t.term = '=' || overlay(w.word placing reverse(substr(w.word, i, 2)) from i for 2)
  ORDER BY t.articles DESC, t.term LIMIT 1
) AS turned ON true
LEFT JOIN LATERAL (
  SELECT t.term FROM knowledgebase_term t
  WHERE t.catalog_id = %(catalog)s AND t.term %% ('=' || w.word) AND t.term LIKE '=%%'
    AND known.term IS NULL AND turned.term IS NULL
  ORDER BY similarity(t.term, '=' || w.word) DESC, t.articles DESC, t.term LIMIT 1
) AS like_it ON true
"""


def mended(catalog_id: UUID, query: Query) -> Query | None:
    """The query with its mistyped words put right; None where there are none, or one is like nothing known."""
    words = list(dict.fromkeys(fold(word) for term in query.wanted for word in term.words))
    if len(words) > MAX_WORDS:
        return None
    beginning = fold(query.terms[-1].words[-1]) if query.terms[-1].is_prefix else ""
    with connection.cursor() as cursor:
        cursor.execute(SIMILAR, {"words": words, "catalog": catalog_id, "beginning": beginning})
        meant = dict(cursor.fetchall())
    if not all(meant.values()) or all(word == other for word, other in meant.items()):
        return None
    terms = (
        term if term.is_negative else replace(term, words=tuple(meant[fold(word)] for word in term.words))
        for term in query.terms
    )
    return Query(tuple(terms))
