"""The free space of the volumes of this machine that the service writes to.

A volume that is filled to its end stops what maps files of it, the stores included, in the middle of their writes. So
writes end before, with a clear refusal, while reads go on.
"""

import os
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from callcentre.core.file_store import local_path

# Volumes with less are low on space; of small volumes, this part of all.
LOW_BYTES, LOW_PART = 1 << 30, 0.2
# Volumes with less are full: requests that write are refused, and workers begin nothing that needs space.
FULL_BYTES, FULL_PART = 256 << 20, 0.1
FRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Volume:
    """The space of a volume, in bytes."""

    free: int
    total: int

    @property
    def is_low(self) -> bool:
        return self.free < min(LOW_BYTES, self.total * LOW_PART)

    def is_full(self, more: int = 0) -> bool:
        """Return whether the volume is full, or would be with so many bytes more."""
        return self.free - more < min(FULL_BYTES, self.total * FULL_PART)


class _Reading:
    """The last reading. A folder of another machine may hang: one thread waits for it, others take the last reading."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._volumes: dict[str, Volume] = {}
        self._due_at = 0.0

    def volumes(self) -> dict[str, Volume]:
        if time.monotonic() >= self._due_at and self._lock.acquire(blocking=False):
            try:
                self._volumes = _measure()
                self._due_at = time.monotonic() + FRESH_SECONDS
            finally:
                self._lock.release()
        return self._volumes


def _measure() -> dict[str, Volume]:
    """Return the volumes of stored files, of the data folder with its stores, and of uploads: each volume once."""
    folders: dict[str, Any] = {"data": settings.VAR, "temporary": tempfile.gettempdir()}
    if files := local_path(""):
        folders = {"files": files, **folders}
    found, seen = {}, set()
    for name, folder in folders.items():
        with suppress(OSError):
            device, of = Path(folder).stat().st_dev, os.statvfs(folder)
            if device not in seen:
                seen.add(device)
                found[name] = Volume(of.f_bavail * of.f_frsize, of.f_blocks * of.f_frsize)
    return found


_reading = _Reading()


def volumes() -> dict[str, Volume]:
    """Return the volumes by name, as of a second ago at most."""
    return _reading.volumes()


def is_full(more: int = 0) -> bool:
    """Return whether a volume is full, or would be with so many bytes more."""
    return any(volume.is_full(more) for volume in volumes().values())
