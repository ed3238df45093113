"""Answers with a recording or a range of it, so that a player can jump."""

import re
from typing import IO

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase

_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})\Z")


class Unsatisfiable(Exception):
    """The requested range is beyond the end of the file."""


def sound(request: HttpRequest, file: IO[bytes], size: int, filename: str) -> HttpResponseBase:
    """Answer with the requested range of the file. Several ranges, or a malformed one, give the whole file."""
    try:
        span = _span(request.headers.get("Range", ""), size)
    except Unsatisfiable:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    first, last = span or (0, size - 1)
    response = FileResponse(Part(file, first, last - first + 1), status=206 if span else 200)
    if span:
        response["Content-Range"] = f"bytes {first}-{last}/{size}"
    response["Content-Length"] = str(last - first + 1)
    response["Content-Type"] = "audio/wav"
    response["Content-Disposition"] = f'inline; filename="{filename}"'
    response["Accept-Ranges"] = "bytes"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


def _span(header: str, size: int) -> tuple[int, int] | None:
    """Return the first and the last byte of the requested range; None for the whole file."""
    match = _RANGE.match(header.strip())
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":  # the last bytes
        if int(match[2]) == 0 or size == 0:
            raise Unsatisfiable
        return max(size - int(match[2]), 0), size - 1
    first, last = int(match[1]), min(int(match[2] or size - 1), size - 1)
    if match[2] and int(match[2]) < first:
        return None
    if first >= size:
        raise Unsatisfiable
    return first, last


class Part:
    """Some bytes of a file. A file, unlike a generator, occupies no thread while a paused player reads nothing."""

    def __init__(self, file: IO[bytes], first: int, count: int) -> None:
        file.seek(first)
        self._file, self._left = file, count

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        self._file.close()
