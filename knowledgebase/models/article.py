from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models, transaction
from django.db.models import F, Func, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.html_cleaning import Uncleanable
from callcentre.models import Change, TimestampedModel, actor_columns
from knowledgebase.html import Cleaned, clean, possible, text_of
from knowledgebase.models.catalog import WITH_LEMMAS, Catalog, Category, Language, category_of
from knowledgebase.models.image import ArticleImage
from knowledgebase.models.lemma import FORMS_VERSION
from knowledgebase.models.term import Term
from telephony.models import Agent

TITLE_LENGTH = 255
# A megabyte of HTML is a book.
CONTENT_LENGTH = 1_000_000


class ArticleQuerySet(models.QuerySet["Article"]):
    def published(self) -> "ArticleQuerySet":
        return self.filter(is_published=True)

    def with_drafts(self) -> "ArticleQuerySet":
        """Those whose newest version nobody reads yet."""
        return self.exclude(published_number=F("number"))

    def without_word_forms(self) -> "ArticleQuerySet":
        """Published articles that the worker has not looked up in the dictionary since their text changed."""
        return self.published().filter(language__in=WITH_LEMMAS, forms_version__lt=FORMS_VERSION)

    def voted_down(self) -> "ArticleQuerySet":
        """Those that more readers found useless than useful, worst first."""
        worse = self.filter(negative_count__gt=F("positive_count"), is_published=True)
        return worse.order_by(F("positive_count") - F("negative_count"), "title", "id")


class ArticleManager(models.Manager.from_queryset(ArticleQuerySet)):  # type: ignore[misc]
    def get_queryset(self) -> ArticleQuerySet:
        """Without what only a search looks at."""
        found: ArticleQuerySet = super().get_queryset().defer("search", "peaks")
        return found


