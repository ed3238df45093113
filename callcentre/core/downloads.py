"""Files as downloads: no browser makes a page of ours out of what somebody has sent, or had written."""

import re
from collections.abc import Callable
from typing import IO

from django.http import FileResponse, Http404

# Named as a script by a page of ours, such a file would run: its address is one of ours.
_SCRIPT = re.compile(r"(java|ecma|j|live)script", re.IGNORECASE)


def file_response(
    open_file: Callable[[], IO[bytes]], filename: str, content_type: str, *, is_shown: bool = False
) -> FileResponse:
    """The file under its own name (RFC 6266), to be saved unless it is to be shown. Raises Http404 where it is gone."""
    try:
        content = open_file()
    except FileNotFoundError as error:
        raise Http404 from error
    if _SCRIPT.search(content_type):
        content_type = "application/octet-stream"
    response = FileResponse(content, as_attachment=not is_shown, filename=filename, content_type=content_type)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, no-cache"
    return response
