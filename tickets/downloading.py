"""Files as downloads: no browser makes a page of ours out of what somebody has sent."""

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404

from tickets.models import StoredFile
from tickets.storing import type_of

# What may be shown inside a page, where that is asked for. Not SVG, which is a program.
PICTURES = ("image/gif", "image/jpeg", "image/png", "image/webp")


def response_of(file: StoredFile, *, inline: bool = False) -> FileResponse:
    """The file under its own name (RFC 6266); a picture inside a page on request. Raises Http404 where it is gone."""
    try:
        content = default_storage.open(file.path)
    except FileNotFoundError as error:
        raise Http404 from error
    content_type = type_of(file.filename)
    is_shown = inline and content_type in PICTURES
    response = FileResponse(content, as_attachment=not is_shown, filename=file.filename, content_type=content_type)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, no-cache"
    return response
