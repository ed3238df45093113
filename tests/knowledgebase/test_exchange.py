"""Folders of Markdown and HTML files become articles, and articles such folders."""

from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from knowledgebase.models import Article, ArticleImage, Catalog
from knowledgebase.verbs.articles import edit_article
from tests.conftest import ACTOR
from tests.knowledgebase.factories import PNG, ArticleFactory, ArticleImageFactory, CategoryFactory
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


def import_(folder: Path, *options: str, fails: bool = False) -> str:
    out = StringIO()
    with pytest.raises(CommandError) if fails else nullcontext():
        call_command("import_articles", "Help", str(folder), *options, stdout=out, stderr=out)
    return out.getvalue()


def write(folder: Path, name: str, text: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_markdown_and_html_become_published_articles_in_their_categories(tmp_path):
    AgentFactory(login="anna")
    head = "---\ntitle: Track it\nauthor: anna\n---\n"
    write(tmp_path, "Orders/track.md", f"{head}# Track it\n\nUse **this**:\n\n- one\n")
    write(tmp_path, "plain_note.md", "| A | B |\n|---|---|\n| 1 | ~~2~~ |\n")
    write(tmp_path, "Orders/Late/x.html", "<html><head><title>Late</title></head><body><p>Wait.</p></body></html>")
    write(tmp_path, "headed.md", "# A heading\n\ntext")
    write(tmp_path, "ignored.txt", "nothing")

    assert import_(tmp_path) == "4 added, 0 changed, 0 as they were, 0 failed\n"

    articles = {article.title: article for article in Article.objects.published().select_related("category", "author")}
    assert {title: article.category.name for title, article in articles.items()} == {
        "Track it": "Orders",
        "plain note": "General",
        "Late": "Orders / Late",
        "A heading": "General",
    }
    track = articles["Track it"]
    assert track.content == "<p>Use <strong>this</strong>:</p>\n<ul>\n<li>one</li>\n</ul>"
    assert str(track.author) == "anna (Anna Nowak)"
    assert articles["A heading"].content == "<p>text</p>"
    assert "<table>" in articles["plain note"].content
    assert articles["Late"].content == "<p>Wait.</p>"


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("title: >\n  How returns\n  work", "How returns work"),
        ("title: >-\n  How returns\n\n  work\n", "How returns work"),
        ("title: |\n  How returns\n  work", "How returns work"),
        ("title: How returns\n  work", "How returns work"),
        ('\'title\': "Zwrot \\u2013 \\"jak\\""', 'Zwrot – "jak"'),
        ("title: 'It''s here'  # a comment", "It's here"),
        ("tags: [a, b]\ntitle: C#", "C#"),
        ("Title: 2026-11-22", "2026-11-22"),
        ("title: no", "no"),
        ("title: 007", "007"),
        ("title: Returns: how they work\nauthor: ''", "Returns: how they work"),
        ("title: What --&gt; now", "What --> now"),
        ("title:\nauthor: nobody-known", "The heading"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_the_head_of_a_file_is_yaml(head, title, ends, tmp_path):
    write(tmp_path, "a.md", f"---\n{head}\n---\n# The heading\n\ntext".replace("\n", ends))

    assert import_(tmp_path) == "1 added, 0 changed, 0 as they were, 0 failed\n"

    assert Article.objects.get().title == title


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("title: [a, b]", "The head of the file has no text as its title."),
        ("published:\n  from: today", "The head of the file has no text as its published."),
        ("title: 'never closed", "The head of the file is no YAML: while scanning a quoted scalar"),
        ("title: a\x07", "The head of the file is no YAML: unacceptable character"),
        ("title: " + "[" * 1000, "The head of the file is no YAML: maximum recursion depth"),
        ("title: a\ntags: " + "x" * 20_000, "The head of the file has more than 20000 characters."),
    ],
)
def test_a_head_that_cannot_be_read_is_named_and_makes_no_article(head, problem, tmp_path):
    write(tmp_path, "a.md", f"---\n{head}\n---\ntext")

    assert f"a.md: {problem}" in import_(tmp_path, fails=True)
    assert not Article.objects.exists()


@pytest.mark.parametrize("text", ["---\nNo head: at all: none\n---\ntext", "---\n- one\n---\ntext"])
def test_dashes_around_something_else_are_no_head(text, tmp_path):
    write(tmp_path, "a.md", text)
    import_(tmp_path)

    assert text.splitlines()[1].lstrip("- ") in Article.objects.get().content


def test_import_reports_removed_html_and_unreadable_files_and_goes_on(tmp_path):
    write(tmp_path, "a.html", "<p>a<script>b</script></p>")
    write(tmp_path, "b.md", b"\xff\xfe\x00")
    write(tmp_path, "c.md", "---\ntitle: " + "x" * 300 + "\n---\ntext")

    lines = import_(tmp_path, fails=True).splitlines()

    assert lines[0] == "a.html: taken out: <script>"
    assert [line.partition(": ")[0] for line in lines[1:3]] == ["b.md", "c.md"]
    assert lines[3] == "1 added, 0 changed, 0 as they were, 2 failed"


