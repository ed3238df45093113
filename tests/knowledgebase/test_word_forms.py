"""Polish words are found in all their forms, whatever else the catalog has (docs/decisions/0024)."""

import csv
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from callcentre.core.actor import SYSTEM
from callcentre.core.statements import rows_of
from knowledgebase import polish, tasks, word_forms
from knowledgebase.models import Article, Category, Lemma, Term
from knowledgebase.models.term import FORMS_VERSION
from knowledgebase.search import find, ranking
from knowledgebase.search.query import fold
from knowledgebase.verbs.articles import edit_article, edit_catalog, publish_article, withdraw_article
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleFactory, CategoryFactory

pytestmark = pytest.mark.django_db
PAIRS = Path(__file__).parent / "polish"


@pytest.fixture
def category(db):
    return CategoryFactory(catalog__language="polish")


def article(category: Category, text: str, title: str = "Wpis") -> Article:
    return ArticleFactory(category=category, title=title, content=f"<p>{text}</p>")


def pairs(name: str) -> list[tuple[str, str]]:
    with (PAIRS / name).open(encoding="utf-8") as lines:
        return [(row["query"], row["article"]) for row in csv.DictReader(lines, delimiter="\t")]


def index() -> None:
    word_forms.index_word_forms(1000)


def found(category: Category, text: str) -> list[str]:
    hits = find(category.catalog_id, text)
    assert hits is not None
    return [hit.id for hit in hits]


def share_found(category: Category, pairs: list[tuple[str, str]]) -> float:
    """Return the share of queries that find the article with another form, with and without accents."""
    wanted = [str(article(category, form).pk) for _query, form in pairs]
    for query, _form in pairs:
        article(category, query, title="Inny")
    index()
    hits = [
        pk in found(category, typed)
        for pk, (query, _) in zip(wanted, pairs, strict=True)
        for typed in (query, fold(query))
    ]
    return sum(hits) / len(hits)


@pytest.mark.trial
@pytest.mark.slow("fills a catalog")
@pytest.mark.parametrize("language", ["simple", "polish"])
def test_nine_of_ten_articles_are_found_by_another_form_beside_articles_with_the_exact_one(language):
    held_out = pairs("held_out.tsv")
    assert len(held_out) >= 200

    assert share_found(CategoryFactory(catalog__language=language), held_out) >= 0.9


@pytest.mark.slow("writes many rows")
def test_words_that_only_look_alike_are_not_found(category):
    assert share_found(category, pairs("different_words.tsv")) <= 0.05


def test_an_article_is_found_in_a_catalog_that_has_the_exact_word_elsewhere(category):
    wanted = article(category, "Trzydzieści dni.", title="Zwrot towaru")
    article(category, "Lista towarów na zwrot.", title="Magazyn")
    index()

    assert str(wanted.pk) in found(category, "zwrot towarów")


def test_exact_forms_come_first(category):
    others = [article(category, "Zwroty i zwrotów, zwrotem, zwroty.", title="Zwroty") for _ in range(3)]
    exact = article(category, "Zwrot i zwrotów, zwrotem, zwroty.", title="Zwrot")
    index()

    hits = found(category, '"zwrot"')
    assert hits[0] == str(exact.pk)
    assert set(hits[1:]) == {str(other.pk) for other in others}


@pytest.mark.parametrize(
    ("wanted", "other", "query"),
    [
        # A phrase has all forms of its words, in their order.
        ("Numery kont bankowych są tutaj.", "Bankowe konto i numer.", '"numer konta"'),
        # An unwanted word is unwanted in all forms.
        ("Opłata za przesyłkę.", "Opłata za zwroty.", "opłaty -zwrot"),
        # An article without accents is found by words with them.
        ("Ksiazki mozna zwrocic w sklepie przez trzydziesci dni.", "Sklep.", "książek sklepu"),
        # A word that the catalog has in another form is not taken for a mistyped one.
        ("Zwroty przyjmujemy.", "Zawroty głowy.", "zwrotom"),
    ],
)
def test_words_are_found_in_all_forms(category, wanted, other, query):
    found_one, _other = article(category, wanted), article(category, other)
    index()

    assert found(category, query) == [str(found_one.pk)]


def test_the_form_that_was_found_is_marked(category):
    article(category, "Termin zwrotów to 30 dni; zwrotka i zawroty nie.")
    index()
    hits = find(category.catalog_id, "zwrotem")

    assert hits is not None
    assert hits[0].highlight == "Termin <em>zwrotów</em> to 30 dni; zwrotka i zawroty nie."


def test_a_text_of_another_language_has_no_polish_forms():
    category = CategoryFactory(catalog__language="simple")
    english = article(category, "The ten dates of a domain are on the list of the customer.", title="To do")
    index()
    english.refresh_from_db()

    assert english.forms_version == FORMS_VERSION
    assert not Lemma.objects.exists()
    assert find(category.catalog_id, "tego") == []


def test_a_new_text_is_found_at_once_and_its_forms_after_the_worker(category, monkeypatch):
    sent: list[tuple[str, ...]] = []
    monkeypatch.setattr("knowledgebase.verbs.articles.enqueue", lambda *call: sent.append(call))
    wanted = article(category, "Ludzie.")
    assert found(category, "ludzie") == [str(wanted.pk)]
    assert found(category, "człowiek") == []

    assert sent == [("knowledgebase.add_word_forms", str(wanted.pk))]
    tasks.add_word_forms(str(wanted.pk))

    assert found(category, "człowiek") == [str(wanted.pk)]


