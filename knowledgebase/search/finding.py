from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from knowledgebase.search import ranking, spelling
from knowledgebase.search.highlight import Highlighter
from knowledgebase.search.query import Query, fold, parse
from knowledgebase.search.ranking import Frequency

MAX_HITS = 50
# Characters of a text in which a fragment is looked for at once; what matches only later is read whole.
_READ = 8000

# The catalog's language and size, and of the query's words, by place: stem, and the terms that it may be.
FREQUENCIES = """
SELECT c.language, c.counted_articles, w.place, stem.lexeme, t.term, t.articles, t.levels, t.counts
FROM knowledgebase_catalog c
LEFT JOIN unnest(%(words)s::text[]) WITH ORDINALITY AS w(word, place) ON true
LEFT JOIN LATERAL (
  SELECT s.lexeme FROM unnest(to_tsvector(('knowledgebase_' || c.language)::regconfig, w.word)) AS s
  WHERE c.language <> 'simple' LIMIT 1
) AS stem ON true
LEFT JOIN knowledgebase_term t ON t.catalog_id = c.id AND t.articles >= 500 AND (
  t.term IN ('=' || w.word, '=' || stem.lexeme)
  OR w.place = %(prefix_place)s AND (
    length(w.word) <= 3 AND t.term = '^' || w.word
    OR length(w.word) > 3 AND t.term >= '=' || w.word AND t.term < '=' || w.word || chr(1114111)
  )
)
WHERE c.id = %(catalog)s
"""
SEARCH = """
SELECT a.id, a.title, a.category_id, k.name, left(a.text, %(read)s), length(a.text) > %(read)s
FROM (
  SELECT id, ts_rank(search, {query}) AS rank FROM knowledgebase_article
  WHERE catalog_id = %(catalog)s AND is_published AND search @@ {query}{candidates}
  ORDER BY rank DESC, id LIMIT %(limit)s
) AS best
JOIN knowledgebase_article a ON a.id = best.id
JOIN knowledgebase_category k ON k.id = a.category_id
ORDER BY best.rank DESC, best.id
"""
NARROWED = " AND peaks @@ %(peaks)s::tsquery"
PLAIN = "to_tsquery('knowledgebase_simple', %(plain)s)"
# In a language with inflections: all words by their stems; or the last one as the beginning of a word as it is written.
STEMMED = """(to_tsquery('knowledgebase_{language}', %(whole)s)
  || (to_tsquery('knowledgebase_{language}', %(first)s) && to_tsquery('knowledgebase_simple', %(last)s)))"""


@dataclass(frozen=True, slots=True)
class Hit:
    id: UUID
    title: str
    category_id: UUID
    category_name: str
    highlight: str


def find(catalog_id: UUID, text: str) -> list[Hit] | None:
    """The best hits of a search, best first; None where there is no such catalog.

    Where no article has all the words, words that nobody wrote are taken for mistyped ones.
    """
    query = parse(text)
    known = _Known.of(catalog_id, query)
    if known is None:
        return None
    if not query.terms:
        return []
    hits = _search(catalog_id, query, known)
    if not hits and (mended := spelling.mended(catalog_id, query)) is not None:
        query = mended
        hits = _search(catalog_id, query, known)
    return hits


@dataclass(slots=True)
class _Known:
    """What the catalog knows of the words of a query."""

    language: str
    articles: int
    words: list[Frequency]
    stems: list[str]

    @classmethod
    def of(cls, catalog_id: UUID, query: Query) -> "_Known | None":
        words = [fold(word) for term in query.wanted for word in term.words]
        is_prefix = bool(query.wanted) and query.terms[-1].is_prefix
        place_of_prefix = len(words) if is_prefix else 0
        rows = _rows(FREQUENCIES, {"words": words, "prefix_place": place_of_prefix, "catalog": catalog_id})
        if not rows:
            return None
        frequencies = [Frequency() for _ in words]
        if is_prefix and len(words[-1]) > 3:
            frequencies[-1].beginning = f"={words[-1]}"
        stems: dict[int, str] = {}
        for _language, _total, place, stem, term, articles, levels, counts in rows:
            if stem:
                stems[place] = stem
            if term:
                frequencies[place - 1].add(term, articles, levels, counts)
        return cls(rows[0][0], rows[0][1], frequencies, list(stems.values()))


def _search(catalog_id: UUID, query: Query, known: _Known) -> list[Hit]:
    parameters: dict[str, Any] = {"catalog": catalog_id, "limit": MAX_HITS, "read": _READ}
    if known.language == "simple":
        expression = PLAIN
        parameters["plain"] = query.tsquery()
    else:
        expression = STEMMED.format(language=known.language)
        first, last = Query(query.terms[:-1]), Query(query.terms[-1:])
        parameters |= {"whole": query.without_prefix().tsquery(), "first": first.tsquery(), "last": last.tsquery()}
    rows: list[Any] = []
    if peaks := ranking.candidates(known.words, known.articles):
        rows = _rows(SEARCH.format(query=expression, candidates=NARROWED), {**parameters, "peaks": peaks})
    if len(rows) < MAX_HITS:
        # Few match; or fewer of the candidates than was thought, because of a phrase, or of words that are not wanted.
        rows = _rows(SEARCH.format(query=expression, candidates=""), parameters)
    highlighter = Highlighter(query.wanted, known.stems)
    texts = {row[0]: row[4] for row in rows}
    if late := [row[0] for row in rows if row[5] and not highlighter.matches(row[4])]:
        texts |= dict(_rows("SELECT id, text FROM knowledgebase_article WHERE id = ANY(%(late)s)", {"late": late}))
    return [
        Hit(pk, title, category, name, highlighter.mark(title, texts[pk])) for pk, title, category, name, *_ in rows
    ]


def _rows(statement: str, parameters: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[Any] = cursor.fetchall()
    return rows
