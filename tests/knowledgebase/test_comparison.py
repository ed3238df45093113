"""The HTML of an article, and what is different between two versions."""

import random

import pytest
from django.urls import reverse

from callcentre.core.html_cleaning import Uncleanable
from knowledgebase.comparison import MOST_STEPS, Comparison, Paragraph, _Work, compare
from knowledgebase.html import clean, image_ids, paragraphs_of, text_of
from knowledgebase.models import Article
from knowledgebase.verbs.articles import edit_article
from tests.backoffice import superuser
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


def test_paragraphs_are_compared_by_their_words():
    for old, new, expected in [
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
    ]:
        assert [shown(paragraph) for paragraph in of_contents(old, new).paragraphs] == expected


def test_a_title_is_compared_like_a_paragraph():
    assert shown(compare("How to pay", "", "How to pay late", "").title) == "How to pay+[ late]"
    assert shown(compare("Paying", "", "Refunds", "").title) == "-[Paying]+[Refunds]"


def test_formatting_alone_changes_no_words():
    comparison = of_contents("<p>one two</p>", "<p>one <b>two</b></p>")

    assert (comparison.is_text_changed, comparison.is_content_changed) == (False, True)


def test_very_long_paragraphs_are_compared_as_a_whole():
    words = "word " * 5000

    assert len(of_contents(f"<p>{words}</p>", f"<p>{words}more</p>").paragraphs) == 2


def test_a_comparison_takes_a_bounded_number_of_steps(monkeypatch):
    taken: list[int] = []
    original = _Work.spend

    def spend(work, steps):
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


def test_a_long_comparison_shows_the_first_paragraphs_and_counts_the_rest(office):
    made = ArticleFactory(content="<p>a</p>")
    edit_article(made, ACTOR, content="".join(f"<p>{number}</p>" for number in range(2_100)))

    comparison = of_contents("<p>a</p>", "".join(f"<p>{number}</p>" for number in range(2_100)))

    assert (len(comparison.paragraphs), comparison.more) == (2_000, 101)
    assert "101 more paragraphs are not shown." in office.page(url(made, 2))


# In the admin


@pytest.fixture
def office(db, plain_static):
    return superuser()


def url(article: Article, number: int) -> str:
    return reverse("admin:knowledgebase_articleversion_compare", args=[article.versions.get(number=number).pk])


@pytest.fixture
def article(db):
    """Published as it was first, then edited twice."""
    made = ArticleFactory(title="Paying", content="<p>It takes one day.</p>")
    for days in ("two", "three"):
        edit_article(made, ACTOR, content=f"<p>It takes {days} days &amp; &lt;b&gt;.</p>")
    return made


def test_a_draft_is_compared_with_what_readers_see(office, article):
    changes = office.get(reverse("admin:knowledgebase_article_changes", args=[article.pk]))

    assert changes["Location"] == url(article, 3)
    page = office.page(changes["Location"])
    assert "from version 1 to version 3" in page
    assert "<del> one day</del><ins> three days &amp; &lt;b&gt;</ins>." in page


@pytest.mark.parametrize(("number", "query", "older"), [(2, "", 1), (3, "?with=2", 2), (3, "?with=x", 1)])
def test_any_two_versions_are_compared_and_else_an_earlier_one_with_the_one_before(
    number, query, older, office, article
):
    page = office.page(f"{url(article, number)}{query}")

    assert f"from version {older} to version {number}" in page


@pytest.mark.parametrize("asked", ["1", "99", "²"])
def test_the_first_version_has_none_before(asked, office):
    alone = ArticleFactory()

    assert "There is no other version." in office.page(f"{url(alone, 1)}?with={asked}")
    assert "/changes" not in office.page(reverse("admin:knowledgebase_article_change", args=[alone.pk]))


IMAGE = "/knowledge-base/images/6f0b2c1e-8a55-4b1e-9a58-0f6c2f4f0c11"


