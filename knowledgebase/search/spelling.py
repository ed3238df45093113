"""Corrections for words that no article has: a word one typing error away, or the one with the most common trigrams.

One error in a short word changes most of its trigrams, so words one error away are looked up first.
"""

import string
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from callcentre.core.statements import rows_of
from knowledgebase.search.query import Query, fold

# A query with more words is not corrected.
MAX_WORDS = 8
# A shorter word is one letter away from too many others. For a longer one trigrams are enough, and it would have too
# many variants: a sentence in Chinese is one word.
SHORTEST, LONGEST = 3, 16
# For each word the most similar one, or "". A word is correct if the catalog has it, a word that begins with it, or
# another of its forms.
SIMILAR = """
SELECT w.word,
  CASE WHEN known.term IS NOT NULL OR inflected.term IS NOT NULL THEN w.word
       ELSE coalesce(substr(coalesce(near.term, like_it.term), 2), '') END
FROM unnest(%(words)s::text[]) AS w(word)
LEFT JOIN LATERAL (
  SELECT t.term FROM knowledgebase_term t
  WHERE t.catalog_id = %(catalog)s AND t.term >= '=' || w.word
    AND (t.term = '=' || w.word OR w.word = %(beginning)s AND t.term < '=' || w.word || chr(1114111))
  LIMIT 1
) AS known ON true
LEFT JOIN LATERAL (
  SELECT t.term FROM knowledgebase_lemmas(w.word) AS l
  JOIN knowledgebase_term t ON t.catalog_id = %(catalog)s AND t.term = '=~' || l.lemma
  WHERE known.term IS NULL
  LIMIT 1
) AS inflected ON true
LEFT JOIN LATERAL (
  SELECT t.term FROM unnest(%(typed)s::text[], %(meant)s::text[], %(turned)s::bool[]) AS slip(typed, meant, is_turned)
  JOIN knowledgebase_term t ON t.catalog_id = %(catalog)s AND t.term = slip.meant
  WHERE slip.typed = w.word AND known.term IS NULL AND inflected.term IS NULL
  ORDER BY slip.is_turned DESC, t.articles DESC, t.term LIMIT 1
) AS near ON true
LEFT JOIN LATERAL (
  SELECT t.term FROM knowledgebase_term t
  WHERE t.catalog_id = %(catalog)s AND t.term %% ('=' || w.word) AND t.term LIKE '=%%' AND t.term NOT LIKE '=~%%'
    AND known.term IS NULL AND inflected.term IS NULL AND near.term IS NULL
  ORDER BY similarity(t.term, '=' || w.word) DESC, t.articles DESC, t.term LIMIT 1
) AS like_it ON true
"""


def corrected(catalog_id: UUID, query: Query) -> Query | None:
    """Return the query with its mistyped words corrected; None if there is none, or one has no similar word."""
    words = list(dict.fromkeys(fold(word) for term in query.wanted for word in term.words))
    if len(words) > MAX_WORDS:
        return None
    beginning = fold(query.terms[-1].words[-1]) if query.terms[-1].is_prefix else ""
    slips = [(word, f"={meant}", is_turned) for word in words for meant, is_turned in _slips(word)]
    parameters = {
        "words": words,
        "catalog": catalog_id,
        "beginning": beginning,
        "typed": [typed for typed, _meant, _turned in slips],
        "meant": [meant for _typed, meant, _turned in slips],
        "turned": [is_turned for _typed, _meant, is_turned in slips],
    }
    meant = dict(rows_of(SIMILAR, parameters))
    if not all(meant.values()) or all(word == other for word, other in meant.items()):
        return None
    terms = (
        term if term.is_negative else replace(term, words=tuple(meant[fold(word)] for word in term.words))
        for term in query.terms
    )
    return Query(tuple(terms))


def _slips(word: str) -> Iterator[tuple[str, bool]]:
    """Yield the words one typing error away, and whether the error swapped two letters."""
    places = range(len(word))
    for place in places[1:]:
        yield word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :], True
    if not SHORTEST <= len(word) <= LONGEST:
        return
    for place in places:
        yield word[:place] + word[place + 1 :], False
    for letter in {*string.ascii_lowercase, *word}:
        for place in places:
            yield word[:place] + letter + word[place + 1 :], False
            yield word[:place] + letter + word[place:], False
        yield word + letter, False
