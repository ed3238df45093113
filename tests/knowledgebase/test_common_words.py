"""Common words: only the articles in which they stand out are ranked, and the best of all are among them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from callcentre.core.statements import rows_of
from callcentre.demonstration.load.articles import fill, vocabulary
from knowledgebase.models import Catalog
from knowledgebase.search import find, ranking
from tests.conftest import kept_for_all

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def common(django_db_setup, django_db_blocker):
    """A small catalog in which what is common elsewhere by thousands is common by dozens."""
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("knowledgebase.models.term.COMMON_FROM", 20)
        patch.setattr("knowledgebase.search.hits.COMMON_FROM", 20)
        for name, value in {"ALL_RANKED": 50, "CANDIDATES": 100, "CANDIDATES_TOGETHER": 100}.items():
            patch.setattr(ranking, name, value)
        with kept_for_all(django_db_blocker, lambda: made.append(fill("Common", 300))):
            yield made[0]


def naive(catalog: Catalog, query: str) -> list[float]:
    ranks = (
        "SELECT ts_rank(search, q) FROM knowledgebase_article, to_tsquery('knowledgebase_simple', %s) q"
        " WHERE catalog_id = %s AND search @@ q ORDER BY 1 DESC LIMIT 10"
    )
    return [rank for (rank,) in rows_of(ranks, [query, catalog.pk])]


def ours(catalog: Catalog, text: str, query: str) -> list[float]:
    hits = find(catalog.pk, text)
    assert hits is not None
    ranks = (
        "SELECT ts_rank(search, to_tsquery('knowledgebase_simple', %s)) FROM unnest(%s::uuid[]) WITH ORDINALITY"
        " AS hits(id, place) JOIN knowledgebase_article USING (id) ORDER BY place LIMIT 10"
    )
    return [rank for (rank,) in rows_of(ranks, [query, [hit.id for hit in hits]])]


def is_narrowed(catalog: Catalog, text: str) -> list[bool]:
    """Of each statement: whether it ranks candidates only. The first one finds what has no common word."""
    with CaptureQueriesContext(connection) as captured:
        find(catalog.pk, text)
    return ["'::tsquery" in query["sql"] for query in captured.captured_queries]


@pytest.mark.parametrize("place", [0, 1, 4, 8])
def test_the_best_hits_of_a_common_word_equal_a_full_ranking(common, place):
    word = vocabulary()[place]

    assert ours(common, f'"{word}"', f"'{word}'") == naive(common, f"'{word}'")
    assert is_narrowed(common, word) == [False, True]


def test_a_rare_word_is_ranked_as_a_whole(common):
    assert is_narrowed(common, vocabulary()[2000]) == [False]


def test_two_common_words_are_narrowed_too(common):
    first, second = vocabulary()[:2]

    assert is_narrowed(common, f"{first} {second}")[1]
    assert len(ours(common, f"{first} {second}", f"'{first}' & '{second}':*")) == 10


def test_an_unwanted_word_does_not_shorten_the_page(common):
    first, second = vocabulary()[0], vocabulary()[30]
    counted = "SELECT count(*) FROM knowledgebase_article WHERE search @@ to_tsquery('knowledgebase_simple', %s)"
    ((count,),) = rows_of(counted, [f"'{first}' & !'{second}'"])

    hits = find(common.pk, f"{first} -{second}")

    assert hits is not None
    assert len(hits) == min(count, 50)
