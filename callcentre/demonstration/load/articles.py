"""Articles, written by COPY, with words as common and as rare as those of a language."""

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate
from uuid import UUID

from django.db import connection, transaction

from callcentre.demonstration import add
from callcentre.demonstration.load import analyse
from knowledgebase.models import Catalog, Category, Term

CATEGORIES = 10
WORDS = 250
TITLE_WORDS = 5
VOCABULARY = 40_000
COPY = """
COPY knowledgebase_article (id, catalog_id, category_id, language, title, content, text, is_published, published_at,
                            number, published_number, positive_count, negative_count, updated_at) FROM STDIN
"""
VERSIONS = """
INSERT INTO knowledgebase_articleversion (article_id, number, title, content, removed, created_at, actor_kind,
                                          actor_name)
SELECT id, 1, title, content, '{}', now(), 'system', 'generated' FROM knowledgebase_article a
WHERE catalog_id = %s AND NOT EXISTS (SELECT FROM knowledgebase_articleversion v WHERE v.article_id = a.id)
"""
_CONSONANTS = [*"bcdfghjklłmnprstwz", "br", "st", "tr", "kl", "pr", "sz", "cz"]
_VOWELS = "aeiouyóąę"


@cache
def vocabulary() -> list[str]:
    """Return made-up words, the most common first."""
    chance = random.Random(1)  # noqa: S311  (nothing is secret here)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        syllables = chance.choice((1, 2, 2, 3, 3, 4))
        words["".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(syllables))] = None
    return list(words)


def generate(count: int) -> None:
    """Add articles to the catalog Load test; create it if it does not exist."""
    fill("Load test", count)


def fill(name: str, count: int, common: Iterable[str] = ()) -> Catalog:
    """Add published articles of 250 words to the catalog of this name, by Zipf's law, and count its terms.

    `common` are real words that are more common than the made-up ones.
    """
    catalog, _is_new = Catalog.objects.get_or_create(name=name)
    rows = [{"name": f"Category {number}"} for number in range(1, CATEGORIES + 1)]
    categories = add(Category, rows, catalog=catalog)
    known = catalog.articles.count()
    chance = random.Random(f"{name} {known}")  # noqa: S311
    with transaction.atomic(), connection.cursor() as cursor:
        with cursor.copy(COPY) as copy:
            for number, (title, text) in enumerate(_texts(count, [*common, *vocabulary()], chance), start=known):
                pk, now = UUID(int=chance.getrandbits(128), version=4), datetime.now(UTC)
                place = (pk, catalog.pk, categories[number % CATEGORIES].pk, catalog.language)
                copy.write_row((*place, title, f"<p>{text}</p>", text, True, now, 1, 1, number % 7, 0, now))
        cursor.execute(VERSIONS, [catalog.pk])
    Term.objects.count_anew(catalog)
    analyse("knowledgebase_article", "knowledgebase_term")
    return catalog


def _texts(count: int, words: list[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    for _ in range(count):
        chosen = chance.choices(words, cum_weights=weights, k=TITLE_WORDS + WORDS)
        yield " ".join(chosen[:TITLE_WORDS]).capitalize(), f"{' '.join(chosen[TITLE_WORDS:])}."
