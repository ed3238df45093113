"""The storage of files: they are streamed into it, never whole in memory."""

import hashlib
import mimetypes
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.utils import timezone

PIECE = 64 * 1024
FOLDER = "files"


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that is in the storage and in no row yet."""

    token: str
    path: str
    size: int
    sha256: str

    def discard(self) -> None:
        default_storage.delete(self.path)


class TooLong(Exception):
    """The stream has more bytes than the limit."""


class _Measured(File):  # type: ignore[type-arg]  # generic in the stubs only
    """A stream that is hashed and measured while it is read."""

    def __init__(self, stream: IO[bytes] | Any, limit: int) -> None:
        super().__init__(None)
        self._stream, self._limit = stream, limit
        self.size_read, self.hash = 0, hashlib.sha256()

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        while piece := self._stream.read(PIECE):
            self.size_read += len(piece)
            if self.size_read > self._limit:
                raise TooLong
            self.hash.update(piece)
            yield piece


def store(stream: IO[bytes] | Any, limit: int) -> Stored:
    """Write the stream to the storage under a new token. Raises TooLong beyond `limit` bytes, and leaves nothing then.

    The row is written after the file. A process that dies in between leaves a file without a row, which is pruned
    later, and never a row without its file.
    """
    token = secrets.token_urlsafe(32)
    content = _Measured(stream, limit)
    # A folder a day: the search for files without a row looks at one day.
    path = f"{FOLDER}/{timezone.now():%Y/%m/%d}/{token}"
    try:
        path = default_storage.save(path, content)
        write_through(path)
    except BaseException:
        default_storage.delete(path)
        raise
    return Stored(token, path, content.size_read, content.hash.hexdigest())


def write_through(path: str) -> None:
    """Write the file and its name through to the disk, as the database does. A remote storage does so by itself."""
    with suppress(NotImplementedError):
        local = Path(default_storage.path(path))
        for each in (local, local.parent):
            descriptor = os.open(each, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def type_of(filename: str) -> str:
    """Return the content type for a file name. A type that a browser would run as our page becomes plain bytes."""
    guessed, encoding = mimetypes.guess_type(filename)
    if guessed is None or encoding or guessed.startswith("text/html") or "xml" in guessed or "script" in guessed:
        return "application/octet-stream"
    return guessed


def clean_name(filename: str) -> str:
    """Return the last part of a path, without characters that steer a terminal, a header or a file system."""
    name = filename.replace("\\", "/").rpartition("/")[2]
    name = "".join(character for character in name if character.isprintable() and character not in '<>:"|?*')
    return name.strip(" .")
