"""The raw mail in the storage, before anything is made of it: what was kept outlives the machine's power."""

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from tickets.storing import FOLDER, TooLong


@dataclass(frozen=True, slots=True)
class Kept:
    path: str
    sha256: str
    raw: bytes
    # False: today somebody has kept this mail before, and perhaps died of it.
    is_first: bool


def keep(stream: IO[bytes], limit: int, queue_id: int | None) -> Kept:
    """The mail in the storage, in no row yet. Raises TooLong beyond `limit` bytes, leaving nothing."""
    raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise TooLong
    sha256 = hashlib.sha256(raw).hexdigest()
    # By days, as the files of messages: what was left behind without a row is found by looking at one.
    wanted = f"{FOLDER}/{timezone.now():%Y/%m/%d}/{sha256}-{queue_id or 0}"
    path = default_storage.save(wanted, ContentFile(raw))
    _write_through(path)
    return Kept(path, sha256, raw, path == wanted)


def _write_through(path: str) -> None:
    """Down to the disk, with its name. A storage that is no folder of ours does so by itself."""
    with suppress(NotImplementedError):
        local = Path(default_storage.path(path))
        for each in (local, local.parent):
            descriptor = os.open(each, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
