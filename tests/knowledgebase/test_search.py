"""What is found, in which order, and that no character is an error."""

from itertools import count
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
from knowledgebase.verbs.articles import edit_catalog
from tests.knowledgebase.factories import ArticleFactory, CatalogFactory, CategoryFactory
from tests.tiers import examples

pytestmark = pytest.mark.django_db


@pytest.fixture
def category(db):
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
def test_an_article_is_found_by_its_words_however_they_are_typed(category, text):
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
def test_an_article_without_all_the_words_is_not_found(category, text):
    article(category, "Reset", "How the password is reset by e-mail. Yellow boat, os.path.")
    Term.objects.all().delete()  # no term resembles a mistyped word

    assert titles(category, text) == []


@pytest.mark.parametrize(
    "text", ["", " ", "?!", "&|!():*<->", "\"'", "%", "-", "\0", "😀", "-password", '-"password"', "''''", "\\", "--"]
)
def test_a_query_without_words_finds_nothing(category, text):
    article(category, "Reset", "password")

    assert titles(category, text) == []


@pytest.mark.slow("runs many examples")
@given(st.text(max_size=200))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_a_valid_query(text):
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
def test_no_query_fails(text, language):
    category = CategoryFactory(catalog__language=language)
    article(category, "Reset", f"password {text}".replace("\0", ""))

    assert titles(category, text) in ([], ["Reset"])


def test_titles_come_before_texts(category):
    article(category, "Other", "invoice " * 30)
    article(category, "Invoice")
    article(category, "More", "invoice")

    assert titles(category, "invoice")[0] == "Invoice"


def test_drafts_and_other_catalogs_are_not_found(category):
    article(category, "Draft", "invoice", draft=True)
    article(CategoryFactory(), "Elsewhere", "invoice")

    assert titles(category, "invoice") == []


def test_at_most_fifty_are_found(category):
    for number in range(MAX_HITS + 1):
        article(category, f"Invoice {number}")

    assert len(titles(category, "invoice")) == MAX_HITS == 50


def test_an_unknown_catalog_is_none():
    assert find(CatalogFactory.build().pk, "invoice") is None


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
def test_a_language_knows_the_forms_of_its_words(language, text, is_found):
    category = CategoryFactory(catalog__language=language)
    article(category, "Paying", "All paid invoices, and the installation.")
    Term.objects.all().delete()

    assert bool(titles(category, text)) is is_found


@pytest.mark.parametrize("text", ["order -cancelling", "-cancelling order", 'order -"cancelling it"'])
def test_an_unwanted_word_excludes_its_stemmed_forms(text):
    category = CategoryFactory(catalog__language="english")
    article(category, "Orders", "How to cancel it")

    assert titles(category, text) == []


def test_a_new_language_rebuilds_the_index():
    category = CategoryFactory()
    article(category, "Paying", "All invoices")
    Term.objects.all().delete()
    assert titles(category, "invoicing") == []

    edit_catalog(category.catalog, SYSTEM, language="english")

    assert titles(category, "invoicing") == ["Paying"]


# Mistyped words


@pytest.mark.parametrize(
    ("title", "text", "typed"),
    [
        ("Reset", "the password", ["pasword", "passwrod", "PASWORD rest", "resset pasword"]),
        # Swapped letters; then a missing, another or a wrong one.
        ("Which number?", "The one", ["nubmer", "nmuber", "unmber", "numbre", "ONE nubmer", "nubmer oen"]),
        ("A lost card", "", ["crd", "catd", "carrd", "ard", "vard", "card lsot", "LOS card", "kard"]),
        ("Касса", "", ["каса"]),
        ("Electroencephalography", "", ["electroencephalografy"]),
    ],
)
def test_a_mistyped_word_is_corrected(category, title, text, typed):
    article(category, title, text)

    assert {each: titles(category, each) for each in typed} == {each: [title] for each in typed}


def test_the_most_common_word_one_error_away_is_chosen(category):
    article(category, "Cord")
    article(category, "Card")
    article(category, "Another card")
    Term.objects.count_anew(category.catalog)

    assert set(titles(category, "crd")) == {"Card", "Another card"}


@pytest.mark.parametrize(
    "text", ["".join(map(chr, range(0x4E00, 0x4E00 + 200))), ("abcdefghijklmnopqrstuvwxyz" * 8)[:200]]
)
def test_no_word_makes_a_statement_of_megabytes(category, text):
    with CaptureQueriesContext(connection) as captured:
        assert titles(category, text) == []

    assert max(len(query["sql"]) for query in captured.captured_queries) < 200_000


def test_a_word_is_taken_for_a_mistyped_one_only_when_nothing_matches_and_a_word_is_similar(category):
    article(category, "Password")
    article(category, "Pasword")

    assert titles(category, "pasword") == ["Pasword"]
    assert titles(category, "xylophone") == []


def highlight(category: Category, text: str) -> str:
    hits = find(category.catalog_id, text)
    assert hits
    return hits[0].highlight


LONG = "word " * 200


@pytest.mark.parametrize(
    ("language", "title", "text", "query", "marked"),
    [
        # All else is escaped.
        (
            "simple",
            "T",
            "Use &lt;b&gt; &amp; \"quotes\", then ŁÓDŹ & 'more' lodzie",
            "lodz",
            "Use &lt;b&gt; &amp; &quot;quotes&quot;, then <em>ŁÓDŹ</em> &amp; &#x27;more&#x27; <em>lodzie</em>",
        ),
        # A hit in the title alone shows the title and how the text begins.
        ("simple", "Reset <b>", "Open the page.", "reset", "<em>Reset</em> &lt;b&gt; – Open the page."),
        ("simple", "Reset", "", "reset", "<em>Reset</em>"),
        # The fragment is where most of the words are.
        (
            "simple",
            "T",
            f"first {LONG} first here the second {LONG} second",
            "second first",
            "<em>first</em> here the <em>second</em>",
        ),
        ("simple", "T", f"{LONG * 25} needle", "needle", "word <em>needle</em>"),
        # Words are marked alike in texts with and without accents.
        *(
            (
                "simple",
                "T",
                f"{other} Send a REFUND, refunds; unrefund refUND_s",
                "refund",
                f"{other} Send a <em>REFUND</em>, <em>refunds</em>; unrefund <em>refUND_s</em>",
            )
            for other in ("plain", "ż")
        ),
        # A phrase is marked in all its forms, and where its words are next to each other.
        ("english", "T", "Cancelled installations", "cancel installing", "<em>Cancelled</em> <em>installations</em>"),
        (
            "simple",
            "T",
            "A number, and your tax – Number. E-mails",
            '"tax number" e-mail',
            "A number, and your <em>tax – Number</em>. <em>E-mails</em>",
        ),
        # A word that only begins like another is not marked for it.
        (
            "english",
            "T",
            "A datetime has dates and numbers",
            "date number",
            "A datetime has <em>dates</em> and <em>numbers</em>",
        ),
    ],
    ids=count(),
)
def test_matches_are_marked_and_all_else_is_escaped(language, title, text, query, marked):
    category = CategoryFactory(catalog__language=language)
    article(category, title, text)

    hits = find(category.catalog_id, query)

    assert hits
    assert marked in hits[0].highlight
    assert LONG in text or hits[0].highlight == marked
