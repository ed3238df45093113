"""The search of a catalog: its statements, its hits with the fragments that readers see, and words spelled alike."""

import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID

from callcentre.core.statements import rows_of
from knowledgebase.models.catalog import Catalog
from knowledgebase.models.term import COMMON_FROM, LEMMA
from knowledgebase.search import ranking
from knowledgebase.search.highlight import Highlighter, words_like
from knowledgebase.search.query import Query, fold, parse
from knowledgebase.search.ranking import Frequency

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


MAX_HITS = 50
# Characters of a text in which a fragment is looked for first. A text that matches only later is then read whole.
_READ = 8000


class _Article(NamedTuple):
    id: str
    title: str
    category_id: str
    category_name: str
    # The text, or its first _READ characters.
    beginning: str


class _Fact(NamedTuple):
    """One row of knowledgebase_search (migrations/0001_initial.sql): `kind` says which of the other columns are set."""

    kind: str
    place: int
    term: str
    articles: int
    levels: list[int]
    counts: list[int]
    id: str
    title: str
    category_id: str
    category_name: str
    beginning: str | None


# One statement reads what the catalog knows about the words; if none of them is common, also the hits.
SEARCH = """
SELECT kind, place, term, articles, levels, counts, id::text, title, category_id::text, category_name, beginning
FROM knowledgebase_search(%(catalog)s, %(words)s::text[], %(places)s::integer[], %(lows)s::text[], %(highs)s::text[],
                          %(first)s, %(last)s, %(common)s, %(hits)s, %(read)s)
"""
HITS = """
SELECT id::text, title, category_id::text, category_name, beginning
FROM knowledgebase_hits(%(catalog)s, knowledgebase_queries(%(language)s, %(first)s, %(last)s),
                        %(candidates)s::tsquery, %(hits)s, %(read)s, %(all_written)s)
"""
LATE = "SELECT id::text, text FROM knowledgebase_article WHERE id = ANY(%(late)s::uuid[])"
FORMS = """
SELECT word FROM unnest(%(words)s::text[]) AS given(word)
WHERE tsvector_to_array(to_tsvector('knowledgebase_{language}', word)) && %(stems)s::text[]
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """An article that was found. Ids are text, as the API answers them."""

    id: str
    title: str
    category_id: str
    category_name: str
    highlight: str


def find(catalog_id: UUID, text: str) -> list[Hit] | None:
    """Return the best hits of a search, best first; None if there is no such catalog.

    If no article has all the words, correct the words that no article has, and search again.
    """
    query = parse(text)
    if not query.terms:
        return [] if Catalog.objects.filter(pk=catalog_id).exists() else None
    hits = _search(catalog_id, query)
    if hits == [] and (other := corrected(catalog_id, query)) is not None:
        return _search(catalog_id, other)
    return hits


def _search(catalog_id: UUID, query: Query) -> list[Hit] | None:
    facts = _WordFacts.of(catalog_id, query)
    if facts is None:
        return None
    articles = _best_articles(catalog_id, query, facts) if facts.articles_found is None else facts.articles_found
    return _with_highlights(query, facts, articles)


@dataclass(slots=True)
class _WordFacts:
    """The facts that a catalog has about the words of a query."""

    language: str
    articles: int
    # How common the words are, in all their forms and as they are written.
    words: list[Frequency]
    written: list[Frequency]
    stems: list[str] = field(default_factory=list)
    # The forms of words that the dictionary has.
    forms: dict[str, set[str]] = field(default_factory=dict)
    # All articles that match, if no word is common; else None.
    articles_found: list[_Article] | None = None

    @classmethod
    def of(cls, catalog_id: UUID, query: Query) -> "_WordFacts | None":
        words = [fold(word) for term in query.wanted for word in term.words]
        is_prefix = query.terms[-1].is_prefix
        ranges = [
            (place, *terms)
            for place, word in enumerate(words, start=1)
            for terms in _term_ranges(word, is_prefix=is_prefix and place == len(words))
        ]
        places, lows, highs = zip(*ranges, strict=True)
        asked = {"words": words, "places": [*places], "lows": [*lows], "highs": [*highs], "common": COMMON_FROM}
        rows = [_Fact(*row) for row in rows_of(SEARCH, _parameters(catalog_id, query) | asked)]
        if not rows:
            return None
        catalog = rows[0]
        facts = cls(catalog.term, catalog.articles, [Frequency() for _ in words], [Frequency() for _ in words])
        if is_prefix and len(words[-1]) > 3:
            facts.words[-1].beginning = facts.written[-1].beginning = f"={words[-1]}"
        for row in rows[1:]:
            if row.kind == "stem" and row.beginning is not None:
                facts.forms.setdefault(words[row.place - 1], set()).update(row.beginning.split())
            elif row.kind == "stem":
                facts.stems.append(row.term)
            elif row.kind == "term":
                facts.words[row.place - 1].add(row.term, row.articles, row.levels, row.counts)
                if not row.term.startswith(LEMMA):
                    facts.written[row.place - 1].add(row.term, row.articles, row.levels, row.counts)
        if all(row.kind != "term" for row in rows):
            facts.articles_found = [
                _Article(row.id, row.title, row.category_id, row.category_name, row.beginning or "")
                for row in rows
                if row.kind == "hit"
            ]
        return facts


def _term_ranges(word: str, *, is_prefix: bool) -> list[tuple[str, str]]:
    """Return ranges of terms that stand for a word: the first term, and the first term after the range."""
    equal, begun = (f"={word}", f"={word}\x01"), (f"^{word}", f"^{word}\x01")
    if not is_prefix:
        return [equal]
    return [begun] if len(word) <= 3 else [(f"={word}", f"={word}\U0010ffff"), begun]


def _parameters(catalog_id: UUID, query: Query) -> dict[str, Any]:
    first, last = Query(query.terms[:-1]), Query(query.terms[-1:])
    return {
        "catalog": catalog_id,
        "first": first.tsquery(),
        "last": last.tsquery(),
        "hits": MAX_HITS,
        "read": _READ,
    }


def _best_articles(catalog_id: UUID, query: Query, facts: _WordFacts) -> list[_Article]:
    parameters = _parameters(catalog_id, query) | {"language": facts.language, "candidates": None, "all_written": False}
    rows: list[Any] = []
    candidates, all_written = ranking.candidates(facts.words, facts.written, facts.articles)
    if candidates:
        rows = rows_of(HITS, {**parameters, "candidates": candidates, "all_written": all_written})
    if len(rows) < MAX_HITS:
        # A phrase or an unwanted word can leave fewer candidates than expected. Then rank all articles.
        rows = rows_of(HITS, parameters)
    return [_Article(*row) for row in rows]


def _with_highlights(query: Query, facts: _WordFacts, articles: list[_Article]) -> list[Hit]:
    stemmed = _stemmed(facts, (text for article in articles for text in (article.title, article.beginning)))
    highlighter = Highlighter(query.wanted, stemmed, facts.forms)
    texts = {article.id: article.beginning for article in articles}
    if late := [pk for pk, text in texts.items() if len(text) == _READ and not highlighter.matches(text)]:
        texts |= dict(rows_of(LATE, {"late": late}))
    return [Hit(*article[:4], highlighter.mark(article.title, texts[article.id])) for article in articles]


def _stemmed(facts: _WordFacts, texts: Iterable[str]) -> list[str]:
    """Return the words of the texts that have the stem of a word of the query."""
    words = {word for text in texts for word in words_like(facts.stems, text)} if facts.stems else set()
    if not words:
        return []
    parameters = {"words": [*words], "stems": facts.stems}
    return [word for (word,) in rows_of(FORMS.format(language=facts.language), parameters)]
