"""What is different between two versions, in words and on its page."""

import random
from typing import Any

import pytest
from django.urls import reverse

from knowledgebase.comparison import MOST_STEPS, Comparison, Paragraph, _Work, compare
from knowledgebase.models import Article
from knowledgebase.verbs.articles import edit_article
from tests.backoffice import BackOffice, superuser
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleFactory

SIGNS = {"same": "", "removed": "-", "added": "+"}


def shown(paragraph: Paragraph) -> str:
    """`a -[b]+[c] d`; `…3` for three that are the same."""
    if paragraph.skipped:
        return f"…{paragraph.skipped}"
    return "".join(
        f"{SIGNS[piece.kind]}[{piece.text}]" if piece.kind != "same" else piece.text for piece in paragraph.pieces
    )


def of_contents(old: str, new: str) -> Comparison:
    return compare("T", old, "T", new)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("<p>one two</p>", "<p>one two</p>", ["…1"]),
        ("<p>It takes two days.</p>", "<p>It takes three days.</p>", ["It takes-[ two]+[ three] days."]),
        ("<p>a</p><p>b</p>", "<p>a</p><p>c and d</p>", ["a", "-[b]", "+[c and d]"]),
        ("<ul><li>a</li><li>b</li></ul>", "<ul><li>a</li><li>new</li><li>b</li></ul>", ["a", "+[new]", "b"]),
        ("<p>a</p>" * 9 + "<p>b</p>", "<p>a</p>" * 9, ["…8", "a", "-[b]"]),
        (
            "<p>one two three. four five</p>",
            "<h2>h</h2><p>one two six.</p><p>four five</p>",
            ["+[h]", "one two-[ three]+[ six].-[ four five]", "+[four five]"],
        ),
        ("<p>x</p>", '<p>x</p><img alt="A map">', ["x", "+[[A map]]"]),
        ("", "<p>&lt;b&gt;</p>", ["+[<b>]"]),
    ],
)
def test_paragraphs_are_compared_by_their_words(old: str, new: str, expected: list[str]) -> None:
    assert [shown(paragraph) for paragraph in of_contents(old, new).paragraphs] == expected


def test_a_title_is_compared_like_a_paragraph() -> None:
    assert shown(compare("How to pay", "", "How to pay late", "").title) == "How to pay+[ late]"
    assert shown(compare("Paying", "", "Refunds", "").title) == "-[Paying]+[Refunds]"


def test_formatting_alone_changes_no_words() -> None:
    comparison = of_contents("<p>one two</p>", "<p>one <b>two</b></p>")

    assert (comparison.is_text_changed, comparison.is_content_changed) == (False, True)


def test_very_long_paragraphs_are_compared_as_a_whole() -> None:
    words = "word " * 5000

    assert len(of_contents(f"<p>{words}</p>", f"<p>{words}more</p>").paragraphs) == 2


def test_a_comparison_takes_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    original = _Work.spend

    def spend(work: _Work, steps: int) -> None:
        taken.append(steps)
        original(work, steps)

    monkeypatch.setattr(_Work, "spend", spend)
    words = random.Random(1).choices("ab", k=20_000)
    old = "".join(f"<p>{' '.join(words[place : place + 200])}</p>" for place in range(0, 20_000, 40))
    new = "".join(f"<p>{' '.join(words[place : place + 200])}</p>" for place in range(20, 20_000, 50))

    comparison = of_contents(old, new)

    # The step that exceeds the bound is not taken, and none after it.
    assert sum(taken[:-1]) <= MOST_STEPS < sum(taken)
    assert comparison.is_text_changed


def test_a_long_comparison_shows_the_first_paragraphs_and_counts_the_rest(office: BackOffice) -> None:
    made = ArticleFactory(content="<p>a</p>")
    edit_article(made, ACTOR, content="".join(f"<p>{number}</p>" for number in range(2_100)))

    comparison = of_contents("<p>a</p>", "".join(f"<p>{number}</p>" for number in range(2_100)))

    assert (len(comparison.paragraphs), comparison.more) == (2_000, 101)
    assert "101 more paragraphs are not shown." in office.page(url(made, 2))


# In the admin


@pytest.fixture
def office(db: None, plain_static: Any) -> BackOffice:
    return superuser()


def url(article: Article, number: int) -> str:
    return reverse("admin:knowledgebase_articleversion_compare", args=[article.versions.get(number=number).pk])


@pytest.fixture
def article(db: None) -> Article:
    """Published as it was first, then edited twice."""
    made = ArticleFactory(title="Paying", content="<p>It takes one day.</p>")
    for days in ("two", "three"):
        edit_article(made, ACTOR, content=f"<p>It takes {days} days &amp; &lt;b&gt;.</p>")
    return made


def test_a_draft_is_compared_with_what_readers_see(office: BackOffice, article: Article) -> None:
    changes = office.get(reverse("admin:knowledgebase_article_changes", args=[article.pk]))

    assert changes["Location"] == url(article, 3)
    page = office.page(changes["Location"])
    assert "from version 1 to version 3" in page
    assert "<del> one day</del><ins> three days &amp; &lt;b&gt;</ins>." in page


@pytest.mark.parametrize(("number", "query", "older"), [(2, "", 1), (3, "?with=2", 2), (3, "?with=x", 1)])
def test_any_two_versions_are_compared_and_else_an_earlier_one_with_the_one_before(
    number: int, query: str, older: int, office: BackOffice, article: Article
) -> None:
    page = office.page(f"{url(article, number)}{query}")

    assert f"from version {older} to version {number}" in page


@pytest.mark.parametrize("asked", ["1", "99", "²"])
def test_the_first_version_has_none_before(asked: str, office: BackOffice) -> None:
    alone = ArticleFactory()

    assert "There is no other version." in office.page(f"{url(alone, 1)}?with={asked}")
    assert "/changes" not in office.page(reverse("admin:knowledgebase_article_change", args=[alone.pk]))
