from uuid import uuid4

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import SYSTEM
from callcentre.core.changes import Change, NamedModel, TimestampedModel
from callcentre.models import ApiUser
from knowledgebase.html import IMAGES_PATH
from knowledgebase.models.catalog import WITH_LEMMAS, Catalog, Category, Language
from knowledgebase.models.term import FORMS_VERSION
from telephony.models import Agent

TITLE_LENGTH = 255
# A megabyte of HTML is a book.
CONTENT_LENGTH = 1_000_000
# The newest version is not published.
HAS_DRAFT = ~Q(published_number=F("number"))
IS_VOTED_DOWN = Q(negative_count__gt=F("positive_count"), is_published=True)


class ArticleQuerySet(models.QuerySet["Article"]):
    def published(self) -> "ArticleQuerySet":
        return self.filter(is_published=True)

    def with_drafts(self) -> "ArticleQuerySet":
        return self.filter(HAS_DRAFT)

    def without_word_forms(self) -> "ArticleQuerySet":
        """Published articles that the worker has not looked up in the dictionary since their text changed."""
        return self.published().filter(language__in=WITH_LEMMAS, forms_version__lt=FORMS_VERSION)

    def voted_down(self) -> "ArticleQuerySet":
        """Articles with more negative than positive votes, worst first."""
        return self.filter(IS_VOTED_DOWN).order_by(F("positive_count") - F("negative_count"), "title", "id")


class ArticleManager(models.Manager.from_queryset(ArticleQuerySet)):  # type: ignore[misc]
    def get_queryset(self) -> ArticleQuerySet:
        """Defer the large columns that only searches use."""
        found: ArticleQuerySet = super().get_queryset().defer("search", "peaks")
        return found


class Article(TimestampedModel):
    """An article as readers see it, with its search index.

    `title`, `content` and `text` are those of the published version, or of the newest one if none is published. Each
    edit makes a version (ArticleVersion). A version newer than the published one is a draft, which readers neither see
    nor find. Only the verbs change a row; they sanitise the content, and each writes an ArticleChange.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    category = models.ForeignKey(Category, models.PROTECT, related_name="articles", verbose_name=_("category"))
    # Copies of the category's columns, so that a search reads one table.
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
    # The last change that readers see, which the API publishes. `updated_at` also counts drafts.
    published_at = models.DateTimeField(_("published at"), null=True, editable=False)
    # The numbers of the newest and of the published version.
    number = models.PositiveIntegerField(default=1, editable=False)
    published_number = models.PositiveIntegerField(null=True, editable=False)
    positive_count = models.PositiveIntegerField(_("helpful"), default=0, editable=False)
    negative_count = models.PositiveIntegerField(_("not helpful"), default=0, editable=False)
    # The database fills `search` and `peaks`. A trigger makes them of title and text (migrations/0001_initial.sql), and
    # the worker adds the lemmas of Polish words (knowledgebase/word_forms.py). `forms_version` is 0 until then. They
    # are declared as generated fields, so that Django never writes them.
    forms_version = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    search = models.GeneratedField(
        expression=Func("language", "title", "text", function="knowledgebase_vector"),
        output_field=SearchVectorField(),
        db_persist=True,
    )
    # Words that stand out: those of the title, and those that the text repeats (docs/decisions/0012).
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
            models.Index(
                F("positive_count") - F("negative_count"),
                "title",
                "id",
                name="article_worst",
                condition=IS_VOTED_DOWN,
            ),
            models.Index(fields=["id"], name="article_drafts", condition=HAS_DRAFT),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def has_draft(self) -> bool:
        return self.number != self.published_number

    @property
    def newest(self) -> "ArticleVersion":
        """The newest version. An article that was written in bulk has no stored one: build it from the article."""
        stored: ArticleVersion | None = self.versions.filter(number=self.number).first()
        return stored or ArticleVersion(
            article=self,
            number=self.number,
            title=self.title,
            content=self.content,
            created_at=self.updated_at,
            actor_kind=SYSTEM.kind,
            actor_name=SYSTEM.name,
        )


class ArticleVersion(models.Model):
    """One version of an article's title and content. It never changes.

    `removed` lists the parts that the sanitiser removed from the editor's HTML.
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
    """One row of an article's history: created, edited, published, withdrawn, restored or moved, at a version."""

    article = models.ForeignKey(
        Article, models.DO_NOTHING, db_constraint=False, related_name="changes", verbose_name=_("article")
    )
    number = models.PositiveIntegerField(_("version"))

    class Meta:
        verbose_name = _("change of an article")
        verbose_name_plural = _("changes of articles")
        ordering = ["-id"]
        indexes = [models.Index(fields=["-at"], name="articlechange_at")]


class ArticleVote(TimestampedModel):
    """The vote of one reader on an article. A later vote of the same reader replaces it; the article has the counts.

    A reader is an API user and its end user: `user_key` tells its end users apart, "" is the API user itself.
    """

    article = models.ForeignKey(Article, models.CASCADE, related_name="votes", verbose_name=_("article"))
    api_user = models.ForeignKey(ApiUser, models.CASCADE, related_name="+", verbose_name=_("API user"))
    user_key = models.CharField(_("end user"), max_length=255, blank=True)
    is_positive = models.BooleanField(_("helpful"))

    class Meta:
        verbose_name = _("vote")
        verbose_name_plural = _("votes")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["article", "api_user", "user_key"], name="articlevote_is_unique"),
        ]

    def __str__(self) -> str:
        return f"{'+' if self.is_positive else '-'} {self.user_key}"


class ArticleImage(NamedModel):
    """An image in an article. An editor uploads it; it belongs to the article that is saved with it first.

    If that article is published, all who know the address see the image.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    article = models.ForeignKey(
        "knowledgebase.Article", models.CASCADE, null=True, related_name="images", verbose_name=_("article")
    )
    file = models.FileField(_("file"), upload_to="knowledgebase")
    name = models.CharField(_("name"), max_length=255)
    content_type = models.CharField(_("kind"), max_length=50)
    size = models.PositiveIntegerField(_("bytes"))
    actor_name = models.CharField(_("by"), max_length=150)

    class Meta:
        verbose_name = _("image of an article")
        verbose_name_plural = _("images of articles")
        ordering = ["-created_at", "id"]

    @property
    def path(self) -> str:
        return f"{IMAGES_PATH}{self.pk}"
