"""Files that nobody wants any more leave the storage: the row first, so that none promises what is gone."""

from datetime import date, timedelta

from django.conf import settings
from django.core.files.storage import default_storage
from django.utils import timezone

from tickets.file_storage import FOLDER
from tickets.mail.acknowledgements import SPAN
from tickets.models import AcknowledgedAddress, ReceivedMail, StoredFile

BATCH = 500
# Days whose folders are looked through for files without a row: what a crash left between the two.
ORPHANS_AFTER_DAYS = range(2, 8)


def prune() -> int:
    """Remove uploads that no message has used in time, and what crashes have left; how many files.

    Along with them go the addresses that were acknowledged longer ago than matters.
    """
    AcknowledgedAddress.objects.filter(acknowledged_at__lt=timezone.now() - SPAN).delete()
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
    names, count = default_storage.listdir(folder)[1], 0
    for start in range(0, len(names), BATCH):
        batch = names[start : start + BATCH]
        # By what the names are made of, which is indexed: a file's token, and a mail's checksum.
        files = StoredFile.objects.filter(token__in=batch).values_list("path", flat=True)
        mails = ReceivedMail.objects.filter(sha256__in=[name[:64] for name in batch]).values_list("path", flat=True)
        orphans = {f"{folder}/{name}" for name in batch} - {*files, *mails}
        for path in orphans:
            default_storage.delete(path)
        count += len(orphans)
    return count