def test_the_same_folder_again_changes_its_articles_and_makes_none(tmp_path):
    write(tmp_path, "a.md", "# A\n\nold")
    import_(tmp_path)
    write(tmp_path, "a.md", "# A\n\nnew")

    assert import_(tmp_path) == "0 added, 1 changed, 0 as they were, 0 failed\n"

    article = Article.objects.get()
    assert (article.text, article.number) == ("new", 2)


def test_drafts_stay_drafts(tmp_path):
    write(tmp_path, "a.md", "---\npublished: false\n---\n# A")
    write(tmp_path, "b.md", "# B")
    import_(tmp_path)
    assert list(Article.objects.published().values_list("title", flat=True)) == ["B"]

    write(tmp_path, "c.md", "# C")
    import_(tmp_path, "--drafts")
    assert not Article.objects.get(title="C").is_published


def test_images_beside_a_file_become_attachments_and_no_other_file_is_read(tmp_path):
    write(tmp_path, "secret.png", PNG)
    folder = tmp_path / "help"
    write(folder, "images/a b.png", PNG)
    write(folder, "no.png", b"no picture")
    write(
        folder,
        "a.md",
        "# A\n\n![one](images/a%20b.png) ![two](../secret.png) ![three](no.png) ![four](https://x.example/y.png)\n",
    )

    import_(folder)

    image = ArticleImage.objects.get()
    article = Article.objects.get()
    assert image.article == article
    assert article.content == f'<p><img src="{image.path}" alt="one">   </p>'


def test_a_language_is_that_of_the_catalog_and_what_is_not_there_is_refused(tmp_path):
    import_(tmp_path, "--language", "english")

    assert Catalog.objects.get().language == "english"
    with pytest.raises(CommandError, match="english"):
        import_(tmp_path, "--language", "german")
    with pytest.raises(CommandError, match="no folder"):
        import_(tmp_path / "missing")
    with pytest.raises(CommandError):
        call_command("export_articles", "Nowhere", str(tmp_path))


@pytest.mark.parametrize("kind", ["html", "md"])
def test_an_export_is_imported_without_changes(kind, tmp_path):
    image = ArticleImageFactory()
    category = CategoryFactory(name="Orders / Late")
    article = ArticleFactory(
        category=category,
        title="What --> now: a/b?",
        content=f'<p>Text &lt;x&gt; <strong>bold</strong></p><p><img src="{image.path}" alt="p"></p>',
        written=True,
    )
    draft = ArticleFactory(category=category, title="Draft", draft=True)
    edit_article(article, ACTOR, title="Newer: a/b?")
    before = (article.newest.title, article.author, article.category.name)
    out = StringIO()

    call_command("export_articles", category.catalog.name, str(tmp_path), "--format", kind, stdout=out)
    ids = {article.pk, draft.pk}
    contents = _contents()
    _forget_everything()
    import_(tmp_path)

    assert out.getvalue() == f"2 articles in {tmp_path}\n"
    assert {one.pk for one in Article.objects.all()} == ids
    again = Article.objects.select_related("author", "category").get(pk=article.pk)
    assert (again.newest.title, again.author, again.category.name) == before
    assert again.images.count() == 1
    assert not Article.objects.get(pk=draft.pk).is_published
    if kind == "html":
        assert [text.split("<img")[0] for text in contents] == [text.split("<img")[0] for text in _contents()]


TITLES = (
    "Returns: how",
    "Ticket #1",
    "[draft] - *new*",
    "no",
    "2026",
    "'quoted'",
    '"a" \\ b',
    "-->",
    "> 5 zł",
    "日本 😀",
)


@pytest.mark.parametrize("kind", ["html", "md"])
def test_import_of_an_unedited_export_changes_and_publishes_nothing(kind, tmp_path):
    category = CategoryFactory(catalog__name="Help")
    content = f'<p>Text <em>here</em> <img src="{ArticleImageFactory().path}" alt="p"></p>'
    for title in TITLES:
        ArticleFactory(category=category, title=title, content=content if title == "no" else "<p>Text</p>")
    drafted = ArticleFactory(category=category, title="Published")
    edit_article(drafted, ACTOR, title="Draft")
    call_command("export_articles", "Help", str(tmp_path), "--format", kind, stdout=StringIO())

    assert import_(tmp_path) == "0 added, 0 changed, 11 as they were, 0 failed\n"

    drafted.refresh_from_db()
    assert (drafted.title, drafted.newest.title) == ("Published", "Draft")


def _contents() -> list[str]:
    return [article.newest.content for article in Article.objects.order_by("id")]


def _forget_everything() -> None:
    Article.objects.all().delete()
    Catalog.objects.all().update(name="Before")


def test_the_demonstration_has_twelve_articles_and_a_draft(tmp_path, settings):
    from callcentre.demonstration import articles

    articles.seed()
    articles.seed()

    catalog = Catalog.objects.get(name="Customer help")
    assert catalog.categories.count() == 3
    assert Article.objects.published().count() == 12
    assert Article.objects.count() == 13
