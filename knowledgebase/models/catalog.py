from uuid import uuid4

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.errors import ErrorCode


class Language(models.TextChoices):
    """Languages with word forms in searches: Polish by a dictionary, the others by PostgreSQL's stemmers.

    `simple` is any other language, with words as they are written. Articles there that look Polish have word forms too.
    """

    SIMPLE = "simple", _("any (Polish is recognised, other words as they are written)")
    DANISH = "danish", _("Danish")
    DUTCH = "dutch", _("Dutch")
    ENGLISH = "english", _("English")
    FINNISH = "finnish", _("Finnish")
    FRENCH = "french", _("French")
    GERMAN = "german", _("German")
    HUNGARIAN = "hungarian", _("Hungarian")
    ITALIAN = "italian", _("Italian")
    NORWEGIAN = "norwegian", _("Norwegian")
    POLISH = "polish", _("Polish")
    PORTUGUESE = "portuguese", _("Portuguese")
    ROMANIAN = "romanian", _("Romanian")
    RUSSIAN = "russian", _("Russian")
    SPANISH = "spanish", _("Spanish")
    SWEDISH = "swedish", _("Swedish")
    TURKISH = "turkish", _("Turkish")


# Languages of articles that can have Polish word forms (models/lemma.py).
WITH_LEMMAS = (Language.SIMPLE, Language.POLISH)


@audited(ignored=("counted_articles", "counted_at"))
class Catalog(NamedModel):
    """A set of articles in one language that a search covers. Clients use its id.

    `counted_articles` and `counted_at` describe the last count of its terms (models/term.py).
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    name = models.CharField(
        _("name"), max_length=200, unique=True, error_messages={"unique": ErrorCode.CATALOG_NAME_TAKEN.text}
    )
    language = models.CharField(
        _("language"),
        max_length=20,
        choices=Language,
        default=Language.SIMPLE,
        help_text=_("Words of this language are also found in their other forms."),
    )
    counted_articles = models.PositiveIntegerField(default=0, editable=False)
    counted_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = _("catalog")
        verbose_name_plural = _("catalogs")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(name="catalog_language_is_known", condition=models.Q(language__in=Language.values))
        ]


@audited(part_of="catalog")
class Category(NamedModel):
    """A chapter of a catalog. Each article is in one."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    catalog = models.ForeignKey(Catalog, models.PROTECT, related_name="categories", verbose_name=_("catalog"))
    name = models.CharField(_("name"), max_length=200)
    order = models.PositiveIntegerField(pgettext_lazy("place in a list", "order"), default=50)

    class Meta:
        verbose_name = _("category")
        verbose_name_plural = _("categories")
        ordering = ["order", "name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["catalog", "name"],
                name="category_name_is_unique",
                violation_error_message=_("The catalog already has a category of this name."),
            )
        ]
