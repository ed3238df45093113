"""What an article may be made of, and what it says."""

import pytest

from callcentre.core.html_cleaning import Uncleanable
from knowledgebase.html import clean, image_ids, paragraphs_of, text_of

IMAGE = "/knowledge-base/images/6f0b2c1e-8a55-4b1e-9a58-0f6c2f4f0c11"


@pytest.mark.parametrize(
    "html",
    [
        "<p>Plain <strong>bold</strong> <em>em</em> <u>u</u> <s>s</s> <code>x &lt; y</code></p>",
        '<h2>Title</h2><ul><li>one</li></ul><ol start="3"><li>two</li></ol><hr><blockquote>q</blockquote>',
        '<table><thead><tr><th scope="col">A</th></tr></thead><tbody><tr><td colspan="2">1</td></tr></tbody></table>',
        f'<figure><img src="{IMAGE}" alt="a > b" width="10"><figcaption>c</figcaption></figure>',
        '<details open=""><summary>More</summary>text</details><pre>a\n  b</pre>',
    ],
)
def test_permitted_html_is_kept(html: str) -> None:
    cleaned = clean(html)

    assert (cleaned.html.replace("a &gt; b", "a > b"), cleaned.removed) == (html, {})


@pytest.mark.parametrize(
    ("html", "expected", "removed"),
    [
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
    ],
)
def test_other_html_is_removed_and_listed(html: str, expected: str, removed: dict[str, int]) -> None:
    cleaned = clean(html)

    assert (cleaned.html, cleaned.removed) == (expected, removed)


def test_links_are_kept_without_referrer() -> None:
    cleaned = clean('<a href="https://a.example/?q=1&amp;r=2">a</a>')

    assert cleaned.html == '<a href="https://a.example/?q=1&amp;r=2" rel="noopener noreferrer">a</a>'
    assert cleaned.removed == {}


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p><p>two</p>", "one two"),
        ("<ul><li>one<li>two</ul>", "one two"),
        ("one<br>two", "one two"),
        ("<b>wo</b>rd", "word"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("&lt;b&gt; &amp; &oacute;", "<b> & ó"),
        ("  much \n\t space&nbsp;here ", "much space here"),
        ("", ""),
    ],
)
def test_text_of_html_is_the_visible_text(html: str, text: str) -> None:
    assert text_of(html) == text


def test_images_are_known_by_their_ids() -> None:
    assert image_ids(f'<img src="{IMAGE}"><img src="{IMAGE}">') == {"6f0b2c1e-8a55-4b1e-9a58-0f6c2f4f0c11"}


def test_a_character_of_an_impossible_number_is_no_error() -> None:
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
def test_html_that_a_browser_would_take_minutes_for_cannot_be_cleaned(html: str) -> None:
    with pytest.raises(Uncleanable):
        clean(html)


def test_the_list_of_removed_html_is_limited() -> None:
    removed = clean("".join(f"<t{number:0200}>" for number in range(100))).removed

    assert len(removed) == 1
    assert max(map(len, removed)) < 50
    assert len(clean("".join(f"<t{number}>" for number in range(100))).removed) == 50
