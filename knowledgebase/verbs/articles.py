"""Create, edit, publish, withdraw, restore and delete articles; edit catalogs, lock their categories."""

from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import counts_of, record
from callcentre.core.changes import change_columns, store_edit
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.html_cleaning import Uncleanable
from knowledgebase.html import Cleaned, clean, possible, text_of
from knowledgebase.models import Article, ArticleVersion, ArticleVote, Catalog, Category, Term
from knowledgebase.models.article import CONTENT_LENGTH, TITLE_LENGTH
from knowledgebase.models.catalog import WITH_LEMMAS
from knowledgebase.verbs.images import attach_images
from telephony.models import Agent


def edit_catalog(catalog: Catalog, actor: Actor, **values: Any) -> None:
    """Change name or language. Another language builds the index of each article again, in this transaction.

    The worker adds Polish word forms later.
    """
    with transaction.atomic():
        locked = Catalog.objects.select_for_update(no_key=True).get(pk=catalog.pk)
        store_edit(locked, **values)
        if "language" in values:
            catalog.articles.exclude(language=locked.language).update(language=locked.language)
            enqueue("knowledgebase.sweep_word_forms")
    catalog.refresh_from_db()


def lock_category(category_id: Any) -> Category:
    """Return the category with its catalog, locked against deletion. Raises Invalid."""
    categories = Category.objects.select_related("catalog").select_for_update(of=("self",), no_key=True)
    if (category := categories.filter(pk=category_id).first()) is None:
        raise Invalid([Fault(ErrorCode.CATEGORY_NOT_FOUND, "category")])
    return category


def create_article(
    actor: Actor,
    *,
    category_id: Any,
    title: str,
    content: str,
    author: Agent | None = None,
    publish: bool = False,
    pk: UUID | None = None,
) -> tuple[Article, Cleaned]:
    """Create an article, published or a draft. Return it with what was taken out of its HTML. Raises Invalid.

    `pk` is the id of an article that was exported.
    """
    title = _one_line(title)
    cleaned = _clean_input(title, content)
    with transaction.atomic():
        category = lock_category(category_id)
        article = Article(
            pk=pk or uuid4(),
            category=category,
            catalog=category.catalog,
            language=category.catalog.language,
            title=title,
            content=cleaned.html,
            text=text_of(cleaned.html),
            author=author,
        )
        article.save(force_insert=True)
        _add_version(article, actor, title, cleaned)
        _log(article, actor, "create")
        attach_images(article, cleaned.html)
        if publish:
            publish_article(article, actor)
    return article, cleaned


def edit_article(
    article: Article,
    actor: Actor,
    *,
    title: str | None = None,
    content: str | None = None,
    number: int | None = None,
    **values: Any,
) -> Cleaned:
    """Store title and content as a new draft version; change author and category at once.

    `number` is the version that the editor began with. Raises Conflict if there is a newer one, and Invalid.
    """
    title = None if title is None else _one_line(title)
    # Cleaning can take seconds, so it comes before the row is locked.
    given = _clean_input(title, content)
    with transaction.atomic():
        locked = _lock(article)
        if number is not None and number != locked.number:
            raise Conflict(ErrorCode.ARTICLE_CHANGED)
        newest = _stored_newest(locked)
        cleaned = Cleaned(newest.content, {}) if content is None else given
        title = newest.title if title is None else title
        if (title, cleaned.html) != (newest.title, newest.content):
            locked.number += 1
            _add_version(locked, actor, title, cleaned)
            _log(locked, actor, "edit")
            attach_images(locked, cleaned.html)
            if not locked.is_published:
                _show(locked, title, cleaned.html)
        _move(locked, actor, values)
        locked.save()
    article.refresh_from_db()
    return cleaned


def publish_article(article: Article, actor: Actor) -> bool:
    """Let readers see the newest version. Return False, and do nothing, if they see it already."""
    with transaction.atomic():
        locked = _lock(article)
        if locked.is_published and not locked.has_draft:
            return False
        newest = locked.newest
        _show(locked, newest.title, newest.content)
        locked.is_published, locked.published_number = True, locked.number
        locked.published_at = timezone.now()
        locked.save()
        _log(locked, actor, "publish")
        Term.objects.learn(locked.pk)
        _enqueue_word_forms(locked)
    article.refresh_from_db()
    return True


def withdraw_article(article: Article, actor: Actor) -> None:
    """Hide a published article from readers: its newest version is a draft again."""
    with transaction.atomic():
        locked = _lock(article)
        if not locked.is_published:
            return
        newest = locked.newest
        _show(locked, newest.title, newest.content)
        locked.is_published, locked.published_number = False, None
        locked.save()
        _log(locked, actor, "unpublish")
    article.refresh_from_db()


