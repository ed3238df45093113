"""The view that serves the images of articles. Browsers send no API login for an image."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from callcentre.core.downloads import file_response
from knowledgebase.models import ArticleImage


@require_safe
def show_image(request: HttpRequest, image_id: UUID) -> HttpResponseBase:
    """Serve an image: to all if its article is published, else to users who may see articles in the admin."""
    image = ArticleImage.objects.select_related("article").filter(pk=image_id).first()
    if image is None:
        raise Http404
    is_public = image.article is not None and image.article.is_published
    if not is_public and not (request.user.is_staff and request.user.has_perm("knowledgebase.view_article")):
        raise Http404
    response = file_response(lambda: image.file.open("rb"), image.file.name or "", image.content_type, is_shown=True)
    # Browsers may keep it, because the image of an id never changes.
    response["Cache-Control"] = "public, max-age=31536000, immutable" if is_public else "private, no-store"
    return response
