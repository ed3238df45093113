from codecs import BOM_UTF8
from functools import partial
from hashlib import sha256
from typing import Any, ClassVar, cast

from django.http import Http404
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from callcentre.api.authentication import Principal
from callcentre.api.exceptions import WrongMediaType
from callcentre.api.filters import Query
from callcentre.api.idempotency import HEADER, run_once
from callcentre.api.openapi import operation
from callcentre.api.serializers import Input
from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid


class ApiViewSet(ViewSet):
    """The base of every resource, with its area of rights, retried writes, and inputs read with all their faults.

    A POST runs in a transaction if it has an Idempotency-Key. If it needs the network, its method `prepare_<action>`
    asks before that transaction.
    """

    # One of AREAS; "" is open to every API user.
    area: ClassVar[str] = ""
    # Actions that show a secret need the right to write.
    secret_actions: ClassVar[tuple[str, ...]] = ()
    wire_names: dict[str, str] = {}

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Dispatch as DRF does, but run the handler of a POST with an Idempotency-Key only once."""
        self.args, self.kwargs = args, kwargs
        self.request = request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            self.initial(request, *args, **kwargs)
            handler = partial(self._run, getattr(self, request.method.lower(), self.http_method_not_allowed))
            prepare = getattr(self, f"prepare_{self.action}", None)
            if request.method == "POST" and HEADER in request.META and self.action:
                body_hash = self.body_digest(request)
                response = run_once(
                    request,
                    body_hash,
                    prepare and partial(prepare, request, *args, **kwargs),
                    partial(handler, request, *args, **kwargs),
                    self.handle_exception,
                )
            else:
                if prepare:
                    prepare(request, *args, **kwargs)
                response = handler(request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001  (the client gets an answer to any error)
            response = self.handle_exception(error)
        self.response = self.finalize_response(request, response, *args, **kwargs)
        return self.response

    def _run(self, handler: Any, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Run the handler. A header of its answer names the parameters of the query that it did not read."""
        query_string = request.META.get("QUERY_STRING", "")
        if not query_string:
            return handler(request, *args, **kwargs)
        query = Query(query_string.encode("latin-1"))
        cast("Any", request._request).GET = query
        response = handler(request, *args, **kwargs)
        if ignored := query.ignored:
            response["Ignored-Parameters"] = ignored
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.format_kwarg = None
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        if not request.user:  # before the error for a missing method
            raise exceptions.NotAuthenticated
        if not self.action and request.method != "OPTIONS":
            raise exceptions.MethodNotAllowed(request.method or "")
        self.check_permissions(request)
        if int(request.META.get("CONTENT_LENGTH") or 0) and not request.content_type:
            raise WrongMediaType(ErrorCode.NO_MEDIA_TYPE)
        if any("\0" in value for value in kwargs.values()):
            raise Http404  # PostgreSQL has no text with NUL, so no row has such an id

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {}

    def body_digest(self, request: Request) -> str:
        """Return the SHA-256 of the body, in hex: an Idempotency-Key is refused for another body."""
        return sha256(request._request.body).hexdigest()

    @property
    def principal(self) -> Principal:
        """The API user behind the request."""
        return cast("Principal", self.request.user)

    @property
    def actor(self) -> Actor:
        return self.principal.actor

    def read(self, reader: type[Input], *, is_partial: bool = False) -> tuple[dict[str, Any], list[Fault]]:
        """Return the body's values and faults, both by the model's names. A PUT needs a body, at least `{}`."""
        self.wire_names = reader.wire_names()
        if self.request.method == "PUT" and not self.request._request.body.removeprefix(BOM_UTF8).strip():
            raise Invalid([Fault(ErrorCode.BODY_NOT_OBJECT)])
        return reader.read(self.request.data, is_partial=is_partial)


class PingViewSet(ApiViewSet):
    """The cheapest authenticated request, for monitors."""

    @operation(
        "ping",
        "Check that the service answers",
        "The cheapest request there is: for monitors, and to try a credential.",
        answer_description="The service answers and the credential is right.",
    )
    def ping(self, request: Request) -> Response:
        """Answer 204 to any API user with a right credential."""
        return Response(status=204)


class UnknownPath(APIView):
    """Unknown paths: 401 without a credential, 404 with one, always JSON."""

    area = ""
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404
