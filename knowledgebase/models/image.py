from datetime import timedelta
from uuid import uuid4

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.changes import TimestampedModel
from knowledgebase.html import IMAGES_PATH


class ImageQuerySet(models.QuerySet["ArticleImage"]):
    def abandoned(self) -> "ImageQuerySet":
        """Images that were uploaded more than a day ago and belong to no article."""
        return self.filter(article=None, created_at__lt=timezone.now() - timedelta(days=1))


class ArticleImage(TimestampedModel):
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

    objects = ImageQuerySet.as_manager()

    class Meta:
        verbose_name = _("image of an article")
        verbose_name_plural = _("images of articles")
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> str:
        return f"{IMAGES_PATH}{self.pk}"