class Article(TimestampedModel):
    """An article: what readers see of it, and how it is found.

    `title`, `content` and `text` are those of the published version, or of the newest where none is. Every edit makes
    a version (ArticleVersion); one that is newer than the published one is a draft, which nobody reads or finds. Only
    the verbs change a row; each leaves an ArticleChange. Content is sanitised by them, and nowhere trusted otherwise.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    category = models.ForeignKey(Category, models.PROTECT, related_name="articles", verbose_name=_("category"))
    # Those of the category, so that a search reads one table.
    catalog = models.ForeignKey(
        Catalog, models.PROTECT, related_name="articles", editable=False, db_index=False, verbose_name=_("catalog")
    )
    language = models.CharField(max_length=20, choices=Language, editable=False)
    title = models.CharField(_("title"), max_length=TITLE_LENGTH)
    content = models.TextField(_("content"))
    text = models.TextField(editable=False)
    author = models.ForeignKey(
        Agent, models.PROTECT, null=True, blank=True, related_name="articles", verbose_name=_("author")
    )
    is_published = models.BooleanField(_("published"), default=False, editable=False)
    # When what readers see last changed: the time they are told. `updated_at` is for editors: it counts drafts too.
    published_at = models.DateTimeField(_("published at"), null=True, editable=False)
    # Of the newest version, and of the published one.
    number = models.PositiveIntegerField(default=1, editable=False)
    published_number = models.PositiveIntegerField(null=True, editable=False)
    positive_count = models.PositiveIntegerField(_("helpful"), default=0, editable=False)
    negative_count = models.PositiveIntegerField(_("not helpful"), default=0, editable=False)
    # The database fills `search` and `peaks`: a trigger makes them of title and text (migrations/0008), and the worker
    # adds the lemmas of Polish words (knowledgebase/word_forms.py). `forms_version` is 0 until the worker has done so.
    # They are generated fields here, so that Django never writes them.
    forms_version = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    search = models.GeneratedField(
        expression=Func("language", "title", "text", function="knowledgebase_vector"),
        output_field=SearchVectorField(),
        db_persist=True,
    )
    # Where it stands out: words of its title, and those it uses more than once (docs/decisions/0012).
    peaks = models.GeneratedField(
        expression=Func(
            Func("language", "title", "text", function="knowledgebase_vector"), function="knowledgebase_peaks"
        ),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    objects = ArticleManager()

    class Meta:
        verbose_name = _("article")
        verbose_name_plural = _("articles")
        ordering = ["title", "id"]
        constraints = [
            models.CheckConstraint(name="article_title_is_set", condition=~Q(title="")),
            models.CheckConstraint(
                name="article_published_has_number",
                condition=Q(is_published=False) | Q(published_number__isnull=False),
            ),
        ]
        indexes = [
            GinIndex(fields=["search"], name="article_search", condition=Q(is_published=True)),
            GinIndex(fields=["peaks"], name="article_peaks", condition=Q(is_published=True)),
            models.Index(fields=["catalog", "title", "id"], name="article_list", condition=Q(is_published=True)),
            models.Index(
                fields=["forms_version"],
                name="article_word_forms",
                condition=Q(is_published=True, language__in=WITH_LEMMAS),
            ),
            models.Index(fields=["-updated_at", "id"], name="article_newest"),
            models.Index(fields=["negative_count"], name="article_voted_down", condition=Q(negative_count__gt=0)),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def has_draft(self) -> bool:
        return self.number != self.published_number

    @property
    def newest(self) -> "ArticleVersion":
        """Of an article that was written into the table in bulk, what it says now, which nobody has kept yet."""
        kept: ArticleVersion | None = self.versions.filter(number=self.number).first()
        return kept or ArticleVersion(
            article=self,
            number=self.number,
            title=self.title,
            content=self.content,
            created_at=self.updated_at,
            actor_kind=SYSTEM.kind,
            actor_name=SYSTEM.name,
        )

    @classmethod
    def create(
        cls,
        actor: Actor,
        *,
        category_id: Any,
        title: str,
        content: str,
        author: Agent | None = None,
        publish: bool = False,
        pk: UUID | None = None,
    ) -> tuple["Article", Cleaned]:
        """A new article, published or a draft, and what was taken out of its HTML; `pk` of one that was exported.

        Raises Invalid.
        """
        title = _title(title)
        cleaned = _cleaned(title, content)
        with transaction.atomic():
            category = category_of(category_id)
            article = cls(
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
            article._add_version(actor, title, cleaned)
            article._log(actor, "create")
            ArticleImage.objects.attach(article.pk, cleaned.html)
            if publish:
                article.publish(actor)
        return article, cleaned

    def edit(
        self,
        actor: Actor,
        *,
        title: str | None = None,
        content: str | None = None,
        number: int | None = None,
        **values: Any,
    ) -> Cleaned:
        """Change title and content by a new version, which is a draft; author and category at once.

        `number` is the version that the editor began with: where another has come in between, Conflict. Raises Invalid.
        """
        title = None if title is None else _title(title)
        # Before the row is locked: it can take seconds.
        given = _cleaned(title, content)
        with transaction.atomic():
            locked = self._locked()
            if number is not None and number != locked.number:
                raise Conflict(ErrorCode.ARTICLE_CHANGED)
            newest = locked._kept_newest()
            cleaned = Cleaned(newest.content, {}) if content is None else given
            title = newest.title if title is None else title
            if (title, cleaned.html) != (newest.title, newest.content):
                locked.number += 1
                locked._add_version(actor, title, cleaned)
                locked._log(actor, "edit")
                ArticleImage.objects.attach(locked.pk, cleaned.html)
                if not locked.is_published:
                    locked._show(title, cleaned.html)
            locked._move(actor, values)
            locked.save()
        self.refresh_from_db()
        return cleaned

    def publish(self, actor: Actor) -> None:
        """Let readers see the newest version; nothing where they do."""
        with transaction.atomic():
            locked = self._locked()
            if locked.is_published and not locked.has_draft:
                return
            newest = locked.newest
            locked._show(newest.title, newest.content)
            locked.is_published, locked.published_number = True, locked.number
            locked.published_at = timezone.now()
            locked.save()
            locked._log(actor, "publish")
            Term.objects.learn(locked.pk)
            locked._look_up_words()
        self.refresh_from_db()

    def unpublish(self, actor: Actor) -> None:
        """Take it away from readers: the newest version is a draft again."""
        with transaction.atomic():
            locked = self._locked()
            if not locked.is_published:
                return
            newest = locked.newest
            locked._show(newest.title, newest.content)
            locked.is_published, locked.published_number = False, None
            locked.save()
            locked._log(actor, "unpublish")
        self.refresh_from_db()

    def restore(self, actor: Actor, number: int) -> None:
        """A draft with the title and content of an earlier version. Raises ArticleVersion.DoesNotExist."""
        with transaction.atomic():
            locked = self._locked()
            locked._kept_newest()
            version = locked.versions.get(number=number)
            # Through the sanitiser again: its rules may be stricter than they were.
            cleaned = _safe(version.content)
            locked.number += 1
            locked._add_version(actor, version.title, cleaned)
            if not locked.is_published:
                locked._show(version.title, cleaned.html)
            locked.save()
            locked._log(actor, "restore", {"version": [None, number]})
        self.refresh_from_db()

    def remove(self, actor: Actor) -> None:
        """Delete it with its versions, votes and pictures. Withdrawing it keeps all of that."""
        with transaction.atomic():
            files = [image.file for image in self.images.all()]
            self.delete()
            # Once the rows are gone for good, and not before.
            for file in files:
                transaction.on_commit(partial(file.delete, save=False))

    def _locked(self) -> "Article":
        found: Article = Article.objects.select_for_update(no_key=True, of=("self",)).get(pk=self.pk)
        return found

    def _kept_newest(self) -> "ArticleVersion":
        """Before another takes its place."""
        newest = self.newest
        if newest._state.adding:
            newest.save(force_insert=True)
        return newest

    def count_vote(self, is_positive: bool, votes: int) -> None:
        """For ArticleVote, which has locked the row."""
        if is_positive:
            self.positive_count += votes
        else:
            self.negative_count += votes

    def _look_up_words(self) -> None:
        """Let the worker add the forms of its words to the index."""
        if self.is_published and self.language in WITH_LEMMAS:
            enqueue("knowledgebase.add_word_forms", str(self.pk))

    def _show(self, title: str, content: str) -> None:
        self.title, self.content, self.text = title, content, text_of(content)

    def _move(self, actor: Actor, values: dict[str, Any]) -> None:
        changes: dict[str, list[Any]] = {}
        if "author" in values and values["author"] != self.author:
            changes["author"] = [str(self.author or ""), str(values["author"] or "")]
            self.author = values["author"]
        if "category_id" in values and values["category_id"] != self.category_id:
            category = category_of(values["category_id"])
            changes["category"] = [self.category.name, category.name]
            self.category, self.catalog = category, category.catalog
            self.language = category.catalog.language
        if changes:
            self._log(actor, "move", changes)
            if self.is_published:
                self.published_at = timezone.now()
                self._look_up_words()

    def _add_version(self, actor: Actor, title: str, cleaned: Cleaned) -> None:
        self.versions.create(
            number=self.number,
            title=title,
            content=cleaned.html,
            removed=cleaned.removed,
            actor_kind=actor.kind,
            actor_id=actor.id,
            actor_name=actor.name[:150],
        )

    def _log(self, actor: Actor, action: str, changes: dict[str, Any] | None = None) -> None:
        self.changes.create(action=action, number=self.number, changes=changes or {}, **actor_columns(actor))


def _title(title: str) -> str:
    return " ".join(possible(title).split())


def _cleaned(title: str | None, content: str | None) -> Cleaned:
    """Return the content cleaned; None is neither wrong nor text. Raises Invalid with every fault of both."""
    faults = []
    if title == "":
        faults.append(Fault(ErrorCode.EMPTY, "title"))
    if len(title or "") > TITLE_LENGTH:
        faults.append(Fault(ErrorCode.TOO_LONG, "title", {"limit": TITLE_LENGTH}))
    if len(content or "") > CONTENT_LENGTH:
        faults.append(Fault(ErrorCode.TOO_LONG, "content", {"limit": CONTENT_LENGTH}))
    if faults:
        raise Invalid(faults)
    return _safe(content or "")


def _safe(content: str) -> Cleaned:
    try:
        return clean(content)
    except Uncleanable as error:
        raise Invalid([Fault(ErrorCode.HTML_UNCLEANABLE, "content")]) from error


class ArticleVersion(models.Model):
    """What an article said at one time: written by the verb that made it, never changed after.

    `removed` names what the sanitiser took out of what the editor had sent.
    """

    article = models.ForeignKey(Article, models.CASCADE, related_name="versions", verbose_name=_("article"))
    number = models.PositiveIntegerField(_("version"))
    title = models.CharField(_("title"), max_length=TITLE_LENGTH)
    content = models.TextField(_("content"))
    removed = models.JSONField(_("taken out"), default=dict)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    actor_kind = models.CharField(_("kind of actor"), max_length=10, choices=Change.ActorKind)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(_("by"), max_length=150)

    class Meta:
        verbose_name = _("version of an article")
        verbose_name_plural = _("versions of articles")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["article", "number"], name="articleversion_number_is_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.number})"


class ArticleChange(Change):
    """What happened to an article: created, edited, published, withdrawn, restored, moved; and at which version."""

    article = models.ForeignKey(Article, models.CASCADE, related_name="changes", verbose_name=_("article"))
    number = models.PositiveIntegerField(_("version"))

    class Meta:
        verbose_name = _("change of an article")
        verbose_name_plural = _("changes of articles")
        ordering = ["-id"]
