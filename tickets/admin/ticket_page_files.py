"""The files on the page of a ticket: uploads are stored, kept if the form is refused, and downloaded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest
from django.utils.translation import gettext as _now

from callcentre.admin import Admin, user_of
from callcentre.core.scope import within_scope
from callcentre.models import User
from tickets.file_downloads import response_of
from tickets.file_storage import TooLong, clean_name, store
from tickets.models import StoredFile

MAX_FILES = 20


@dataclass(slots=True)
class KeptFiles:
    """The uploads of a form that is not sent yet. The page offers them again."""

    files: list[StoredFile] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def choices(self) -> list[tuple[str, str]]:
        return [(file.token, file.filename) for file in self.files]


def keep_files(user: User, tokens: Sequence[str], uploads: Iterable[Any]) -> KeptFiles:
    """Store the new uploads. Return them after the files kept before."""
    known = {file.token: file for file in StoredFile.objects.filter(user=user, message=None, token__in=tokens)}
    kept = KeptFiles([known[token] for token in tokens if token in known])
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


def file_view(admin: Admin, request: HttpRequest, token: str) -> FileResponse:
    """Send an attachment, or a file that the person has just uploaded. Only pictures are shown inline."""
    if not admin.has_view_or_change_permission(request):
        raise PermissionDenied
    file = within_scope(StoredFile.objects.all(), user_of(request)).filter(token=token).first()
    if file is None or (file.message_id is None and file.user_id != request.user.pk):
        raise Http404
    return response_of(file, inline=bool(request.GET.get("inline")))
