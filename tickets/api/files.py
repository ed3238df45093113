from typing import Any

from django.conf import settings
from django.http import FileResponse
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.exceptions import Refusal
from callcentre.api.openapi import Parameter, integer, operation, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, Invalid, NotFound
from callcentre.core.parsing import Reject, parse_text
from tickets.file_downloads import response_of
from tickets.file_storage import Stored, TooLong, clean_name, store
from tickets.models import StoredFile

FILE = {"type": "string", "format": "binary", "example": "%PDF-1.7 …"}


class TemporaryFileViewSet(ApiViewSet):
    """Files on their way into a message: uploaded first, named by their token then."""

    area = "tickets"
    _stored: Stored | None = None

    def body_digest(self, request: Request) -> str:
        return self._receive(request).sha256

    def handle_exception(self, exc: Exception) -> Any:
        self._discard()
        return super().handle_exception(exc)

    @operation(
        "upload_temporary_file",
        "Upload a file",
        "For the attachments of a message. It is kept for 24 hours, and only this API user can use it, once.",
        body=FILE,
        request_type="application/octet-stream",
        query=(
            Parameter(
                "filename",
                {"type": "string", "example": "invoice.pdf"},
                "Name of the file.",
                (ErrorCode.EMPTY, ErrorCode.TOO_LONG, ErrorCode.NUL),
                is_required=True,
            ),
        ),
        answer=shape(
            "TemporaryFile",
            "The file.",
            filename=text("Its name, cleaned.", "invoice.pdf"),
            token=text("The name of the file in `attachments`.", "Zk3vJp"),
            size=integer("Bytes.", 48_213),
        ),
        errors=[ErrorCode.FILE_EMPTY_UPLOAD, ErrorCode.FILE_CUT_SHORT, ErrorCode.TOO_MANY_FILES],
    )
    def create(self, request: Request) -> Response:
        stored = self._receive(request)
        name, faults = _filename(request)
        if not stored.size:
            faults.append(Fault(ErrorCode.FILE_EMPTY_UPLOAD))
        if stored.size < _declared_size(request):
            faults.append(Fault(ErrorCode.FILE_CUT_SHORT))
        if StoredFile.objects.usable_by(self.actor).count() >= settings.MAX_TEMPORARY_FILES:
            faults.append(Fault(ErrorCode.TOO_MANY_FILES, params={"limit": settings.MAX_TEMPORARY_FILES}))
        if faults:
            raise Invalid(faults)
        file = StoredFile.of(stored, name, api_user_id=self.principal.pk)
        file.save(force_insert=True)
        self._stored = None
        return Response({"filename": file.filename, "token": file.token, "size": file.size}, status=201)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        self._discard()  # an answer that was kept is given again: what came with the request is not needed
        return super().finalize_response(request, response, *args, **kwargs)

    def _receive(self, request: Request) -> Stored:
        """The body in the storage; read once. A form around the file would become a part of it."""
        if request.content_type.lower().startswith("multipart/"):
            raise Refusal(415, ErrorCode.FILE_IN_FORM)
        if self._stored is None:
            limit = settings.MAX_UPLOAD_MB * 1024 * 1024
            if _declared_size(request) > limit:
                raise Refusal(413)
            try:
                self._stored = store(request._request, limit)
            except TooLong as error:
                raise Refusal(413) from error
        return self._stored

    def _discard(self) -> None:
        if self._stored is not None:
            self._stored.discard()
            self._stored = None


def _declared_size(request: Request) -> int:
    length = str(request.META.get("CONTENT_LENGTH") or "")
    return int(length) if length.isascii() and length.isdecimal() else 0


def _filename(request: Request) -> tuple[str, list[Fault]]:
    try:
        name = clean_name(parse_text(request.query_params.get("filename", ""), 255))
    except Reject as reject:
        return "", [fault.under("filename") for fault in reject.faults]
    return name, [] if name else [Fault(ErrorCode.EMPTY, "filename")]


class FileViewSet(ApiViewSet):
    """Attachments of messages."""

    area = "tickets"

    @operation(
        "download_file",
        "Download an attachment",
        "Always as a download, never shown inside a page. The content type is that of the file.",
        answer=FILE,
        missing=[ErrorCode.FILE_GONE],
        # Client generators use only the first type.
        answer_types=("application/octet-stream", "*/*"),
    )
    def retrieve(self, request: Request, token: str) -> FileResponse:
        """A temporary file is its uploader's alone."""
        file = StoredFile.objects.filter(token=token).first()
        is_temporary = file is not None and file.message_id is None
        if file is None or (is_temporary and not StoredFile.objects.usable_by(self.actor).filter(pk=file.pk).exists()):
            raise NotFound(ErrorCode.ATTACHMENT_NOT_FOUND)
        return response_of(file)
