"""Searches of 50,000 articles of 250 words over HTTP, and whether they keep the ten best hits of naive ranking.

python -m benchmarks.knowledgebase [ARTICLES]
"""

import itertools
import json
import random
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import psycopg

from benchmarks.harness import WARM_UP, Service, Table, manage, medians, service

FILL = "from callcentre.demonstration.load.articles import fill; print(fill('Benchmark', {articles}).pk)"
COLUMNS = "a.id, a.title, a.category_id, k.name, a.text"
MATCHES = """
FROM knowledgebase_article a JOIN knowledgebase_category k ON k.id = a.category_id
WHERE a.catalog_id = %s AND a.is_published AND a.search @@ to_tsquery('knowledgebase_simple', %s)
"""
UNRANKED = f"SELECT {COLUMNS} {MATCHES} LIMIT 20"
RANKED = f"SELECT {COLUMNS} {MATCHES} ORDER BY ts_rank(a.search, to_tsquery('knowledgebase_simple', %s)) DESC LIMIT 50"
# The rank of the tenth hit, and the ranks of the answered hits, in their order.
TENTH = """
SELECT ts_rank(search, q) FROM knowledgebase_article, to_tsquery('knowledgebase_simple', %s) q
WHERE catalog_id = %s AND is_published AND search @@ q ORDER BY 1 DESC OFFSET 9 LIMIT 1
"""
RANKS = """
SELECT ts_rank(search, q) FROM unnest(%s::uuid[]) WITH ORDINALITY AS hits(id, place)
JOIN knowledgebase_article USING (id), to_tsquery('knowledgebase_simple', %s) q ORDER BY place
"""
SAMPLES = 200
EPSILON = 1e-6


def measure(running: Service, articles: int, turns: int = 200) -> None:
    print(f"filling in {articles:,} articles …", file=sys.stderr)
    catalog = manage(running.environment, "shell", "-v0", "-c", FILL.format(articles=articles)).strip()
    connection = running.connect()
    words = _Words(connection, catalog)
    client = running.client()
    table = Table(f"Searches of {articles:,} articles")
    table.head()

    def search(text: str) -> Any:
        path = f"/api/knowledge_base/catalogs/{catalog}/search?query={quote(text)}"
        return json.loads(client.send("GET", path, expect=200))["articles"]

    def compare(what: str, bound_is: str, texts: Iterator[str], statement: str, goal: float) -> None:
        current = [""]

        def bound() -> None:
            current[0] = next(texts)
            query = tsquery(current[0])
            connection.execute(statement, [catalog, query, query][: statement.count("%s")], prepare=True).fetchall()

        ranked, pinged, ours = medians(
            turns,
            bound,
            lambda: client.send("GET", "/api/ping", expect=204),
            lambda: search(current[0]),
            warm_up=WARM_UP,
        )
        table.add(what, bound_is, ranked, ours, ping=pinged, goal_above_ping=goal)

    rare = itertools.cycle(words.between(10, 100)[:100])
    common = words.between(int(articles * 0.85), int(articles * 0.95))
    pairs = itertools.cycle([f"{one} {other}" for one, other in itertools.permutations(common, 2)])
    prefixes = itertools.cycle([word[:length] for word in common for length in (2, 3)])
    compare("a rare word", "the ranked query", rare, RANKED, 1.6)
    first = "the unranked first 20"
    compare("a word in 90 % of the articles", first, itertools.cycle(common), UNRANKED, 4)
    compare("two such words", first, pairs, UNRANKED, 4)
    compare("a prefix of two or three letters", first, prefixes, UNRANKED, 4)
    _report(connection, catalog, words, search)
    connection.close()


def tsquery(text: str) -> str:
    """Return the query that the search makes of plain words: the last word is a prefix."""
    *first, last = text.split()
    return " & ".join([*(f"'{word}'" for word in first), f"'{last}':*"])


class _Words:
    """Return words of articles by frequency, and combinations of them as people search."""

    def __init__(self, connection: psycopg.Connection[Any], catalog: str) -> None:
        counted = "SELECT substr(term, 2), articles FROM knowledgebase_term WHERE catalog_id = %s AND term LIKE '=%%'"
        self._articles = connection.execute(f"{counted} ORDER BY term", [catalog]).fetchall()
        sample = "SELECT title || ' ' || text FROM knowledgebase_article WHERE catalog_id = %s ORDER BY id LIMIT 500"
        self._texts = [text.rstrip(".").split() for (text,) in connection.execute(sample, [catalog])]

    def between(self, low: int, high: int) -> list[str]:
        return [word for word, articles in self._articles if low <= articles <= high and len(word) > 3]

    def queries(self) -> Iterator[tuple[str, str]]:
        """Yield kind and text: words of one article, common words, and unfinished words."""
        chance = random.Random(3)
        common = [word for word, articles in self._articles if articles > len(self._texts) * 10]
        for position in range(SAMPLES):
            words = chance.sample(chance.choice(self._texts), 3)
            match position % 8:
                case 0 | 1 | 2:
                    yield "one word of an article", words[0]
                case 3 | 4:
                    yield "two words of an article", " ".join(words[:2])
                case 5:
                    yield "three words of an article", " ".join(words)
                case 6:
                    yield "two common words", " ".join(chance.sample(common, 2))
                case _:
                    yield "the beginning of a word", words[0][: chance.randint(1, 4)]


def _report(connection: psycopg.Connection[Any], catalog: str, words: _Words, search: Any) -> None:
    """Count the sample queries whose ten best are all among the hits, and those whose ten best come first."""
    kinds: dict[str, list[int]] = {}
    for kind, text in words.queries():
        query = tsquery(text)
        tenth = connection.execute(TENTH, [query, catalog]).fetchone()
        ids = [hit["id"] for hit in search(text)]
        ranks = [rank for (rank,) in connection.execute(RANKS, [ids, query])]
        wanted = tenth[0] - EPSILON if tenth else -1.0
        needed = 10 if tenth else len(ranks)
        kept = sum(rank >= wanted for rank in ranks) >= needed
        first = sum(rank >= wanted for rank in ranks[:10]) >= needed
        row = kinds.setdefault(kind, [0, 0, 0])
        row[0] += 1
        row[1] += kept
        row[2] += first
    print("\n| sample queries | how many | ten best on the first page | as the first ten |\n|---|---|---|---|")
    total = [sum(column) for column in zip(*kinds.values(), strict=True)]
    for kind, row in [*kinds.items(), ("all", total)]:
        print(f"| {kind} | {row[0]} | {row[1]} | {row[2]} |")
    print(f"\n{total[1] / total[0]:.1%} keep the ten best (goal: 95 %)")


def main() -> None:
    articles = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with service(0) as running:
        measure(running, articles)


if __name__ == "__main__":
    main()
