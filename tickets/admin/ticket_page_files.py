"""Files on a ticket's page: taken in with what is written, kept when that is refused, downloaded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import FileResponse, Http404
from django.utils.translation import gettext as _now

from callcentre.models import User
from tickets.file_downloads import response_of
from tickets.file_storage import TooLong, clean_name, store
from tickets.models import StoredFile

MAX_FILES = 20


@dataclass(slots=True)
class Kept:
    """Files that came with a form and are in no message yet: as long as it is not sent they are offered again."""

    files: list[StoredFile] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def choices(self) -> list[tuple[str, str]]:
        return [(file.token, file.filename) for file in self.files]


def keep(user: User, tokens: Sequence[str], uploads: Iterable[Any]) -> Kept:
    """Those that were kept before, and the new ones."""
    known = {file.token: file for file in StoredFile.objects.filter(user=user, message=None, token__in=tokens)}
    kept = Kept([known[token] for token in tokens if token in known])
    for upload in uploads:
        if len(kept.files) >= MAX_FILES:
            kept.faults.append(_now("At most %(count)s files.") % {"count": MAX_FILES})
            break
        name = clean_name(upload.name or "")[:255] or "attachment"
        if not upload.size:
            kept.faults.append(_now("%(name)s is empty.") % {"name": name})
            continue
        try:
            stored = store(upload, settings.MAX_UPLOAD_MB * 1024 * 1024)
        except TooLong:
            limits = {"name": name, "limit": settings.MAX_UPLOAD_MB}
            kept.faults.append(_now("%(name)s is larger than %(limit)s MB.") % limits)
            continue
        file = StoredFile.of(stored, name, user=user)
        file.save(force_insert=True)
        kept.files.append(file)
    return kept


def download(user: User, token: str, *, inline: bool) -> FileResponse:
    """An attachment, or a file that the user himself has just sent; inline pictures only. Raises Http404."""
    file = StoredFile.objects.filter(token=token).first()
    if file is None or (file.message_id is None and file.user_id != user.pk):
        raise Http404
    return response_of(file, inline=inline)
