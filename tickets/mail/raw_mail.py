"""The raw mail in the storage, before anything is made of it: what was kept outlives the machine's power."""

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
class Kept:
    path: str
    sha256: str
    raw: bytes
    # False: today somebody has kept this mail before, and perhaps died of it.
    is_first: bool
    # The disk takes its time, in which the mail is read; waited for before anybody is told that the mail is kept.
    written: "Future[None]"


def keep(stream: IO[bytes], limit: int, queue_id: int | None) -> Kept:
    """The mail in the storage, in no row yet. Raises TooLong beyond `limit` bytes, leaving nothing."""
    raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise TooLong
    sha256 = hashlib.sha256(raw).hexdigest()
    # By days, as the files of messages: what was left behind without a row is found by looking at one.
    wanted = f"{FOLDER}/{timezone.now():%Y/%m/%d}/{sha256}-{queue_id or 0}"
    path = default_storage.save(wanted, ContentFile(raw))
    return Kept(path, sha256, raw, path == wanted, _disk.submit(write_through, path))