def restore_version(article: Article, actor: Actor, number: int) -> None:
    """Make a draft with the title and content of an earlier version. Raises ArticleVersion.DoesNotExist."""
    with transaction.atomic():
        locked = _lock(article)
        _stored_newest(locked)
        version = locked.versions.get(number=number)
        # The rules of the sanitiser may be stricter than they were when the version was stored.
        cleaned = _clean(version.content)
        locked.number += 1
        _add_version(locked, actor, version.title, cleaned)
        if not locked.is_published:
            _show(locked, version.title, cleaned.html)
        locked.save()
        _log(locked, actor, "restore", {"version": [None, number]})
    article.refresh_from_db()


def delete_article(article: Article, actor: Actor) -> None:
    """Delete an article with its versions, votes and images. Its history stays."""
    with transaction.atomic():
        files = [image.file for image in article.images.all()]
        gone = Article(pk=article.pk)
        record(actor, "delete", gone, name=article.title, changes=counts_of(article.delete()[1]))
        # A rollback would bring the rows back, but not the files.
        for file in files:
            transaction.on_commit(partial(file.delete, save=False))


def _lock(article: Article) -> Article:
    locked: Article = Article.objects.select_for_update(no_key=True, of=("self",)).get(pk=article.pk)
    return locked


def _stored_newest(article: Article) -> ArticleVersion:
    """Return the newest version; store it first if the article was written in bulk and has none."""
    newest = article.newest
    if newest._state.adding:
        newest.save(force_insert=True)
    return newest


def _show(article: Article, title: str, content: str) -> None:
    article.title, article.content, article.text = title, content, text_of(content)


def _move(article: Article, actor: Actor, values: dict[str, Any]) -> None:
    """Set author and category. Readers see both, so a published article counts as changed."""
    changes: dict[str, list[Any]] = {}
    if "author" in values and values["author"] != article.author:
        changes["author"] = [str(article.author or ""), str(values["author"] or "")]
        article.author = values["author"]
    if "category_id" in values and values["category_id"] != article.category_id:
        category = lock_category(values["category_id"])
        changes["category"] = [article.category.name, category.name]
        article.category, article.catalog = category, category.catalog
        article.language = category.catalog.language
    if changes:
        _log(article, actor, "move", changes)
        if article.is_published:
            article.published_at = timezone.now()
            _enqueue_word_forms(article)


def _enqueue_word_forms(article: Article) -> None:
    """Let the worker add the word forms of a published article to the index."""
    if article.is_published and article.language in WITH_LEMMAS:
        enqueue("knowledgebase.add_word_forms", str(article.pk))


def _add_version(article: Article, actor: Actor, title: str, cleaned: Cleaned) -> None:
    article.versions.create(
        number=article.number,
        title=title,
        content=cleaned.html,
        removed=cleaned.removed,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name[:150],
    )


def _log(article: Article, actor: Actor, action: str, changes: dict[str, Any] | None = None) -> None:
    article.changes.create(action=action, number=article.number, changes=changes or {}, **change_columns(actor))


def _one_line(title: str) -> str:
    return " ".join(possible(title).split())


def _clean_input(title: str | None, content: str | None) -> Cleaned:
    """Return the content cleaned; "" for None. Raises Invalid with all faults of title and content."""
    faults = []
    if title == "":
        faults.append(Fault(ErrorCode.EMPTY, "title"))
    if len(title or "") > TITLE_LENGTH:
        faults.append(Fault(ErrorCode.TOO_LONG, "title", {"limit": TITLE_LENGTH}))
    if len(content or "") > CONTENT_LENGTH:
        faults.append(Fault(ErrorCode.TOO_LONG, "content", {"limit": CONTENT_LENGTH}))
    if faults:
        raise Invalid(faults)
    return _clean(content or "")


def _clean(content: str) -> Cleaned:
    try:
        return clean(content)
    except Uncleanable as error:
        raise Invalid([Fault(ErrorCode.HTML_UNCLEANABLE, "content")]) from error


def cast_vote(article: Article, api_user_id: int, user_key: str, *, is_positive: bool) -> Article:
    """Count a vote; it replaces the voter's earlier one. Return the article with its counts."""
    with transaction.atomic():
        # The lock on the article makes two votes of one voter wait for each other.
        counts = Article.objects.only("positive_count", "negative_count")
        locked: Article = counts.select_for_update(no_key=True, of=("self",)).get(pk=article.pk)
        vote = ArticleVote.objects.filter(article=locked, api_user_id=api_user_id, user_key=user_key).first()
        if vote is not None and vote.is_positive == is_positive:
            return locked
        if vote is not None:
            _count(locked, -1, is_positive=vote.is_positive)
            vote.is_positive = is_positive
            vote.save(update_fields=["is_positive", "updated_at"])
        else:
            ArticleVote.objects.create(
                article=locked, api_user_id=api_user_id, user_key=user_key, is_positive=is_positive
            )
        _count(locked, 1, is_positive=is_positive)
        # `updated_at` stays: the text that readers see has not changed.
        locked.save(update_fields=["positive_count", "negative_count"])
    return locked


def _count(article: Article, votes: int, *, is_positive: bool) -> None:
    if is_positive:
        article.positive_count += votes
    else:
        article.negative_count += votes
