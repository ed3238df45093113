"""The mark of the folder of stored files, by which a host notices that it has another folder than the other hosts.

The first web server or worker that starts writes a mark into its folder and then into the database, as does a host that
is asked whether it is ready.
"""

import logging
from contextlib import suppress
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from django.core.files.storage import default_storage
from django.db import models

from callcentre.core.monitoring import NotReadyError, query

logger = logging.getLogger(__name__)

MARK = ".callcentre-files"
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


def check_folder() -> None:
    """Raise NotReadyError unless this host has the folder of all hosts."""
    file = Path(default_storage.path(MARK))
    known = query(_KNOWN)
    if not known:
        if not file.exists():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Complete from its first moment on, for other processes and after a crash.
            draft = file.with_name(f"{MARK}-{uuid4()}")
            draft.write_text(str(uuid4()))
            with suppress(FileExistsError):
                file.hardlink_to(draft)
            draft.unlink()
        known = query(_MAKE_KNOWN % UUID(file.read_text()))
    if not file.exists() or (UUID(file.read_text()),) not in known:
        raise NotReadyError("The folder of files is not the one that the other hosts use.")


def mark_folder() -> None:
    """Mark the folder at the start of a process, so that hosts that join later are compared with it."""
    try:
        check_folder()
    except NotReadyError as error:
        logger.error("%s", error)  # noqa: TRY400
    except (psycopg.Error, OSError) as error:
        # Whether the host is ready is asked again later.
        logger.warning("folder of files not marked", extra={"error": repr(error)})
