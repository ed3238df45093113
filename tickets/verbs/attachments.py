"""Uploaded files become attachments of messages: each file once, and only by its uploader."""

from collections.abc import Sequence

from django.conf import settings

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, numbered
from tickets.models.file import StoredFile
from tickets.models.message import Message


def lock_unused_files(actor: Actor, tokens: Sequence[str], faults: list[Fault]) -> list[StoredFile]:
    """Return the actor's files of these tokens, locked and in the same order; add missing files to the faults.

    If two messages want the same file at once, the second waits for the lock and then finds the file used.
    """
    if not tokens:
        return []
    usable = StoredFile.objects.usable_by(actor).filter(token__in=set(tokens))
    found = {file.token: file for file in usable.select_for_update(no_key=True).order_by("id")}
    files = []
    for position, token in numbered(tokens):
        if file := found.pop(token, None):
            files.append(file)
        else:
            faults.append(Fault(ErrorCode.FILE_NOT_FOUND, f"attachments.{position}"))
    # A message may be as large as one upload, because mail servers take little more.
    if sum(file.size for file in files) > settings.MAX_UPLOAD_MB * 1024 * 1024:
        faults.append(Fault(ErrorCode.FILES_TOO_LARGE, "attachments", {"limit": settings.MAX_UPLOAD_MB}))
    return files


def attach(message: Message, files: Sequence[StoredFile]) -> None:
    StoredFile.objects.filter(pk__in=[file.pk for file in files]).update(message=message)
