"""The Idempotency-Key header: a POST repeated with its key runs once and gets the same answer."""

from codecs import BOM_UTF8
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from math import ceil
from typing import Any, ClassVar, NoReturn, cast
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.http import Http404
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from callcentre import rate_limits
from callcentre.api.authentication import Principal
from callcentre.api.exceptions import Refusal, TooMany
from callcentre.api.fields import Input
from callcentre.api.filters import Query
from callcentre.api.openapi import operation
from callcentre.api.permissions import operation_of
from callcentre.core.actor import Actor
from callcentre.core.encryption import decrypt, encrypt
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.request_id import current_request_id
from callcentre.models import IdempotencyRecord

HEADER = "HTTP_IDEMPOTENCY_KEY"
# Answers that the handler decided. Other answers (busy, forbidden, too many requests, broken) may differ next time.
KEPT_FAILURES = (400, 404)


class _NotKept(Exception):
    def __init__(self, response: Response) -> None:
        self.response = response


def run_once(
    request: Request,
    body_hash: str,
    prepare: Callable[[], None] | None,
    handler: Callable[[], Response],
    on_error: Callable[[Exception], Response],
) -> Response:
    """Run the handler and keep its answer under the request's key, in one transaction; or replay the kept answer.

    The key's row is inserted first: a second request waits on its unique index until the first commits. If the process
    dies meanwhile, neither the work nor the key exists. `prepare` runs before the transaction, unless there is an
    answer; its error is that of the handler.
    """
    key = request.META[HEADER]
    if not 1 <= len(key) <= 255:
        raise Invalid([Fault(ErrorCode.KEY_TOO_LONG)])
    user_id = request.user.pk
    assert user_id is not None
    fingerprint = sha256(f"{request.method} {request.path.rstrip('/')}\n{key}".encode()).hexdigest()
    request_hash = _with_query(request, body_hash)
    if prepare and not IdempotencyRecord.objects.filter(api_user_id=user_id, fingerprint=fingerprint).exists():
        try:
            prepare()
        except Exception as error:  # noqa: BLE001  (the handler's errors are answered below)
            handler = partial(_fail, error)
    try:
        with transaction.atomic():
            record_id = _reserve(user_id, fingerprint, request_hash)
            if record_id is None:
                return _replay(user_id, fingerprint, request_hash)
            response = _run(handler, on_error)
            IdempotencyRecord.objects.filter(pk=record_id).update(
                status=response.status_code,
                answer=encrypt(orjson.dumps(response.data)) if response.data is not None else b"",
            )
            return response
    except _NotKept as refusal:
        return refusal.response


def _fail(error: Exception) -> Response:
    raise error


def _with_query(request: Request, body_hash: str) -> str:
    """Return the hash of query and body. The order of parameters does not matter, the order of values does.

    Without a query it is the hash of the body: rows of earlier versions hold that hash.
    """
    query = urlencode(sorted(request.query_params.lists()), doseq=True)
    return sha256(f"{query}\n{body_hash}".encode()).hexdigest() if query else body_hash


def _run(handler: Callable[[], Response], on_error: Callable[[Exception], Response]) -> Response:
    """Return the handler's answer; roll back its changes if it failed. Raise _NotKept for answers that are not kept."""
    try:
        with transaction.atomic():
            return handler()
    except Exception as error:
        response = on_error(error)
        if response.status_code in KEPT_FAILURES:
            return response
        raise _NotKept(response) from error