def test_a_changed_text_is_indexed_again(category):
    changed = article(category, "Zwroty towarów.")
    index()
    edit_article(changed, SYSTEM, content="<p>Reklamacje towarów.</p>")
    # A draft leaves the index as it was.
    assert found(category, "zwrotem") == [str(changed.pk)]
    publish_article(changed, SYSTEM)
    changed.refresh_from_db()
    assert changed.forms_version == 0
    assert found(category, "reklamacje") == [str(changed.pk)]

    index()

    assert found(category, "reklamacji") == [str(changed.pk)]
    assert found(category, "zwrotem") == []


def test_the_sweep_indexes_old_articles_in_turns_and_counts_their_words_at_the_end(category, monkeypatch):
    for _ in range(5):
        article(category, "Zwroty towarów.")
    turns: list[str] = []
    monkeypatch.setattr(tasks, "TURN", 2)
    monkeypatch.setattr(tasks, "enqueue", turns.append)
    lemmas = Term.objects.filter(catalog=category.catalog, term="=~zwrot")
    counts = []
    for _ in range(3):
        tasks.sweep_word_forms()
        category.catalog.refresh_from_db()
        counts.append(category.catalog.counted_articles)

    assert turns == ["knowledgebase.sweep_word_forms"] * 2
    assert counts == [0, 0, 5]
    assert lemmas.get().articles == 5


def test_rows_that_the_code_before_this_wrote_are_indexed(category):
    """That code writes neither the vectors nor the version, and knows two columns less."""
    old = article(category, "Zwroty towarów.")
    index()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE knowledgebase_article SET title = %s, text = %s WHERE id = %s", ["A", "Reklamacje.", old.pk]
        )
    assert found(category, "reklamacje") == [str(old.pk)]

    index()

    assert found(category, "reklamacji") == [str(old.pk)]


def test_another_language_of_a_catalog_takes_the_forms_away_and_brings_them_back(category):
    wanted = article(category, "Zwroty towarów.")
    index()
    edit_catalog(category.catalog, SYSTEM, language="english")
    assert found(category, "zwrotem") == []
    edit_catalog(category.catalog, SYSTEM, language="polish")
    index()

    assert found(category, "zwrotem") == [str(wanted.pk)]


def test_without_the_dictionary_words_are_found_as_they_are_written(category, monkeypatch):
    monkeypatch.setattr(polish, "morfeusz2", None)
    wanted = article(category, "Ludzie.")
    index()
    wanted.refresh_from_db()

    assert wanted.forms_version == 0  # it will be indexed when there is a dictionary
    assert found(category, "ludzie") == [str(wanted.pk)]
    assert found(category, "człowiek") == []


def test_a_search_loads_no_dictionary(category, monkeypatch):
    wanted = article(category, "Zwroty towarów.")
    index()
    monkeypatch.setattr(polish, "_analyse", None)
    monkeypatch.setattr(polish, "_generator", None)

    assert found(category, "zwrotem") == [str(wanted.pk)]


@pytest.mark.parametrize("text", ["zwrotem", "zwrotem towaru", "zwrotom towarom klientom sklepom"])
def test_a_search_of_rare_words_in_all_forms_is_one_statement(category, text):
    article(category, "Zwroty towarów klientów sklepów.")
    index()
    with CaptureQueriesContext(connection) as captured:
        assert len(found(category, text)) == 1

    assert len(captured) == 1


def test_to_index_a_batch_takes_the_same_statements_before_the_articles(category):
    def statements(count):
        for number in range(count):
            article(category, f"Zwroty towarów {number}.")
        with CaptureQueriesContext(connection) as captured:
            word_forms._index(50)
        return len(captured)

    # For each article: its vectors and its terms.
    assert statements(9) - statements(4) == 5 * 2 + 1  # the first batch stores new lemmas


@pytest.mark.parametrize("word", ["ŉ", "n'ŉ zwrot", "it's ŉ'", "\\ŉ", "'' zwrot ŉa"])
def test_quotation_marks_that_a_letter_becomes_do_not_break_a_query(category, word):
    article(category, f"Zwroty {word}.")
    index()

    find(category.catalog_id, word)
    find(category.catalog_id, f'"{word} zwrotem"')


def test_articles_with_several_words_of_one_beginning_in_their_title_are_candidates():
    word = ranking.Frequency(beginning="=orde")

    word.add("=order", 1000, [20, 10], [50, 300])
    word.add("^orde", 1100, [17, 16], [20, 30])

    assert word.best(10) == "('20=orde':* | '16^orde')"
    assert word.articles == 1000


@pytest.mark.parametrize(("title", "is_marked"), [("Order orders", True), ("Order other", False), ("Or or", False)])
def test_several_words_of_one_beginning_in_a_title_stand_out(title, is_marked, db):
    article = ArticleFactory(title=title, content="<p>ordering ordered</p>")

    statement = "SELECT peaks @@ '16^orde'::tsquery FROM knowledgebase_article WHERE id = %s"
    assert rows_of(statement, [article.pk]) == [(is_marked,)]


def test_words_are_counted_where_articles_have_changed():
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
