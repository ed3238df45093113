"""Error answers: every failure becomes {"request_id": …, "errors": [{"message", "code", "field"?}, …]}."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import (
    NON_FIELD_ERRORS,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.core.signals import got_request_exception
from django.db import IntegrityError, OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from callcentre.core.errors import (
    RETRY_AFTER_SECONDS,
    Conflict,
    ErrorCode,
    Fault,
    Invalid,
    is_database_away,
    is_lock_refusal,
    is_out_of_space,
)
from callcentre.core.request_id import current_request_id

logger = logging.getLogger(__name__)

# The fault for a status code without further details, as in answers of Django outside our views.
BY_STATUS = {
    400: ErrorCode.BAD_REQUEST,
    401: ErrorCode.UNAUTHENTICATED,
    403: ErrorCode.FORBIDDEN,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    408: ErrorCode.BODY_TOO_SLOW,
    409: ErrorCode.CONFLICT,
    413: ErrorCode.TOO_LARGE,
    415: ErrorCode.MEDIA_TYPE,
    429: ErrorCode.TOO_MANY_REQUESTS,
    503: ErrorCode.UNAVAILABLE,
    507: ErrorCode.NO_SPACE,
}


class Refusal(exceptions.APIException):
    """A refusal with this status. The code names the reason, if the status alone does not."""

    def __init__(self, status: int, code: ErrorCode | None = None, **params: Any) -> None:
        super().__init__()
        self.status_code = status
        self.fault = Fault(code, params=params) if code else None


class TooMany(Refusal):
    """Over a limit: the client may retry after `wait` seconds."""

    def __init__(self, wait: int, code: ErrorCode = ErrorCode.TOO_MANY_REQUESTS) -> None:
        super().__init__(429, code, seconds=wait)
        self.wait = wait


def error_body(faults: Iterable[Fault]) -> dict[str, Any]:
    return {"request_id": current_request_id(), "errors": [_entry(fault) for fault in faults]}


def _entry(fault: Fault) -> dict[str, Any]:
    entry: dict[str, Any] = {"message": fault.message, "code": fault.code.number}
    if fault.field:
        entry["field"] = fault.field
    return entry


def body_for_status(status: int, method: str = "") -> dict[str, Any]:
    code = BY_STATUS.get(status, ErrorCode.INTERNAL if status >= 500 else ErrorCode.BAD_REQUEST)
    params = {"right": "", "method": method, "limit": settings.MAX_UPLOAD_MB, "seconds": 60}
    return error_body([Fault(code, params=params)])


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """Return the answer for any exception of a view, unforeseen ones included: DRF's hook."""
    view, request = context["view"], context["request"]
    if isinstance(error, exceptions.APIException):
        return _answer_of_http(error, view, request.method or "")
    if is_database_away(error):
        logger.error("the database does not answer", exc_info=error)
        return Response(body_for_status(503), status=503, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
    answer = _answer_of_domain(error, getattr(view, "wire_names", {}))
    if answer is None:
        logger.error("request failed", exc_info=error)
        got_request_exception.send(sender=type(view), request=getattr(request, "_request", request))
        answer = Response(body_for_status(500), status=500)
    return answer


def _answer_of_domain(error: Exception, wire_names: Mapping[str, str]) -> Response | None:
    if is_out_of_space(error):
        logger.error("no space left", exc_info=error)
        return Response(body_for_status(507), status=507)
    match error:
        case Invalid():
            return Response(error_body(renamed(fault, wire_names) for fault in error.faults), status=400)
        case ValidationError():
            return Response(_body_of_validation_error(error), status=400)
        case IntegrityError() | OperationalError():
            return _answer_of_constraint(error, wire_names)
        case Conflict():
            return Response(error_body([Fault(error.code)]), status=409)
        case Http404():
            return Response(error_body([Fault(getattr(error, "code", ErrorCode.NOT_FOUND))]), status=404)
        case PermissionDenied():
            return Response(body_for_status(403), status=403)
        case RequestDataTooBig():
            return Response(body_for_status(413), status=413)
        case SuspiciousOperation():  # too many parameters
            return Response(body_for_status(400), status=400)
    return None


def _answer_of_http(error: exceptions.APIException, view: Any, method: str) -> Response:
    headers = {}
    if error.status_code == 401:
        headers["WWW-Authenticate"] = 'Basic realm="api", charset="UTF-8"'
    if isinstance(error, TooMany):
        headers["Retry-After"] = str(error.wait)
    if isinstance(error, exceptions.MethodNotAllowed):
        headers["Allow"] = ", ".join(view.allowed_methods)
    fault = getattr(error, "fault", None)
    body = error_body([fault]) if fault else body_for_status(error.status_code, method=method)
    return Response(body, status=error.status_code, headers=headers)


def renamed(fault: Fault, wire_names: Mapping[str, str]) -> Fault:
    """Return the fault under the wire name of the model's field."""
    first, dot, rest = fault.field.partition(".")
    name = wire_names.get(first, first)
    return fault if name == first else Fault(fault.code, f"{name}{dot}{rest}", fault.params)


def _body_of_validation_error(error: ValidationError) -> dict[str, Any]:
    """Return the errors of Django's own validation, with their sentences instead of our codes."""
    by_field = error.error_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.error_list}
    errors = []
    for name, several in by_field.items():
        for single in several:
            for message in single.messages:
                code = ErrorCode.__members__.get((single.code or "").upper(), ErrorCode.BAD_REQUEST)
                entry: dict[str, Any] = {"message": message, "code": code.number}
                if name != NON_FIELD_ERRORS:
                    entry["field"] = name
                errors.append(entry)
    return {"request_id": current_request_id(), "errors": errors}


# Unique constraint -> its fault; apps add theirs.
CONSTRAINTS: dict[str, Fault] = {}
_FOREIGN_KEY, _UNIQUE = "23503", "23505"


def _answer_of_constraint(error: IntegrityError | OperationalError, wire_names: Mapping[str, str]) -> Response | None:
    """Translate an error of the database: another transaction has taken or removed the row since the rules read it.

    Of two writers in a deadlock the database lets one continue.
    """
    fault = CONSTRAINTS.get(getattr(getattr(error.__cause__, "diag", None), "constraint_name", None) or "")
    if fault is not None:
        return Response(error_body([renamed(fault, wire_names)]), status=400)
    if is_lock_refusal(error) or getattr(error.__cause__, "sqlstate", "") in (_FOREIGN_KEY, _UNIQUE):
        return Response(error_body([Fault(ErrorCode.CONFLICT)]), status=409)
    return None
