"""The mark of the folder of stored files, by which a host notices that it has another folder than the other hosts.

The first web server or worker that starts writes a mark into its folder and then into the database, as does a host that
is asked whether it is ready.
"""

import logging
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import models

from callcentre.core.monitoring import NotReadyError, query

logger = logging.getLogger(__name__)

MARK = ".callcentre-files"
_is_right_bucket = False
_KNOWN = "SELECT mark FROM callcentre_filestore"
_MAKE_KNOWN = f"""
WITH made AS (INSERT INTO callcentre_filestore (id, mark) VALUES (1, '%s') ON CONFLICT DO NOTHING RETURNING mark)
SELECT mark FROM made UNION {_KNOWN}
"""  # noqa: S608  (our mark)


class FileStore(models.Model):
    """The mark of the folder that all hosts share, in one row."""

    mark = models.UUIDField()

    class Meta:
        ordering = ["id"]
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.mark)


def local_path(name: str) -> Path | None:
    """Return the path of a stored file on this host; None if files are in a bucket."""
    try:
        return Path(default_storage.path(name))
    except NotImplementedError:
        return None


def check_folder() -> None:
    """Raise NotReadyError unless this host has the folder, or the bucket, of all hosts.

    A folder may be unmounted. A bucket is asked until it was the right one: if it is away, it is so for all hosts.
    """
    global _is_right_bucket  # noqa: PLW0603
    if _is_right_bucket:
        return
    known, mark = query(_KNOWN), _read_mark()
    if not known:
        if mark is None:
            # Of two hosts that write it at once, one gets another name.
            if (name := default_storage.save(MARK, ContentFile(str(uuid4()).encode()))) != MARK:
                default_storage.delete(name)
            mark = _read_mark()
        known = query(_MAKE_KNOWN % mark)
    if (mark,) not in known:
        raise NotReadyError("The folder of files is not the one that the other hosts use.")
    _is_right_bucket = local_path(MARK) is None


def _read_mark() -> UUID | None:
    try:
        with default_storage.open(MARK) as file:
            return UUID(file.read().decode())
    except FileNotFoundError:
        return None


def mark_folder() -> None:
    """Mark the folder at the start of a process, so that hosts that join later are compared with it."""
    try:
        check_folder()
    except NotReadyError as error:
        logger.error("%s", error)  # noqa: TRY400
    except (psycopg.Error, OSError, ValueError) as error:
        # Whether the host is ready is asked again later.
        logger.warning("folder of files not marked", extra={"error": repr(error)})
