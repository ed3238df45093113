"""Raw mails in the storage, written through to the disk before they are processed."""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from tickets.file_storage import FOLDER, TooLong, write_through

_disk = ThreadPoolExecutor(max_workers=8, thread_name_prefix="raw-mail")


@dataclass(frozen=True, slots=True)
class SavedMail:
    """A raw mail that is in the storage and in no row yet."""

    path: str
    sha256: str
    raw: bytes
    # False: a worker has saved this mail before, today, and may have died of it.
    is_first: bool
    # Done when the mail is on the disk. The mail is parsed meanwhile; its sender is answered afterwards.
    written: Future[None]


def save_raw(stream: IO[bytes], limit: int, queue_id: int | None) -> SavedMail:
    """Write the raw mail to the storage. Raises TooLong beyond `limit` bytes, and leaves nothing then."""
    raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise TooLong
    sha256 = hashlib.sha256(raw).hexdigest()
    # A folder a day, as for files of messages: a search for files without a row looks at one day.
    wanted = f"{FOLDER}/{timezone.now():%Y/%m/%d}/{sha256}-{queue_id or 0}"
    path = default_storage.save(wanted, ContentFile(raw))
    return SavedMail(path, sha256, raw, path == wanted, _disk.submit(write_through, path))