def _reserve(user_id: int, fingerprint: str, request_hash: str) -> int | None:
    """Return the new row, or None if a request with this key has committed. Raise Conflict while that request runs."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(
                "SELECT current_setting('lock_timeout'), set_config('lock_timeout', %s, true)",
                [f"{settings.IDEMPOTENCY_WAIT_SECONDS}s"],
            )
            usual = cursor.fetchone()[0]
            cursor.execute(
                "INSERT INTO callcentre_idempotencyrecord (api_user_id, fingerprint, body_hash, answer)"
                " VALUES (%s, %s, %s, '') ON CONFLICT DO NOTHING RETURNING id",
                [user_id, fingerprint, request_hash],
            )
            row = cursor.fetchone()
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [usual])
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") == "55P03":  # lock_not_available
                raise Conflict(ErrorCode.KEY_BUSY) from error
            raise
    return row[0] if row else None


def _replay(user_id: int, fingerprint: str, request_hash: str) -> Response:
    kept = IdempotencyRecord.objects.get(api_user_id=user_id, fingerprint=fingerprint)
    if kept.body_hash != request_hash:
        raise Conflict(ErrorCode.KEY_REUSED)
    data: Any = orjson.loads(decrypt(bytes(kept.answer))) if kept.answer else None
    if kept.status in KEPT_FAILURES:
        data["request_id"] = current_request_id()  # as in the header, so that it leads to the log of this request
    return Response(data, status=kept.status, headers={"Idempotent-Replayed": "true"})


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

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the request as DRF does, then its body and address. Put retried writes around its handler."""
        super().initial(request, *args, **kwargs)
        if int(request.META.get("CONTENT_LENGTH") or 0) and not request.content_type:
            raise Refusal(415, ErrorCode.NO_MEDIA_TYPE)
        if any("\0" in value for value in kwargs.values()):
            raise Http404  # PostgreSQL has no text with NUL, so no row has such an id
        method = (request.method or "").lower()
        setattr(self, method, partial(self._answer, getattr(self, method, self.http_method_not_allowed)))

    def check_permissions(self, request: Request) -> None:
        """Refuse a request without a credential before one with a missing method or right."""
        if not request.user:
            raise exceptions.NotAuthenticated
        if not self.action and request.method != "OPTIONS":
            raise exceptions.MethodNotAllowed(request.method or "")
        super().check_permissions(request)

    def check_throttles(self, request: Request) -> None:
        """Apply the throttles of DRF, and the rate of the operation."""
        super().check_throttles(request)
        described = operation_of(self)
        if described and described.rate:
            key = f"{self.principal.id}:{described.id}"
            if wait := rate_limits.rates.admit(key, described.rate).retry_after:
                self.throttled(request, wait)

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        """Refuse the request, as any limit does."""
        raise TooMany(ceil(wait or rate_limits.RATE_WINDOW_SECONDS))

    def _answer(self, handler: Any, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Run the handler, that of a POST with an Idempotency-Key only once."""
        run = partial(self._run, handler, request, *args, **kwargs)
        prepare = getattr(self, f"prepare_{self.action}", None)
        prepare = prepare and partial(prepare, request, *args, **kwargs)
        if request.method == "POST" and HEADER in request.META and self.action:
            return run_once(request, self.body_digest(request), prepare, run, self.handle_exception)
        if prepare:
            prepare()
        return run()

    def _run(self, handler: Any, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Run the handler; one that returns nothing answers 204. A header names the parameters that it did not read."""
        query = None
        if query_string := request.META.get("QUERY_STRING", ""):
            cast("Any", request._request).GET = query = Query(query_string.encode("latin-1"))
        response = handler(request, *args, **kwargs) or Response(status=204)
        if query and (ignored := query.ignored):
            response["Ignored-Parameters"] = ignored
        return response

    @property
    def default_response_headers(self) -> dict[str, str]:
        """No headers: DRF's `Vary` is for several renderers, and its `Allow` stands in the answer 405."""
        return {}

    def body_digest(self, request: Request) -> str:
        """Return the SHA-256 of the body, in hex: an Idempotency-Key is refused for another body."""
        return sha256(request._request.body).hexdigest()

    @property
    def principal(self) -> Principal:
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
    def ping(self, request: Request) -> None:
        """Answer 204 to any API user with a right credential."""


class UnknownPath(APIView):
    """Unknown paths: 401 without a credential, 404 with one, always JSON."""

    area = ""
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404
