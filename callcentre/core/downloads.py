"""Files as downloads that a browser never shows as a page of this site."""

import re
from collections.abc import Callable
from typing import IO

from django.http import FileResponse

from callcentre.core.errors import ErrorCode, NotFound

# A page of this site could load such a file as a script, because both have the same origin.
_SCRIPT = re.compile(r"(java|ecma|j|live)script", re.IGNORECASE)


def file_response(
    open_file: Callable[[], IO[bytes]], filename: str, content_type: str, *, is_shown: bool = False
) -> FileResponse:
    """Return the file under its own name (RFC 6266), as a download unless `is_shown`. Raise NotFound if it is gone."""
    try:
        content = open_file()
    except FileNotFoundError as error:
        raise NotFound(ErrorCode.FILE_GONE) from error
    if _SCRIPT.search(content_type):
        content_type = "application/octet-stream"
    response = FileResponse(content, as_attachment=not is_shown, filename=filename, content_type=content_type)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, no-cache"
    return response
