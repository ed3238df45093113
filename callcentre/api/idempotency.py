"""The Idempotency-Key header: a POST repeated with its key runs once and gets the same answer."""

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.db import OperationalError, connection, transaction
from rest_framework.request import Request
from rest_framework.response import Response

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
