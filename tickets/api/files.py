from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.exceptions import TooLarge
from callcentre.api.fields import Reject, parse_text
from callcentre.api.viewsets import ApiViewSet
from callcentre.errors import ErrorCode, Fault, Invalid
from tickets.models import StoredFile
from tickets.models.attaching import owned_by
from tickets.storing import Stored, TooLong, clean_name, store, type_of


class TemporaryFileViewSet(ApiViewSet):
    """Files on their way into a message: uploaded first, named by their token then."""

    area = "tickets"
    _stored: Stored | None = None

    def body_digest(self, request: Request) -> str:
        return self._receive(request).sha256

    def handle_exception(self, exc: Exception) -> Any:
        self._discard()
        return super().handle_exception(exc)

    def create(self, request: Request) -> Response:
        stored = self._receive(request)
        name, faults = _filename(request)
        if not stored.size:
            faults.append(Fault(ErrorCode.FILE_EMPTY_UPLOAD))
        unused = StoredFile.objects.filter(**owned_by(self.actor), message=None)
        if unused.count() >= settings.MAX_TEMPORARY_FILES:
            faults.append(Fault(ErrorCode.TOO_MANY_FILES, params={"limit": settings.MAX_TEMPORARY_FILES}))
        if faults:
            raise Invalid(faults)
        file = StoredFile.objects.create(
            token=stored.token,
            filename=name,
            content_type=type_of(name),
            size=stored.size,
            sha256=stored.sha256,
            path=stored.path,
            api_user_id=self.principal.pk,
        )
        self._stored = None
        return Response({"filename": file.filename, "token": file.token, "size": file.size}, status=201)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        self._discard()  # an answer that was kept is given again: what came with the request is not needed
        return super().finalize_response(request, response, *args, **kwargs)

    def _receive(self, request: Request) -> Stored:
        """The body in the storage; read once."""
        if self._stored is None:
            limit = settings.MAX_UPLOAD_MB * 1024 * 1024
            if int(request.META.get("CONTENT_LENGTH") or 0) > limit:
                raise TooLarge
            try:
                self._stored = store(request._request, limit)
            except TooLong as error:
                raise TooLarge from error
        return self._stored

    def _discard(self) -> None:
        if self._stored is not None:
            self._stored.discard()
            self._stored = None


def _filename(request: Request) -> tuple[str, list[Fault]]:
    try:
        name = clean_name(parse_text(request.query_params.get("filename", ""), 255))
    except Reject as reject:
        return "", [fault.under("filename") for fault in reject.faults]
    return name, [] if name else [Fault(ErrorCode.EMPTY, "filename")]


class FileViewSet(ApiViewSet):
    """Attachments of messages."""

    area = "tickets"

    def retrieve(self, request: Request, token: str) -> FileResponse:
        """A temporary file is its uploader's alone."""
        file = StoredFile.objects.filter(token=token).first()
        if file is None or (file.message_id is None and file.api_user_id != self.principal.pk):
            raise Http404
        try:
            content = default_storage.open(file.path)
        except FileNotFoundError as error:
            raise Http404 from error
        response = FileResponse(
            content, as_attachment=True, filename=file.filename, content_type=type_of(file.filename)
        )
        response["X-Content-Type-Options"] = "nosniff"
        response["Content-Security-Policy"] = "default-src 'none'; sandbox"
        return response