def test_permitted_html_is_kept():
    for html in [
        "<p>Plain <strong>bold</strong> <em>em</em> <u>u</u> <s>s</s> <code>x &lt; y</code></p>",
        '<h2>Title</h2><ul><li>one</li></ul><ol start="3"><li>two</li></ol><hr><blockquote>q</blockquote>',
        '<table><thead><tr><th scope="col">A</th></tr></thead><tbody><tr><td colspan="2">1</td></tr></tbody></table>',
        f'<figure><img src="{IMAGE}" alt="a > b" width="10"><figcaption>c</figcaption></figure>',
        '<details open=""><summary>More</summary>text</details><pre>a\n  b</pre>',
    ]:
        cleaned = clean(html)

        assert (cleaned.html.replace("a &gt; b", "a > b"), cleaned.removed) == (html, {})


def test_other_html_is_removed_and_listed():
    for html, expected, removed in [
        ("<p>a<script>alert(1)</script>b</p>", "<p>ab</p>", {"<script>": 1}),
        ('<p onclick="x()" style="color:red">a</p>', "<p>a</p>", {"onclick <p>": 1, "style <p>": 1}),
        ('<a href="javascript:x()">a</a>', '<a rel="noopener noreferrer">a</a>', {"href <a>": 1}),
        ('<img src="https://tracker.example/x.png">', "", {"<img>": 1}),
        ('<img src="data:image/png;base64,AA==">', "", {"<img>": 1}),
        (f'<img src="{IMAGE}" onerror="x()">', f'<img src="{IMAGE}">', {"onerror <img>": 1}),
        (f'<img src="https://old.example{IMAGE}">', f'<img src="{IMAGE}">', {}),
        ("<iframe src=x></iframe><form><input></form>", "", {"<form>": 1, "<iframe>": 1, "<input>": 1}),
        ("<svg onload=x()><style>a</style></svg><math></math>", "", {"<math>": 1, "<style>": 1, "<svg>": 1}),
        ("<!-- note --><p>a</p>", "<p>a</p>", {}),
        ("<o:p>word</o:p><font>processor</font>", "wordprocessor", {"<font>": 1, "<o:p>": 1}),
        ("a\0b\ud800c", "abc", {}),
    ]:
        cleaned = clean(html)

        assert (cleaned.html, cleaned.removed) == (expected, removed)


def test_links_are_kept_without_referrer():
    cleaned = clean('<a href="https://a.example/?q=1&amp;r=2">a</a>')

    assert cleaned.html == '<a href="https://a.example/?q=1&amp;r=2" rel="noopener noreferrer">a</a>'
    assert cleaned.removed == {}


def test_text_of_html_is_the_visible_text():
    for html, text in [
        ("<p>one</p><p>two</p>", "one two"),
        ("<ul><li>one<li>two</ul>", "one two"),
        ("one<br>two", "one two"),
        ("<b>wo</b>rd", "word"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("&lt;b&gt; &amp; &oacute;", "<b> & ó"),
        ("  much \n\t space&nbsp;here ", "much space here"),
        ("", ""),
    ]:
        assert text_of(html) == text


def test_images_are_known_by_their_ids():
    assert image_ids(f'<img src="{IMAGE}"><img src="{IMAGE}">') == {"6f0b2c1e-8a55-4b1e-9a58-0f6c2f4f0c11"}


def test_a_character_of_an_impossible_number_is_no_error():
    cleaned = clean(f"<p>a&#{'9' * 5_000};b</p>")

    assert text_of(cleaned.html) == "a\ufffdb"
    assert text_of(f"<p>a&#{'9' * 5_000};b</p>") == "a\ufffdb"
    assert paragraphs_of(f"<p>a&#{'9' * 5_000};b</p>") == ["a\ufffdb"]


@pytest.mark.walk("html0")
@pytest.mark.slow("cleans costly HTML")
@pytest.mark.parametrize(
    "html",
    [
        "<p>" + "".join(f"<font size={number}>" for number in range(3_000)) + "</p>" + "<p>x</p>" * 3_000,
        "<div>" * 200_000,
    ],
)
def test_html_that_a_browser_would_take_minutes_for_cannot_be_cleaned(html):
    with pytest.raises(Uncleanable):
        clean(html)


def test_the_list_of_removed_html_is_limited():
    removed = clean("".join(f"<t{number:0200}>" for number in range(100))).removed

    assert len(removed) == 1
    assert max(map(len, removed)) < 50
    assert len(clean("".join(f"<t{number}>" for number in range(100))).removed) == 50
