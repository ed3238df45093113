from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from knowledgebase.models.catalog import Catalog
from knowledgebase.models.term import COMMON_FROM, LEMMA
from knowledgebase.search import ranking, spelling
from knowledgebase.search.highlight import Highlighter, like
from knowledgebase.search.query import Query, fold, parse
from knowledgebase.search.ranking import Frequency

MAX_HITS = 50
# Characters of a text in which a fragment is looked for at once; what matches only later is read whole.
_READ = 8000

# All that a search of rare words needs, at once: what the catalog knows of the words, and where none of them is common,
# the hits. See migrations/0005.
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
    """Of an article; ids as text, which is how they are answered."""

    id: str
    title: str
    category_id: str
    category_name: str
    highlight: str


def find(catalog_id: UUID, text: str) -> list[Hit] | None:
    """Return the best hits of a search, best first; None if there is no such catalog.

    If no article has all the words, words that no article has are taken for mistyped ones.
    """
    query = parse(text)
    if not query.terms:
        return [] if Catalog.objects.filter(pk=catalog_id).exists() else None
    hits = _found(catalog_id, query)
    if hits == [] and (mended := spelling.mended(catalog_id, query)) is not None:
        return _found(catalog_id, mended)
    return hits


def _found(catalog_id: UUID, query: Query) -> list[Hit] | None:
    known = _Known.of(catalog_id, query)
    if known is None:
        return None
    rows = _matches(catalog_id, query, known) if known.hits is None else known.hits
    return _shown(query, known, rows)


@dataclass(slots=True)
class _Known:
    """The facts that the catalog has about the words of a query."""

    language: str
    articles: int
    # How common the words are: in all their forms, and as they are written.
    words: list[Frequency]
    written: list[Frequency]
    stems: list[str] = field(default_factory=list)
    # The forms of words that the dictionary has.
    forms: dict[str, set[str]] = field(default_factory=dict)
    # All articles that match, if no word is common; else None.
    hits: list[Any] | None = None

    @classmethod
    def of(cls, catalog_id: UUID, query: Query) -> "_Known | None":
        words = [fold(word) for term in query.wanted for word in term.words]
        is_prefix = query.terms[-1].is_prefix
        meant = [
            (place, *terms)
            for place, word in enumerate(words, start=1)
            for terms in _terms(word, is_prefix=is_prefix and place == len(words))
        ]
        places, lows, highs = zip(*meant, strict=True)
        asked = {"words": words, "places": [*places], "lows": [*lows], "highs": [*highs], "common": COMMON_FROM}
        rows = _rows(SEARCH, _parameters(catalog_id, query) | asked)
        if not rows:
            return None
        _kind, _place, language, articles, *_ = rows[0]
        known = cls(language, articles, [Frequency() for _ in words], [Frequency() for _ in words])
        if is_prefix and len(words[-1]) > 3:
            known.words[-1].beginning = known.written[-1].beginning = f"={words[-1]}"
        hits = [hit for kind, _place, _term, _articles, _levels, _counts, *hit in rows if kind == "hit"]
        for kind, place, term, articles, levels, counts, *_hit, forms in rows[1:]:
            if kind == "stem" and forms is not None:
                known.forms.setdefault(words[place - 1], set()).update(forms.split())
            elif kind == "stem":
                known.stems.append(term)
            elif kind == "term":
                known.words[place - 1].add(term, articles, levels, counts)
                if not term.startswith(LEMMA):
                    known.written[place - 1].add(term, articles, levels, counts)
        if all(kind != "term" for kind, *_ in rows):
            known.hits = hits
        return known


def _terms(word: str, *, is_prefix: bool) -> list[tuple[str, str]]:
    """The terms that a word is: from the first of these on, before the second."""
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


def _matches(catalog_id: UUID, query: Query, known: _Known) -> list[Any]:
    parameters = _parameters(catalog_id, query) | {"language": known.language, "candidates": None, "all_written": False}
    rows: list[Any] = []
    candidates, all_written = ranking.candidates(known.words, known.written, known.articles)
    if candidates:
        rows = _rows(HITS, {**parameters, "candidates": candidates, "all_written": all_written})
    if len(rows) < MAX_HITS:
        # Few match; or fewer of the candidates than was thought, because of a phrase, or of words that are not wanted.
        rows = _rows(HITS, parameters)
    return rows


def _shown(query: Query, known: _Known, rows: list[Any]) -> list[Hit]:
    stemmed = _forms(known, [text for row in rows for text in (row[1], row[4])])
    highlighter = Highlighter(query.wanted, stemmed, known.forms)
    texts = {pk: text for pk, _title, _category, _name, text in rows}
    if late := [pk for pk, text in texts.items() if len(text) == _READ and not highlighter.matches(text)]:
        texts |= dict(_rows(LATE, {"late": late}))
    return [Hit(pk, title, category, name, highlighter.mark(title, texts[pk])) for pk, title, category, name, _ in rows]


def _forms(known: _Known, texts: list[str]) -> list[str]:
    """The words of these texts that are forms of the query's."""
    words = {word for text in texts for word in like(known.stems, text)} if known.stems else set()
    if not words:
        return []
    return [word for (word,) in _rows(FORMS.format(language=known.language), {"words": [*words], "stems": known.stems})]


def _rows(statement: str, parameters: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[Any] = cursor.fetchall()
    return rows
