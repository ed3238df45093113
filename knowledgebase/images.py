"""Pictures of articles, for whoever reads them: browsers cannot log in for an image."""

from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from knowledgebase.models import ArticleImage


@require_safe
def show_image(request: HttpRequest, image_id: UUID) -> HttpResponseBase:
    """To anybody once its article is published; before that, to those who may see articles in the admin."""
    image = ArticleImage.objects.select_related("article").filter(pk=image_id).first()
    if image is None:
        raise Http404
    is_public = image.article is not None and image.article.is_published
    if not is_public and not (request.user.is_staff and request.user.has_perm("knowledgebase.view_article")):
        raise Http404
    try:
        response = FileResponse(image.file.open("rb"), content_type=image.content_type)
    except FileNotFoundError:
        raise Http404 from None
    # An image never changes: another picture is another id.
    response["Cache-Control"] = "public, max-age=31536000, immutable" if is_public else "private, no-store"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    return response
