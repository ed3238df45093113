"""The storage of files: they are streamed into it, never whole in memory."""

import hashlib
import mimetypes
import os
import re
import secrets
from dataclasses import dataclass
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core.file_store import local_path

PIECE = 64 * 1024
FOLDER = "files"

# Types that Python's table lacks on some systems, and others for which it has no usual extension.
_EXTENSIONS = {
    "application/gzip": ".gz",
    "application/pgp-encrypted": ".txt",
    "application/pgp-signature": ".asc",
    "application/pgp-keys": ".asc",
    "application/pkcs7-mime": ".p7m",
    "application/pkcs7-signature": ".p7s",
    "application/x-pkcs7-signature": ".p7s",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.rar": ".rar",
    "application/x-rar-compressed": ".rar",
    "application/x-7z-compressed": ".7z",
    "application/x-zip-compressed": ".zip",
    "application/xml": ".xml",
    "audio/amr": ".amr",
    "audio/mp4": ".m4a",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "image/heic": ".heic",
    "image/pjpeg": ".jpg",
    "image/webp": ".webp",
    "message/delivery-status": ".txt",
    "message/disposition-notification": ".txt",
    "text/calendar": ".ics",
    "text/rfc822-headers": ".txt",
    "text/vcard": ".vcf",
}
_TYPES = mimetypes.MimeTypes()
for _type, _extension in _EXTENSIONS.items():
    if _TYPES.guess_type(f"a{_extension}") == (None, None):
        _TYPES.add_type(_type, _extension)
_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,20}/[a-z0-9][a-z0-9.+-]{0,77}")
# Types that a browser would run as our page.
_RUNS = re.compile(r"html|script|\bxml\b")
# The beginning of a path on some computer.
_PATH = re.compile(r"(?:[A-Za-z]:)?[.~]{0,2}/")


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

    def read(self, size: int = PIECE) -> bytes:
        piece: bytes = self._stream.read(size)
        self.size_read += len(piece)
        if self.size_read > self._limit:
            raise TooLong
        self.hash.update(piece)
        return piece


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
    if local := local_path(path):
        for each in (local, local.parent):
            descriptor = os.open(each, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def type_of(filename: str, declared: str = "") -> str:
    """Return the content type of a file by its name, else as its sender declares it.

    A type that a browser would run as our page becomes plain bytes.
    """
    kind, encoding = _TYPES.guess_type(filename, strict=False)
    if kind is None and not encoding and _TYPE.fullmatch(declared):
        kind = declared
    return "application/octet-stream" if kind is None or encoding or _RUNS.search(kind) else kind


def extension_of(content_type: str) -> str:
    """Return the extension for the names of files of this type."""
    return _EXTENSIONS.get(content_type) or _TYPES.guess_extension(content_type, strict=False) or ".bin"


def clean_name(filename: str) -> str:
    """Return the last part of a path, without characters that steer a terminal, a header or a file system.

    A slash in a name that is no path, such as the number of an invoice, becomes a hyphen.
    """
    name = filename.replace("\\", "/")
    name = name.rpartition("/")[2] if _PATH.match(name) else name.strip("/").replace("/", "-")
    name = "".join(character for character in name if character.isprintable() and character not in '<>:"|?*')
    return name.strip(" .")
