"""The knowledge base in the admin, as editors use it."""

import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from knowledgebase.models import Article, ArticleImage, Catalog, Category, SearchMiss
from knowledgebase.verbs.articles import edit_article
from tests.backoffice import BackOffice, messages_of, staff, superuser
from tests.conftest import ACTOR
from tests.knowledgebase.factories import PNG, ArticleFactory, CatalogFactory, CategoryFactory, SearchMissFactory
from tests.telephony.factories import AgentFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


@pytest.fixture
def office(db):
    return superuser()


def url(page: str, *args: Any, model: str = "article") -> str:
    return reverse(f"admin:knowledgebase_{model}_{page}", args=args)


def change_url(article: Article) -> str:
    return url("change", article.pk)


def framed(page: str, title: str) -> str:
    """The document in the frame of a page."""
    frame = re.search(rf'<iframe class="reader" sandbox="allow-same-origin" title="{title}" srcdoc="([^"]*)"', page)
    assert frame
    return unescape(frame[1])


# Writing


def test_a_new_article_is_a_draft_unless_it_is_to_be_published(office):
    category, agent = CategoryFactory(), AgentFactory()
    values = {"category": category.pk, "author": agent.pk, "content": "<p>x</p>"}

    office.submit(url("add"), title="One", **values)
    office.submit(url("add"), title="Two", publish="on", **values)

    assert list(Article.objects.values_list("title", "is_published", "author")) == [
        ("One", False, agent.pk),
        ("Two", True, agent.pk),
    ]


def test_removed_html_is_shown_after_saving(office):
    content = "<p onclick='x()'>a<script>b</script><script>c</script></p>"

    response = office.submit(url("add"), title="One", category=CategoryFactory().pk, content=content)

    assert "Taken out, as articles cannot have it: <script> (2), onclick <p>." in messages_of(response)
    version = Article.objects.get().newest
    assert "&lt;script&gt; (2), onclick &lt;p&gt;" in office.page(url("change", version.pk, model="articleversion"))


def test_the_page_of_a_published_article_edits_its_newest_draft(office):
    article = ArticleFactory(title="Before")
    office.submit(change_url(article), title="Draft")

    page = office.page(change_url(article))
    office.submit(change_url(article), publish="on")

    assert 'value="Draft"' in page
    article.refresh_from_db()
    assert (article.title, article.published_number) == ("Draft", 2)


def test_an_editor_with_an_outdated_page_keeps_the_typed_text(office):
    article = ArticleFactory(title="Before")
    edit_article(article, ACTOR, title="Theirs")

    response = office.submit(change_url(article), expected=200, title="Mine", began_with="1")

    assert "Another user has changed the article meanwhile." in response.content.decode()
    assert 'value="Mine"' in response.content.decode()
    assert article.newest.title == "Theirs"


def test_faults_are_shown_at_their_fields(office):
    response = office.submit(url("add"), expected=200, title="", content="", category="")

    assert not Article.objects.exists()
    assert "This field is required." in response.content.decode()


def test_an_article_moves_to_another_category_of_another_language(office):
    article = ArticleFactory()
    category, author = CategoryFactory(catalog__language="english"), AgentFactory(login="anna")

    office.submit(change_url(article), category=category.pk, author=author.pk)

    article.refresh_from_db()
    assert (article.catalog, article.language) == (category.catalog, "english")
    assert article.changes.latest("id").changes["author"] == ["", "anna (Anna Nowak)"]
    assert "moved" in office.page(change_url(article))


# Publishing, versions, preview


def test_articles_are_published_and_withdrawn_on_their_pages_and_in_the_list(office):
    article = ArticleFactory(draft=True)
    listed = url("changelist")

    said = []
    for act, is_published in (
        (lambda: office.post(url("publish", article.pk)), True),
        (lambda: office.post(url("unpublish", article.pk)), False),
        (lambda: office.act(listed, "publish_selected", article), True),
        (lambda: office.act(listed, "unpublish_selected", article, apply="1"), False),
    ):
        said.append(messages_of(act())[-1])
        article.refresh_from_db()
        assert article.is_published is is_published

    assert said[:2] == ["The article is published.", "The article is withdrawn."]
    assert said[2:] == ["1 article published.", "1 article withdrawn."]


def test_an_earlier_version_is_restored_from_its_page(office):
    article = ArticleFactory(title="First")
    edit_article(article, ACTOR, title="Second")
    listed = office.get(url("versions", article.pk))
    assert str(article.pk) in listed["Location"]
    assert "First" in office.page(listed["Location"])
    version = article.versions.get(number=1)

    assert "Restore this version" in office.page(url("restore", version.pk, model="articleversion"))
    office.post(url("restore", version.pk, model="articleversion"))

    article.refresh_from_db()
    assert (article.number, article.newest.title) == (3, "First")


