from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.core.files.base import ContentFile
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.models import TimestampedModel
from knowledgebase.html import IMAGES_PATH, image_ids

MAX_MB = 5
# How a file starts -> what it is. No SVG: it can hold scripts.
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "png"),
    (b"\xff\xd8\xff", "image/jpeg", "jpg"),
    (b"GIF87a", "image/gif", "gif"),
    (b"GIF89a", "image/gif", "gif"),
)


class ImageQuerySet(models.QuerySet["ArticleImage"]):
    def attach(self, article_id: Any, html: str) -> None:
        """What the HTML shows and no article has belongs to this one."""
        if ids := image_ids(html):
            self.filter(pk__in=ids, article=None).update(article_id=article_id)

    def forgotten(self) -> "ImageQuerySet":
        """Uploaded a day ago, and in no article that was saved since."""
        return self.filter(article=None, created_at__lt=timezone.now() - timedelta(days=1))

    def remove(self) -> int:
        """Delete rows and files; how many there were."""
        images = list(self)
        for image in images:
            image.file.delete(save=False)
        self.filter(pk__in=[image.pk for image in images]).delete()
        return len(images)


class ArticleImage(TimestampedModel):
    """A picture in an article. Uploaded by an editor before the article is saved, which then makes it its own.

    Whoever knows its address sees it once an article that it belongs to is published.
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

    @classmethod
    def create(cls, actor: Actor, name: str, content: bytes) -> "ArticleImage":
        """Keep a picture. Raises Invalid where it is none, or too large."""
        kind = _kind_of(content)
        faults = [Fault(ErrorCode.IMAGE_KIND, "image")] if kind is None else []
        if len(content) > MAX_MB * 1024 * 1024:
            faults.append(Fault(ErrorCode.IMAGE_TOO_LARGE, "image", {"limit": MAX_MB}))
        if kind is None or faults:
            raise Invalid(faults)
        content_type, suffix = kind
        image = cls(name=name[-255:], content_type=content_type, size=len(content), actor_name=actor.name[:150])
        image.file.save(f"{image.pk}.{suffix}", ContentFile(content), save=False)
        image.save(force_insert=True)
        return image


def _kind_of(content: bytes) -> tuple[str, str] | None:
    for start, content_type, suffix in _KINDS:
        if content.startswith(start):
            return content_type, suffix
    return ("image/webp", "webp") if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None
