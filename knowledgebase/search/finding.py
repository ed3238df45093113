from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from knowledgebase.models.term import COMMON_FROM
from knowledgebase.search import ranking, spelling
from knowledgebase.search.highlight import Highlighter, like
from knowledgebase.search.query import Query, fold, parse
from knowledgebase.search.ranking import Frequency

MAX_HITS = 50
# Characters of a text in which a fragment is looked for at once; what matches only later is read whole.
_READ = 8000

# The catalog's language and size; and for the words of a query, by place: the stem, and the common terms that it is.
FREQUENCIES = """
SELECT c.language, c.counted_articles, w.place, w.stem, t.term, t.articles, t.levels, t.counts
FROM knowledgebase_catalog c
LEFT JOIN LATERAL (
  SELECT place, low, high, NULL AS stem
  FROM unnest(%(lows)s::text[], %(highs)s::text[]) WITH ORDINALITY AS given(low, high, place)
  UNION ALL
  SELECT place, '=' || lexeme, '=' || lexeme || chr(1), lexeme
  FROM unnest(%(words)s::text[]) WITH ORDINALITY AS given(word, place),
       LATERAL unnest(to_tsvector(('knowledgebase_' || c.language)::regconfig, word)) AS stems
  WHERE c.language <> 'simple'
) AS w ON true
LEFT JOIN LATERAL (
  SELECT * FROM knowledgebase_term
  WHERE catalog_id = c.id AND term >= w.low AND term < w.high AND articles >= %(common)s OFFSET 0
) AS t ON true
WHERE c.id = %(catalog)s
"""
SEARCH = """
SELECT a.id, a.title, a.category_id, k.name, left(a.text, %(read)s), length(a.text) > %(read)s
FROM (
  SELECT id, {rank} AS rank FROM knowledgebase_article
  WHERE catalog_id = %(catalog)s AND is_published AND {matches}
  ORDER BY rank DESC, id LIMIT %(limit)s
) AS best
JOIN knowledgebase_article a ON a.id = best.id
JOIN knowledgebase_category k ON k.id = a.category_id
ORDER BY best.rank DESC, best.id
"""
MATCHING = "search @@ {query}"
# IS TRUE keeps the planner from reading the index of `search` too, where a common word has most of the articles.
NARROWED = "peaks @@ %(peaks)s::tsquery AND (search @@ {query}) IS TRUE"
# Both at once, as most searches are for rare words, and each statement is a way to the database and back: the hits too,
# where the catalog knows no inflections and none of the words is common.
AT_ONCE = """
WITH known AS MATERIALIZED ({frequencies})
SELECT language, counted_articles, place, stem, term, articles, levels, counts,
       NULL::uuid, NULL::text, NULL::uuid, NULL::text, NULL::text, NULL::boolean
FROM known
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, hits.* FROM ({search}) AS hits
"""
RARE = "search @@ {query} AND (SELECT bool_and(language = 'simple' AND term IS NULL) FROM known)"
FORMS = """
SELECT word FROM unnest(%(words)s::text[]) AS given(word)
WHERE tsvector_to_array(to_tsvector('knowledgebase_{language}', word)) && %(stems)s::text[]
"""
PLAIN = "to_tsquery('knowledgebase_simple', %(whole)s)"
# In a language with inflections: all words by their stems; or the last one as the beginning of a word as it is written.
# Each has its own rank, as the words of an alternative would not be ranked by how near they are.
STEMS = "to_tsquery('knowledgebase_{language}', %(whole)s)"
BEGUN = "(to_tsquery('knowledgebase_{language}', %(first)s) && to_tsquery('knowledgebase_simple', %(last)s))"


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
    # What was found at once; None where nothing was looked for yet.
    hits: list[Any] | None

    @classmethod
    def of(cls, catalog_id: UUID, query: Query) -> "_Known | None":
        words = [fold(word) for term in query.wanted for word in term.words]
        is_prefix = bool(query.wanted) and query.terms[-1].is_prefix
        ranges = [
            _range(word, is_prefix=is_prefix and place == len(words)) for place, word in enumerate(words, start=1)
        ]
        parameters = {
            "words": words,
            "lows": [low for low, _high in ranges],
            "highs": [high for _low, high in ranges],
            "common": COMMON_FROM,
            "catalog": catalog_id,
        }
        if query.terms:
            search = SEARCH.format(rank=f"ts_rank(search, {PLAIN})", matches=RARE.format(query=PLAIN))
            found = {"whole": query.tsquery(), "limit": MAX_HITS, "read": _READ}
            rows = _rows(AT_ONCE.format(frequencies=FREQUENCIES, search=search), parameters | found)
        else:
            rows = _rows(FREQUENCIES, parameters)
        hits = [row[8:] for row in rows if row[0] is None]
        rows = [row[:8] for row in rows if row[0] is not None]
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
        is_complete = rows[0][0] == "simple" and not any(word.peaks or word.articles for word in frequencies)
        return cls(rows[0][0], rows[0][1], frequencies, list(stems.values()), hits if is_complete else None)


def _range(word: str, *, is_prefix: bool) -> tuple[str, str]:
    """The terms that a word is: from the first of these on, before the second."""
    if is_prefix and len(word) > 3:
        return f"={word}", f"={word}\U0010ffff"
    term = f"{'^' if is_prefix else '='}{word}"
    return term, f"{term}\x01"


def _matches(catalog_id: UUID, query: Query, known: _Known) -> list[Any]:
    parameters: dict[str, Any] = {"catalog": catalog_id, "limit": MAX_HITS, "read": _READ}
    if known.language == "simple":
        expression, rank = PLAIN, f"ts_rank(search, {PLAIN})"
        parameters["whole"] = query.tsquery()
    else:
        stems, begun = (part.format(language=known.language) for part in (STEMS, BEGUN))
        expression, rank = f"({stems} || {begun})", f"ts_rank(search, {stems}) + ts_rank(search, {begun})"
        first, last = Query(query.terms[:-1]), Query(query.terms[-1:])
        parameters |= {"whole": query.without_prefix().tsquery(), "first": first.tsquery(), "last": last.tsquery()}
    rows: list[Any] = []
    if peaks := ranking.candidates(known.words, known.articles):
        narrowed = SEARCH.format(rank=rank, matches=NARROWED.format(query=expression))
        rows = _rows(narrowed, {**parameters, "peaks": peaks})
    if len(rows) < MAX_HITS:
        # Few match; or fewer of the candidates than was thought, because of a phrase, or of words that are not wanted.
        rows = _rows(SEARCH.format(rank=rank, matches=MATCHING.format(query=expression)), parameters)
    return rows


def _shown(query: Query, known: _Known, rows: list[Any]) -> list[Hit]:
    highlighter = Highlighter(query.wanted, _forms(known, [text for row in rows for text in (row[1], row[4])]))
    texts = {row[0]: row[4] for row in rows}
    if late := [row[0] for row in rows if row[5] and not highlighter.matches(row[4])]:
        texts |= dict(_rows("SELECT id, text FROM knowledgebase_article WHERE id = ANY(%(late)s)", {"late": late}))
    return [
        Hit(pk, title, category, name, highlighter.mark(title, texts[pk])) for pk, title, category, name, *_ in rows
    ]


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
