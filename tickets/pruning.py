"""Files that nobody wants any more leave the storage: the row first, so that none promises what is gone."""

from datetime import date, timedelta

from django.conf import settings
from django.core.files.storage import default_storage
from django.utils import timezone

from tickets.models import ReceivedMail, StoredFile
from tickets.storing import FOLDER

BATCH = 500
# Days whose folders are looked through for files without a row: what a crash left between the two.
ORPHANS_AFTER_DAYS = (2, 3, 4)


def prune() -> int:
    """Remove uploads that no message has used in time, and what crashes have left; how many files."""
    return _unused() + sum(_orphans(timezone.now().date() - timedelta(days=days)) for days in ORPHANS_AFTER_DAYS)


def _unused() -> int:
    before, count = timezone.now() - settings.TEMPORARY_FILE_RETENTION, 0
    while files := list(StoredFile.objects.unused_since(before).order_by("created_at")[:BATCH]):
        # One that a message has taken meanwhile stays.
        for file in files:
            if StoredFile.objects.filter(pk=file.pk, message=None).delete()[0]:
                default_storage.delete(file.path)
                count += 1
    return count


def _orphans(day: date) -> int:
    folder = f"{FOLDER}/{day:%Y/%m/%d}"
    if not default_storage.exists(folder):
        return 0
    paths = {f"{folder}/{name}" for name in default_storage.listdir(folder)[1]}
    known = set(StoredFile.objects.filter(path__in=paths).values_list("path", flat=True))
    known |= set(ReceivedMail.objects.filter(path__in=paths).values_list("path", flat=True))
    for path in paths - known:
        default_storage.delete(path)
    return len(paths - known)
