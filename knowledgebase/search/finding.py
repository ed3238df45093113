from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from knowledgebase.models.catalog import Catalog
from knowledgebase.models.term import COMMON_FROM
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
                        %(candidates)s::tsquery, %(hits)s, %(read)s)
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
    """The best hits of a search, best first; None where there is no such catalog.

    Where no article has all the words, words that nobody wrote are taken for mistyped ones.
    """
    query = parse(text)
    if not query.terms:
        return [] if Catalog.objects.filter(pk=catalog_id).exists() else None
    known = _Known.of(catalog_id, query)
    if known is None:
        return None
    rows = _matches(catalog_id, query, known) if known.hits is None else known.hits
    hits = _shown(query, known, rows)
    if not hits and (mended := spelling.mended(catalog_id, query)) is not None:
        hits = _shown(mended, known, _matches(catalog_id, mended, known))
    return hits


@dataclass(slots=True)
class _Known:
    """What the catalog knows of the words of a query."""

    language: str
    articles: int
    words: list[Frequency]
    stems: list[str]
    # Of all articles that match, where no word is common; None where one is.
    hits: list[Any] | None

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
        known = cls(language, articles, [Frequency() for _ in words], [], None)
        hits: list[Any] = []
        if is_prefix and len(words[-1]) > 3:
            known.words[-1].beginning = f"={words[-1]}"
        for kind, place, term, articles, levels, counts, *hit in rows[1:]:
            match kind:
                case "stem":
                    known.stems.append(term)
                case "term":
                    known.words[place - 1].add(term, articles, levels, counts)
                case "hit":
                    hits.append(hit)
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
    parameters = {**_parameters(catalog_id, query), "language": known.language, "candidates": None}
    rows: list[Any] = []
    if candidates := ranking.candidates(known.words, known.articles):
        rows = _rows(HITS, {**parameters, "candidates": candidates})
    if len(rows) < MAX_HITS:
        # Few match; or fewer of the candidates than was thought, because of a phrase, or of words that are not wanted.
        rows = _rows(HITS, parameters)
    return rows


def _shown(query: Query, known: _Known, rows: list[Any]) -> list[Hit]:
    highlighter = Highlighter(query.wanted, _forms(known, [text for row in rows for text in (row[1], row[4])]))
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
