"""Versions, publishing, images and what is forgotten."""

from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db.models import ProtectedError

from callcentre.core.errors import ErrorCode, Invalid
from knowledgebase import tasks
from knowledgebase.models import Article, ArticleImage, ArticleVersion, SearchMiss, Term
from knowledgebase.verbs.articles import (
    create_article,
    delete_article,
    edit_article,
    publish_article,
    restore_version,
    withdraw_article,
)
from knowledgebase.verbs.images import create_image
from tests.conftest import ACTOR
from tests.knowledgebase.factories import ArticleFactory, ArticleImageFactory, CategoryFactory, SearchMissFactory
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


def history(article: Article) -> list[tuple[str, int]]:
    return list(article.changes.order_by("id").values_list("action", "number"))


def faults(caught: Any) -> list[tuple[ErrorCode, str]]:
    return [(fault.code, fault.field) for fault in caught.value.faults]


def test_a_new_article_is_a_draft_with_one_version():
    article, cleaned = create_article(
        ACTOR, category_id=CategoryFactory().pk, title="  New\n one ", content="<p>a<script>b</script></p>"
    )

    assert (article.title, article.content, article.text) == ("New one", "<p>a</p>", "a")
    assert (article.is_published, article.has_draft) == (False, True)
    assert (article.newest.number, article.newest.removed) == (1, {"<script>": 1} if cleaned.removed else None)
    assert history(article) == [("create", 1)]


@pytest.mark.trial
@pytest.mark.slow("cleans costly HTML")
def test_content_that_cannot_be_sanitised_is_refused():
    article = ArticleFactory(content="<p>a</p>")

    with pytest.raises(Invalid) as created:
        create_article(ACTOR, category_id=article.category_id, title="x", content="<div>" * 190_000)
    with pytest.raises(Invalid) as edited:
        edit_article(article, ACTOR, title="y", content="<div>" * 190_000)

    assert faults(created) == faults(edited) == [(ErrorCode.HTML_UNCLEANABLE, "content")]
    assert Article.objects.get().title == article.title


def test_an_edit_of_a_published_article_is_a_draft_until_it_is_published():
    article = ArticleFactory(title="Before")

    edit_article(article, ACTOR, title="After")
    seen = (article.title, article.has_draft)
    publish_article(article, ACTOR)

    assert seen == ("Before", True)
    assert (article.title, article.has_draft) == ("After", False)
    assert history(article) == [("create", 1), ("publish", 1), ("edit", 2), ("publish", 2)]


def test_an_edit_of_a_draft_shows_at_once_and_makes_a_version_unless_it_changes_nothing():
    article = ArticleFactory(draft=True)

    edit_article(article, ACTOR, title=article.title, content=article.content)
    unchanged = (article.number, history(article))
    edit_article(article, ACTOR, content="<p>later</p>")
    cleaned = edit_article(article, ACTOR, title="Another")

    assert unchanged == (1, [("create", 1)])
    assert (article.title, article.text, article.number, cleaned.removed) == ("Another", "later", 3, {})


def test_an_earlier_version_is_restored_as_a_new_draft():
    article = ArticleFactory(title="First", content="<p>1</p>")
    edit_article(article, ACTOR, title="Second", content="<p>2</p>")
    publish_article(article, ACTOR)

    restore_version(article, ACTOR, 1)

    assert (article.title, article.number, article.published_number) == ("Second", 3, 2)
    assert (article.newest.title, article.newest.content) == ("First", "<p>1</p>")
    with pytest.raises(ArticleVersion.DoesNotExist):
        restore_version(article, ACTOR, 9)


def written_in_bulk(**values: Any) -> Article:
    """Without a version, as a script would leave it."""
    category = CategoryFactory()
    text = {"title": "Bulk", "content": "<p>b</p>", "text": "b"}
    article = Article(category=category, catalog=category.catalog, language="simple", **text, **values)
    Article.objects.bulk_create([article])
    article.refresh_from_db()
    return article


def test_an_article_that_was_written_in_bulk_is_edited_published_withdrawn_and_restored():
    edited, article = written_in_bulk(is_published=True, published_number=1), written_in_bulk()

    edit_article(edited, ACTOR, title="Edited")
    publish_article(article, ACTOR)
    withdraw_article(article, ACTOR)
    restore_version(article, ACTOR, 1)

    assert list(edited.versions.order_by("number").values_list("number", "title")) == [(1, "Bulk"), (2, "Edited")]
    assert (article.newest.number, article.newest.content) == (2, "<p>b</p>")


