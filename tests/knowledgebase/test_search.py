"""What is found, in which order, and that no character is an error."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from callcentre.core.actor import SYSTEM
from knowledgebase.models import Category, Term
from knowledgebase.search import MAX_HITS, find
from knowledgebase.search.query import parse
from knowledgebase.verbs.catalogs import edit_catalog
from tests.knowledgebase.factories import ArticleFactory, CatalogFactory, CategoryFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def category(db: None) -> Category:
    return CategoryFactory()


def article(category: Category, title: str, text: str = "", **values: Any) -> Any:
    return ArticleFactory(category=category, title=title, content=f"<p>{text}</p>", **values)


def titles(category: Category, text: str) -> list[str]:
    hits = find(category.catalog_id, text)
    assert hits is not None
    return [hit.title for hit in hits]


@pytest.mark.parametrize(
    "text",
    [
        "reset password",
        "password reset",
        "PASSWORD",
        "pass",
        "passwörd",
        "zolta lodz",
        "Żółta łódź",
        '"yellow boat"',
        "password -invoice",
        'password -"boat yellow"',
        "e-mail",
        "os.path",
        "“yellow boat”",
        "reset & password | !",
        "\ud800password",
    ],
)
def test_an_article_is_found_by_its_words_however_they_are_typed(category: Category, text: str) -> None:
    article(category, "Reset", "How the password is reset by e-mail. Żółta łódź, yellow boat, os.path.")

    assert titles(category, text) == ["Reset"]


@pytest.mark.parametrize(
    "text",
    [
        "password invoice",
        "assword",
        "passw reset",
        '"boat yellow"',
        '"passwo"',
        "password -boat",
        'password -"yellow boat"',
        "mail-e",
        "path.os",
    ],
)
def test_an_article_without_all_the_words_is_not_found(category: Category, text: str) -> None:
    article(category, "Reset", "How the password is reset by e-mail. Yellow boat, os.path.")
    Term.objects.all().delete()  # no term resembles a mistyped word

    assert titles(category, text) == []


@pytest.mark.parametrize(
    "text", ["", " ", "?!", "&|!():*<->", "\"'", "%", "-", "\0", "😀", "-password", '-"password"', "''''", "\\", "--"]
)
def test_a_query_without_words_finds_nothing(category: Category, text: str) -> None:
    article(category, "Reset", "password")

    assert titles(category, text) == []


@pytest.mark.slow("runs many examples")
@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_valid_query(text: str) -> None:
    for term in parse(text).terms:
        assert term.words
        assert not set("'\\&|!<>():*\0") & set("".join(term.words))


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200,
        "é" * 200,
        "a " * 100,
        "' ' '",
        "\\' | password",
        "password:*",
        "%s %(x)s {} $1",
        "שלום عليكم",
        "日本語の文章",
        "👩‍👩‍👧‍👦 password",
        "1e5 0x1f 3d ½ ² ß İstanbul",
        "<script>alert(1)</script>",
        "a̐éö̲",
        "\u202epassword\u202c",
    ],
)
@pytest.mark.parametrize("language", ["simple", "english"])
def test_no_query_fails(text: str, language: str) -> None:
    category = CategoryFactory(catalog__language=language)
    article(category, "Reset", f"password {text}".replace("\0", ""))

    assert titles(category, text) in ([], ["Reset"])


def test_titles_come_before_texts(category: Category) -> None:
    article(category, "Other", "invoice " * 30)
    article(category, "Invoice")
    article(category, "More", "invoice")

    assert titles(category, "invoice")[0] == "Invoice"


def test_drafts_and_other_catalogs_are_not_found(category: Category) -> None:
    article(category, "Draft", "invoice", draft=True)
    article(CategoryFactory(), "Elsewhere", "invoice")

    assert titles(category, "invoice") == []


def test_at_most_fifty_are_found(category: Category) -> None:
    for number in range(MAX_HITS + 1):
        article(category, f"Invoice {number}")

    assert len(titles(category, "invoice")) == MAX_HITS == 50


def test_an_unknown_catalog_is_none() -> None:
    assert find(CatalogFactory.build().pk, "invoice") is None


# Languages


@pytest.mark.parametrize(
    ("language", "text", "is_found"),
    [
        ("english", "invoicing", True),
        ("english", "invoice", True),
        ("english", "how do the invoices", True),
        ("english", "installat", True),
        ("english", '"paid invoice"', True),
        ("simple", "invoicing", False),
        ("simple", "invoice", True),
        ("simple", "invoices", True),
    ],
)
def test_a_language_knows_the_forms_of_its_words(language: str, text: str, is_found: bool) -> None:
    category = CategoryFactory(catalog__language=language)
    article(category, "Paying", "All paid invoices, and the installation.")
    Term.objects.all().delete()

    assert bool(titles(category, text)) is is_found


@pytest.mark.parametrize("text", ["order -cancelling", "-cancelling order", 'order -"cancelling it"'])
def test_an_unwanted_word_excludes_its_stemmed_forms(text: str) -> None:
    category = CategoryFactory(catalog__language="english")
    article(category, "Orders", "How to cancel it")

    assert titles(category, text) == []


def test_a_new_language_rebuilds_the_index() -> None:
    category = CategoryFactory()
    article(category, "Paying", "All invoices")
    Term.objects.all().delete()
    assert titles(category, "invoicing") == []

    edit_catalog(category.catalog, SYSTEM, language="english")

    assert titles(category, "invoicing") == ["Paying"]


# Mistyped words


@pytest.mark.parametrize("text", ["pasword", "passwrod", "PASWORD rest", "resset pasword"])
def test_a_mistyped_word_is_corrected(category: Category, text: str) -> None:
    article(category, "Reset", "the password")

    assert titles(category, text) == ["Reset"]


@pytest.mark.parametrize("text", ["nubmer", "nmuber", "unmber", "numbre", "ONE nubmer", "nubmer oen"])
def test_swapped_letters_are_corrected(category: Category, text: str) -> None:
    article(category, "Which number?", "The one on the parcel")

    assert titles(category, text) == ["Which number?"]


@pytest.mark.parametrize("text", ["crd", "catd", "carrd", "ard", "vard", "card lsot", "LOS card", "kard"])
def test_a_missing_extra_or_wrong_letter_is_corrected(category: Category, text: str) -> None:
    article(category, "A lost card")

    assert titles(category, text) == ["A lost card"]


def test_the_most_common_word_one_error_away_is_chosen(category: Category) -> None:
    article(category, "Cord")
    article(category, "Card")
    article(category, "Another card")
    Term.objects.count_anew(category.catalog)

    assert set(titles(category, "crd")) == {"Card", "Another card"}


def test_a_word_of_another_script_lacks_a_letter_that_is_doubled(category: Category) -> None:
    article(category, "Касса")

    assert titles(category, "каса") == ["Касса"]


def test_an_error_in_a_long_word_is_corrected(category: Category) -> None:
    article(category, "Electroencephalography")

    assert titles(category, "electroencephalografy") == ["Electroencephalography"]


@pytest.mark.parametrize(
    "text", ["".join(map(chr, range(0x4E00, 0x4E00 + 200))), ("abcdefghijklmnopqrstuvwxyz" * 8)[:200]]
)
def test_no_word_makes_a_statement_of_megabytes(category: Category, text: str) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert titles(category, text) == []

    assert max(len(query["sql"]) for query in captured.captured_queries) < 200_000


def test_a_word_is_taken_for_a_mistyped_one_only_when_nothing_matches(category: Category) -> None:
    article(category, "Password")
    article(category, "Pasword")

    assert titles(category, "pasword") == ["Pasword"]


def test_a_word_without_similar_words_finds_nothing(category: Category) -> None:
    article(category, "Password")

    assert titles(category, "xylophone") == []


# Fragments


def highlight(category: Category, text: str) -> str:
    hits = find(category.catalog_id, text)
    assert hits
    return hits[0].highlight


def test_matches_are_marked_and_all_else_is_escaped(category: Category) -> None:
    article(category, "T", "Use &lt;b&gt; &amp; \"quotes\", then ŁÓDŹ & 'more' lodzie")

    assert highlight(category, "lodz") == (
        "Use &lt;b&gt; &amp; &quot;quotes&quot;, then <em>ŁÓDŹ</em> &amp; &#x27;more&#x27; <em>lodzie</em>"
    )


def test_a_hit_in_the_title_alone_shows_the_title_and_how_the_text_begins(category: Category) -> None:
    article(category, "Reset <password>", "Open the page.")

    assert highlight(category, "reset") == "<em>Reset</em> &lt;password&gt; – Open the page."


def test_an_article_without_text_shows_its_title(category: Category) -> None:
    article(category, "Reset")

    assert highlight(category, "reset") == "<em>Reset</em>"


def test_the_fragment_is_where_most_of_the_words_are(category: Category) -> None:
    filler = "word " * 200
    article(category, "T", f"first {filler} first here the second {filler} second")

    assert "<em>first</em> here the <em>second</em>" in highlight(category, "second first")


def test_a_match_at_the_end_of_a_long_text_is_shown(category: Category) -> None:
    article(category, "T", f"{'word ' * 5000} needle")

    assert highlight(category, "needle").endswith("word <em>needle</em>")


@pytest.mark.parametrize("other", ["plain", "ż"])
def test_words_are_marked_alike_in_texts_with_and_without_accents(category: Category, other: str) -> None:
    ArticleFactory(category=category, title="T", content=f"<p>{other} Send a REFUND, refunds; unrefund refUND_s</p>")

    marked = f"{other} Send a <em>REFUND</em>, <em>refunds</em>; unrefund <em>refUND_s</em>"
    assert highlight(category, "refund") == marked


def test_a_phrase_of_a_language_is_marked_in_all_its_forms() -> None:
    category = CategoryFactory(catalog__language="english")
    article(category, "T", "Cancelled installations")

    assert highlight(category, "cancel installing") == "<em>Cancelled</em> <em>installations</em>"


def test_a_phrase_is_marked_where_its_words_are_next_to_each_other(category: Category) -> None:
    article(category, "T", "A number, and your tax – Number. E-mails")

    assert highlight(category, '"tax number" e-mail') == "A number, and your <em>tax – Number</em>. <em>E-mails</em>"


def test_a_word_that_only_begins_like_another_is_not_marked_for_it() -> None:
    category = CategoryFactory(catalog__language="english")
    article(category, "T", "A datetime has dates and numbers")

    assert highlight(category, "date number") == "A datetime has <em>dates</em> and <em>numbers</em>"
