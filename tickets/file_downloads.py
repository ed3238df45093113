"""Downloads of the files of tickets."""

from django.core.files.storage import default_storage
from django.http import FileResponse

from callcentre.core.downloads import file_response
from tickets.models import StoredFile

# Types that may be shown inside a page on request. SVG is not one of them: it can contain scripts.
PICTURES = ("image/gif", "image/jpeg", "image/png", "image/webp")


def response_of(file: StoredFile, *, inline: bool = False) -> FileResponse:
    """Return the file under its own name (RFC 6266); a picture is shown inline on request. Raises NotFound."""
    is_shown = inline and file.content_type in PICTURES
    return file_response(lambda: default_storage.open(file.path), file.filename, file.content_type, is_shown=is_shown)