def test_a_withdrawn_article_is_a_draft_again():
    article = ArticleFactory(title="Before")
    edit_article(article, ACTOR, title="After")

    withdraw_article(article, ACTOR)

    assert (article.is_published, article.title, article.published_number) == (False, "After", None)


def test_every_fault_is_named_at_once():
    with pytest.raises(Invalid) as caught:
        create_article(ACTOR, category_id=CategoryFactory().pk, title=" ", content="x" * 1_000_001)
    assert faults(caught) == [(ErrorCode.EMPTY, "title"), (ErrorCode.TOO_LONG, "content")]

    with pytest.raises(Invalid) as caught:
        create_article(ACTOR, category_id=AgentFactory.build().pk, title="x" * 256, content="")
    assert faults(caught) == [(ErrorCode.TOO_LONG, "title")]
    assert not Article.objects.exists()


def test_a_text_of_a_million_characters_is_kept_and_found_by_its_beginning():
    words = " ".join(f"word{number}" for number in range(90_000))

    article = ArticleFactory(content=f"<p>{words}</p>")

    found = Article.objects.extra(where=["search @@ to_tsquery('knowledgebase_simple', 'word7')"])
    assert found.get() == article


def test_a_category_with_articles_stays():
    article = ArticleFactory()

    with pytest.raises(ProtectedError):
        article.category.delete()


def test_words_of_an_article_are_learnt_when_it_is_published():
    article = ArticleFactory(title="Password", draft=True)
    assert not Term.objects.exists()

    publish_article(article, ACTOR)

    assert "=password" in Term.objects.values_list("term", flat=True)


# Images


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", ErrorCode.IMAGE_KIND),
        (b"", ErrorCode.IMAGE_KIND),
        (b"\xff\xd8\xff" + b"0" * (5 * 1024 * 1024), ErrorCode.IMAGE_TOO_LARGE),
    ],
)
def test_a_file_that_is_no_image_is_refused(content, code):
    with pytest.raises(Invalid) as caught:
        create_image(ACTOR, "x.png", content)

    assert faults(caught) == [(code, "image")]


def test_an_image_belongs_to_the_article_that_was_saved_with_it_first():
    image = ArticleImageFactory()
    article = ArticleFactory(content=f'<img src="{image.path}">')
    ArticleFactory(content=f'<img src="{image.path}">')

    image.refresh_from_db()

    assert image.article == article


def test_images_are_deleted_with_their_article(django_capture_on_commit_callbacks):
    image = ArticleImageFactory()
    article = ArticleFactory(content=f'<img src="{image.path}">')
    assert default_storage.exists(image.file.name)

    with django_capture_on_commit_callbacks(execute=True):
        delete_article(article, ACTOR)

    assert not ArticleImage.objects.exists()
    assert not default_storage.exists(image.file.name)


def test_images_without_an_article_are_deleted_after_a_day_and_old_searches_too():
    old, new, used = ArticleImageFactory(old=True), ArticleImageFactory(), ArticleImageFactory(old=True)
    ArticleFactory(content=f'<img src="{used.path}">')
    SearchMissFactory(old=True)
    kept = SearchMissFactory()

    tasks.prune()

    assert set(ArticleImage.objects.all()) == {new, used}
    assert not default_storage.exists(old.file.name)
    assert list(SearchMiss.objects.all()) == [kept]


def test_articles_that_more_readers_found_useless_are_voted_down_worst_first():
    liked, bad, worst = ArticleFactory(), ArticleFactory(), ArticleFactory()
    for article, positive, negative in ((liked, 2, 1), (bad, 1, 2), (worst, 0, 5)):
        Article.objects.filter(pk=article.pk).update(positive_count=positive, negative_count=negative)

    assert list(Article.objects.voted_down()) == [worst, bad]


def test_drafts_are_new_articles_and_newer_versions():
    ArticleFactory()
    draft = ArticleFactory(title="A", draft=True)
    changed = ArticleFactory(title="B")
    edit_article(changed, ACTOR, title="C")

    assert list(Article.objects.with_drafts()) == [draft, changed]