def test_a_version_shows_its_state_and_what_readers_would_see(office):
    version = ArticleFactory(title="A & B", content='<p title="x">y</p>').newest

    page = office.page(url("change", version.pk, model="articleversion"))

    assert '<p title="x">y</p>' in framed(page, "Content")
    assert "published" in page
    assert "(&#x27;published" not in page


def test_an_article_that_was_written_in_bulk_has_its_pages(office):
    article = ArticleFactory(title="Bulk")
    article.versions.all().delete()

    for page in ("change", "preview"):
        assert "Bulk" in office.page(url(page, article.pk))


def test_the_preview_is_a_frame_of_its_own_without_scripts(office):
    article = ArticleFactory(title="A & B", content="<p>x &lt; y</p>")

    document = framed(office.page(url("preview", article.pk)), "Preview")

    assert "<h1>A &amp; B</h1>" in document
    assert "<p>x &lt; y</p>" in document
    assert "default-src 'none'" in document


def upload(office: BackOffice, content: bytes) -> Any:
    return office.post(url("images"), {"image[0]": SimpleUploadedFile("a.png", content, "image/png")})


def test_the_editor_uploads_pictures(office):
    answer = upload(office, PNG).json()

    image = ArticleImage.objects.get()
    assert answer == {"files": [f"/knowledge-base/images/{image.pk}"]}
    shown: Any = office.get(image.path)
    assert b"".join(shown.streaming_content) == PNG
    assert shown["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_upload_of_another_file_or_by_a_reader_is_refused(office):
    response = upload(office, b"<svg/>")

    assert (response.status_code, response.json()) == (400, {"error": "An image is PNG, JPEG, GIF or WebP."})
    assert office.post(url("images")).status_code == 400
    assert upload(staff("view_article"), PNG).status_code == 403
    assert not ArticleImage.objects.exists()


# Catalogs


def test_a_catalog_is_made_with_its_categories(office):
    office.submit(
        url("add", model="catalog"),
        name="Help",
        language="english",
        **{"categories-TOTAL_FORMS": "1", "categories-0-name": "Orders", "categories-0-order": "10"},
    )

    catalog = Catalog.objects.get()
    assert (catalog.name, catalog.language) == ("Help", "english")
    assert list(Category.objects.values_list("catalog", "name")) == [(catalog.pk, "Orders")]


def test_the_list_of_catalogs_counts_categories_and_published_articles(office):
    catalog = CatalogFactory()
    for category in CategoryFactory.create_batch(2, catalog=catalog):
        ArticleFactory.create_batch(2, category=category)
        ArticleFactory(category=category, draft=True)

    listed = office.get(url("changelist", model="catalog")).context["cl"].result_list[0]

    assert (vars(listed)["category_count"], vars(listed)["article_count"]) == (2, 4)


def test_another_language_of_a_catalog_reaches_its_articles(office):
    article = ArticleFactory()

    office.submit(url("change", article.catalog.pk, model="catalog"), language="german")

    article.refresh_from_db()
    assert article.language == "german"


def test_a_catalog_with_articles_stays(office):
    catalog = ArticleFactory().catalog

    response = office.post(url("delete", catalog.pk, model="catalog"), {"post": "yes"})

    assert response.status_code in (200, 302)
    assert Catalog.objects.filter(pk=catalog.pk).exists()
    empty = CatalogFactory()
    office.post(url("delete", empty.pk, model="catalog"), {"post": "yes"})
    assert not Catalog.objects.filter(pk=empty.pk).exists()


def test_the_front_page_shows_what_readers_miss_and_what_did_not_help(office):
    SearchMissFactory(query="gift cards", count=7)
    article = ArticleFactory(title="Useless")
    Article.objects.filter(pk=article.pk).update(negative_count=3)
    ArticleFactory(title="A draft", draft=True)

    page = office.page(reverse("admin:index"))

    assert "gift cards" in page
    assert "Useless" in page
    assert "1 published article" in page
    assert "gift cards" not in staff("view_campaign").page(reverse("admin:index"))
    listed = office.page(url("changelist"), state="down")
    assert "Useless" in listed
    assert "A draft" not in listed


def test_searches_without_result_are_dismissed(office):
    miss = SearchMissFactory()

    response = office.act(url("changelist", model="searchmiss"), "dismiss", miss, apply="1")

    assert messages_of(response) == ["1 search dismissed."]
    assert not SearchMiss.objects.exists()
