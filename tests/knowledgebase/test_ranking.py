"""Common words: only the articles in which they stand out are ranked, and the best of all are among them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from callcentre.core.statements import rows_of
from callcentre.demonstration.load.articles import fill, vocabulary
from knowledgebase import tasks
from knowledgebase.models import Article, Catalog, Term
from knowledgebase.search import find, ranking
from knowledgebase.verbs.articles import withdraw_article
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleFactory, CategoryFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def common(monkeypatch: pytest.MonkeyPatch, db: None) -> Catalog:
    """A small catalog in which what is common elsewhere by thousands is common by dozens."""
    monkeypatch.setattr("knowledgebase.models.term.COMMON_FROM", 20)
    monkeypatch.setattr("knowledgebase.search.hits.COMMON_FROM", 20)
    for name, value in {"ALL_RANKED": 50, "CANDIDATES": 100, "CANDIDATES_TOGETHER": 100}.items():
        monkeypatch.setattr(ranking, name, value)
    return fill("Common", 300)


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
def test_the_best_hits_of_a_common_word_equal_a_full_ranking(common: Catalog, place: int) -> None:
    word = vocabulary()[place]

    assert ours(common, f'"{word}"', f"'{word}'") == naive(common, f"'{word}'")
    assert is_narrowed(common, word) == [False, True]


def test_a_rare_word_is_ranked_as_a_whole(common: Catalog) -> None:
    assert is_narrowed(common, vocabulary()[2000]) == [False]


def test_two_common_words_are_narrowed_too(common: Catalog) -> None:
    first, second = vocabulary()[:2]

    assert is_narrowed(common, f"{first} {second}")[1]
    assert len(ours(common, f"{first} {second}", f"'{first}' & '{second}':*")) == 10


def test_an_unwanted_word_does_not_shorten_the_page(common: Catalog) -> None:
    first, second = vocabulary()[0], vocabulary()[30]
    counted = "SELECT count(*) FROM knowledgebase_article WHERE search @@ to_tsquery('knowledgebase_simple', %s)"
    ((count,),) = rows_of(counted, [f"'{first}' & !'{second}'"])

    hits = find(common.pk, f"{first} -{second}")

    assert hits is not None
    assert len(hits) == min(count, 50)


def test_articles_with_several_words_of_one_beginning_in_their_title_are_candidates() -> None:
    word = ranking.Frequency(beginning="=orde")

    word.add("=order", 1000, [20, 10], [50, 300])
    word.add("^orde", 1100, [17, 16], [20, 30])

    assert word.best(10) == "('20=orde':* | '16^orde')"
    assert word.articles == 1000


@pytest.mark.parametrize(("title", "is_marked"), [("Order orders", True), ("Order other", False), ("Or or", False)])
def test_several_words_of_one_beginning_in_a_title_stand_out(title: str, is_marked: bool, db: None) -> None:
    article = ArticleFactory(title=title, content="<p>ordering ordered</p>")

    statement = "SELECT peaks @@ '16^orde'::tsquery FROM knowledgebase_article WHERE id = %s"
    assert rows_of(statement, [article.pk]) == [(is_marked,)]


# Counting


def test_words_are_counted_where_articles_have_changed() -> None:
    category = CategoryFactory()
    ArticleFactory(category=category, title="Password", content="<p>reset reset</p>")

    tasks.count_terms()

    counted = dict(Term.objects.filter(catalog=category.catalog).values_list("term", "articles"))
    assert counted == {"=password": 1, "=reset": 1}
    category.catalog.refresh_from_db()
    assert category.catalog.counted_articles == 1
    # Words of withdrawn articles go.
    withdraw_article(Article.objects.get(), ACTOR)
    tasks.count_terms()
    assert not Term.objects.exists()
