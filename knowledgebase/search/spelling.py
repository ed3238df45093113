"""Words that no article has are taken for others that look like them, by the trigrams they share."""

from dataclasses import replace
from uuid import UUID

from django.db import connection

from knowledgebase.search.query import Query, fold

# More words than that nobody mistypes at once.
MAX_WORDS = 8
# Words -> the one most like each, "" for none. One that the catalog has, or that begins one that it has, is right.
SIMILAR = """
SELECT w.word, CASE WHEN known.term IS NOT NULL THEN w.word ELSE coalesce(substr(like_it.term, 2), '') END
FROM unnest(%(words)s::text[]) AS w(word)
LEFT JOIN LATERAL (
  SELECT t.term FROM knowledgebase_term t
  WHERE t.catalog_id = %(catalog)s AND t.term >= '=' || w.word
    AND (t.term = '=' || w.word OR w.word = %(beginning)s AND t.term < '=' || w.word || chr(1114111))
  LIMIT 1
) AS known ON true
LEFT JOIN LATERAL (
  SELECT t.term FROM knowledgebase_term t
  WHERE t.catalog_id = %(catalog)s AND t.term %% ('=' || w.word) AND t.term LIKE '=%%' AND known.term IS NULL
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
