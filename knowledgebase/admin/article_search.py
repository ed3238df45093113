"""The search for published articles in all catalogs. It ranks no text, and puts titles first."""

from callcentre.core.scope import ALL, Scope
from callcentre.core.search import Hit, SearchText
from callcentre.core.statements import rows_of
from knowledgebase.search.query import parse

_HITS = """
SELECT found.id, found.title, c.name, g.name FROM (
  SELECT a.id, a.title, a.catalog_id, a.category_id FROM knowledgebase_article a
  WHERE a.is_published AND a.search @@ %(wanted)s::tsquery LIMIT 50
) AS found
JOIN knowledgebase_catalog c ON c.id = found.catalog_id
LEFT JOIN knowledgebase_category g ON g.id = found.category_id
ORDER BY callcentre_name(found.title) LIKE callcentre_plain(%(word0)s) DESC, found.title, found.id LIMIT %(shown)s
"""


def articles(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return articles with all the words, first those with the first word in the title."""
    query = parse(search.text)
    if not query.terms or search.number or search.is_address:
        return []
    rows = rows_of(_HITS, {**search.parameters, "wanted": query.tsquery(), "shown": count})
    return [Hit(pk, title, tuple(filter(None, (catalog, category)))) for pk, title, catalog, category in rows]
