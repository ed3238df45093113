"""The removal of files that are no longer needed. The row goes first, so that no row names a missing file."""

from datetime import date, timedelta

from django.conf import settings
from django.core.files.storage import default_storage
from django.utils import timezone

from tickets.file_storage import FOLDER
from tickets.models import AcknowledgedAddress, Notice, ReceivedMail, StoredFile
from tickets.models.notice import KEPT
from tickets.verbs.automatic_mail import SPAN

BATCH = 500
# The ages in days of the folders in which files without a row are searched. A crash can leave such files.
ORPHANS_AFTER_DAYS = range(2, 8)


def prune() -> int:
    """Remove uploads that no message has used in time, and files without a row; return the number of files.

    Also delete addresses whose last acknowledgement no longer matters, and old notices.
    """
    Notice.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    AcknowledgedAddress.objects.filter(acknowledged_at__lt=timezone.now() - SPAN).delete()
    return _unused() + sum(_orphans(timezone.now().date() - timedelta(days=days)) for days in ORPHANS_AFTER_DAYS)


def _unused() -> int:
    before, count = timezone.now() - settings.TEMPORARY_FILE_RETENTION, 0
    while files := list(StoredFile.objects.unused_since(before).order_by("created_at")[:BATCH]):
        # A file that a message has taken meanwhile stays.
        for file in files:
            if StoredFile.objects.filter(pk=file.pk, message=None).delete()[0]:
                default_storage.delete(file.path)
                count += 1
    return count


def _orphans(day: date) -> int:
    folder = f"{FOLDER}/{day:%Y/%m/%d}"
    try:
        names, count = default_storage.listdir(folder)[1], 0
    except FileNotFoundError:
        return 0
    for start in range(0, len(names), BATCH):
        batch = names[start : start + BATCH]
        # Names of files begin with a token or with the checksum of a mail. Both are indexed.
        files = StoredFile.objects.filter(token__in=batch).values_list("path", flat=True)
        mails = ReceivedMail.objects.filter(sha256__in=[name[:64] for name in batch]).values_list("path", flat=True)
        orphans = {f"{folder}/{name}" for name in batch} - {*files, *mails}
        for path in orphans:
            default_storage.delete(path)
        count += len(orphans)
    return count
