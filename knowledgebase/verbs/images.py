"""Store the images of articles, attach them to articles, and delete them."""

from django.core.files.base import ContentFile
from django.db.models import QuerySet

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid
from knowledgebase.html import image_ids
from knowledgebase.models.article import Article, ArticleImage

MAX_MB = 5
# The first bytes of each kind of file. SVG is missing, because it can hold scripts.
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "png"),
    (b"\xff\xd8\xff", "image/jpeg", "jpg"),
    (b"GIF87a", "image/gif", "gif"),
    (b"GIF89a", "image/gif", "gif"),
)


def create_image(actor: Actor, name: str, content: bytes) -> ArticleImage:
    """Store an image that no article has yet. Raises Invalid if the content is no image, or too large."""
    kind = _kind_of(content)
    faults = [Fault(ErrorCode.IMAGE_KIND, "image")] if kind is None else []
    if len(content) > MAX_MB * 1024 * 1024:
        faults.append(Fault(ErrorCode.IMAGE_TOO_LARGE, "image", {"limit": MAX_MB}))
    if kind is None or faults:
        raise Invalid(faults)
    content_type, suffix = kind
    image = ArticleImage(name=name[-255:], content_type=content_type, size=len(content), actor_name=actor.name[:150])
    image.file.save(f"{image.pk}.{suffix}", ContentFile(content), save=False)
    image.save(force_insert=True)
    return image


def attach_images(article: Article, html: str) -> None:
    """Give the article the images that its HTML shows, unless they belong to another article."""
    if ids := image_ids(html):
        ArticleImage.objects.filter(pk__in=ids, article=None).update(article=article)


def delete_images(images: QuerySet[ArticleImage]) -> None:
    """Delete the rows and files of these images."""
    found = list(images)
    for image in found:
        image.file.delete(save=False)
    ArticleImage.objects.filter(pk__in=[image.pk for image in found]).delete()


def _kind_of(content: bytes) -> tuple[str, str] | None:
    for start, content_type, suffix in _KINDS:
        if content.startswith(start):
            return content_type, suffix
    return ("image/webp", "webp") if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None
