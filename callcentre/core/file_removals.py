"""Files that must leave the storage, and their removal."""

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.core.files.storage import default_storage
from django.db import models
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

logger = logging.getLogger(__name__)

FAILED_PAUSE = timedelta(minutes=1)
REMOVED_AT_ONCE = 500


class FileRemoval(models.Model):
    """A file that must leave the storage, recorded in the transaction that deletes its row.

    The row stays until the storage has removed the file.
    """

    path = models.CharField(max_length=200)
    due_at = models.DateTimeField(default=timezone.now)
    failure_count = models.PositiveSmallIntegerField(default=0)

    class Meta:
        app_label = "callcentre"
        verbose_name = _("file to be removed")
        verbose_name_plural = _("files to be removed")
        ordering = ["id"]
        indexes = [models.Index(fields=["due_at"], name="fileremoval_due")]

    def __str__(self) -> str:
        return self.path

    @classmethod
    def add(cls, paths: Sequence[str], after: timedelta = timedelta()) -> int:
        """Record files to be removed after the commit, or later by `delay`; return their number."""
        due_at = timezone.now() + after
        return len(FileRemoval.objects.bulk_create([FileRemoval(path=path, due_at=due_at) for path in paths if path]))


def remove_files() -> int:
    """Remove due files from the storage and return their number. Failed removals are retried later."""
    count = 0
    for removal in FileRemoval.objects.filter(due_at__lte=timezone.now()).order_by("due_at")[:REMOVED_AT_ONCE]:
        try:
            default_storage.delete(removal.path)
        except Exception as error:  # noqa: BLE001  (storages raise any exception)
            logger.warning("file not removed", extra={"path": removal.path, "error": repr(error)})
            pause = FAILED_PAUSE * 2 ** min(removal.failure_count, 8)
            FileRemoval.objects.filter(pk=removal.pk).update(
                due_at=timezone.now() + pause, failure_count=F("failure_count") + 1
            )
        else:
            removal.delete()
            count += 1
    return count
