"""The OpenAPI document, composed by drf-spectacular from routes, views, inputs and tables of fields."""

import re
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from drf_spectacular.drainage import error as schema_error
from drf_spectacular.openapi import AutoSchema

from callcentre.api.exceptions import BY_STATUS
from callcentre.api.openapi import (
    JSON,
    PATHS,
    SAMPLES,
    SHAPES,
    Operation,
    Schema,
    example_of,
    input_errors,
    input_example,
    input_shape,
    resolved,
    rule_errors,
    sentence,
)
from callcentre.api.permissions import needed_right, operation_of
from callcentre.core.errors import ErrorCode
from callcentre.models import AREAS

SUCCESS = {200: "OK.", 201: "Created.", 204: "Done; the answer is empty.", 207: "One entry a number."}
PROBLEMS = {
    400: "Bad input or a broken rule: every fault at once, nothing was changed.",
    401: "No credential, a wrong one, or one that is disabled, expired or not allowed from this address.",
    403: "The API user lacks the right.",
    404: "One of the ids in the path is unknown: the code says what is not there.",
    409: "Something is busy, or the `Idempotency-Key` was used for another request.",
    413: "The body is too large.",
    415: "The body is of a type that is not read here.",
    429: "Too many requests, or too many failed log-ins; `Retry-After` says when to come back.",
    503: "The service has no connection to its database; `Retry-After` says when to come back.",
    507: "The server has no space left, so it takes no writes.",
}
LIMITS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
HEADERS = {
    "X-Request-Id": ("string", "Names this request in the service's log.", "53678450401cf"),
    "RateLimit-Limit": ("integer", "Requests a minute of this API user. Absent where there is no limit.", 300000),
    "RateLimit-Remaining": ("integer", "Requests left in this minute.", 299999),
    "RateLimit-Reset": ("integer", "Seconds until the next minute begins.", 42),
    "Retry-After": ("integer", "Seconds to wait.", 17),
    "Ignored-Parameters": (
        "string",
        "The query parameters that were not read: percent-encoded, separated by commas, at most 1,000 characters.",
        "agent_logn, colour",
    ),
    "Idempotent-Replayed": ("string", "`true` where this is the kept answer of an earlier request.", "true"),
    "WWW-Authenticate": ("string", "The scheme that is wanted.", 'Basic realm="api", charset="UTF-8"'),
}
# The faults of a batch as a whole.
BATCH_ERRORS = (ErrorCode.EMPTY, ErrorCode.NOT_LIST, ErrorCode.TOO_MANY, ErrorCode.NOT_OBJECT)
# Statuses with the same answer in all operations.
SHARED = {
    401: [ErrorCode.UNAUTHENTICATED],
    413: [ErrorCode.TOO_LARGE],
    415: [ErrorCode.MEDIA_TYPE],
    429: [ErrorCode.TOO_MANY_REQUESTS, ErrorCode.TOO_MANY_FAILURES],
    503: [ErrorCode.UNAVAILABLE],
    507: [ErrorCode.NO_SPACE],
}


class OperationSchema(AutoSchema):
    """The schema of one operation: the description from the view, and the parts that all operations have."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any
    ) -> dict[str, Any] | None:
        view: Any = self.view
        operation = operation_of(view)
        if operation is None:
            schema_error(f"{type(view).__name__}.{view.action} is not described")
            return None
        right = needed_right(view, method)
        of_path = [parameter for name, parameter in PATHS.items() if f"(?P<{name}>" in path_regex]
        missing = [code for parameter in of_path for code in parameter.errors]
        parameters = [parameter.as_dict("path") for parameter in of_path]
        parameters += [parameter.as_dict("query") for parameter in operation.parameters()]
        if method == "POST":
            parameters.append({"$ref": "#/components/parameters/Idempotency-Key"})
        described: dict[str, Any] = {
            "operationId": operation.id,
            "summary": operation.summary,
            "description": _description(operation, right),
            "tags": [view.area or "service"],
            "security": [{"basic": []}],
            "parameters": parameters,
            "x-right": right,
        }
        if operation.is_extension:
            described["x-extension"] = True
        if operation.body:
            schema, example = _body(operation)
            content = {"schema": schema, "example": operation.request_example or example}
            described["requestBody"] = {"required": True, "content": {operation.request_type: content}}
        described["responses"] = _responses(operation, method, right, missing)
        return described


def _description(operation: Operation, right: str) -> str:
    return "\n\n".join(
        part
        for part in (
            "**Extension** of the interface." if operation.is_extension else "",
            operation.description,
            f"At most {operation.rate} requests a minute." if operation.rate else "",
            f"Needs the right `{right}`." if right else "Needs no right beyond a valid credential.",
        )
        if part
    )


def _body(operation: Operation) -> tuple[Schema, Any]:
    """Return the schema of the body and its example."""
    if isinstance(operation.body, dict):
        return operation.body, example_of(operation.body)
    assert operation.body is not None
    return input_shape(operation.body, is_partial=operation.is_partial), input_example(operation.body)


# Answers


def _responses(operation: Operation, method: str, right: str, missing: list[ErrorCode]) -> dict[str, Any]:
    responses: dict[str, Any] = {str(_status(operation, method)): _success(operation, method)}
    if operation.is_empty_if:
        responses["204"] = {"description": operation.is_empty_if, "headers": _success_headers(method)}
    if codes := _bad_input(operation, method):
        responses["400"] = _problem(400, codes, codes.values())
    responses["401"] = _shared(401)
    if right:
        responses["403"] = _problem(403, [ErrorCode.FORBIDDEN], right=right)
    if missing:
        responses["404"] = _problem(404, [*missing, *operation.missing, ErrorCode.NOT_FOUND])
    conflicts = [*operation.conflicts, *([ErrorCode.KEY_REUSED, ErrorCode.KEY_BUSY] if method == "POST" else [])]
    if conflicts:
        responses["409"] = _problem(409, conflicts)
    if operation.body:
        responses["413"] = _shared(413)
        is_json = operation.request_type == JSON
        responses["415"] = _shared(415) if is_json else _problem(415, [ErrorCode.FILE_IN_FORM])
    responses["429"] = _shared(429)
    responses["503"] = _shared(503)
    if method != "GET":
        responses["507"] = _shared(507)
    return responses


def _status(operation: Operation, method: str) -> int:
    if operation.status:
        return operation.status
    if operation.answer is None:
        return 204
    return 201 if method == "POST" else 200


def _success(operation: Operation, method: str) -> Schema:
    status = _status(operation, method)
    response: Schema = {
        "description": operation.answer_description or SUCCESS[status],
        "headers": _success_headers(method),
    }
    if operation.answer:
        example = operation.answer_example or example_of(operation.answer)
        response["content"] = {
            kind: {"schema": operation.answer, "example": example} for kind in operation.answer_types
        }
    return response


def _success_headers(method: str) -> Schema:
    replayed = ["Idempotent-Replayed"] if method == "POST" else []
    return _headers("X-Request-Id", *LIMITS, "Ignored-Parameters", *replayed)


def _bad_input(operation: Operation, method: str) -> dict[ErrorCode, str]:
    """Return all reasons for a 400, those of rules first, each with the field that it names."""
    body = operation.body if operation.request_type == JSON else None
    codes: dict[ErrorCode, str] = {}
    if isinstance(body, type):
        codes |= rule_errors(body)
    elif body:  # of many items
        codes |= dict.fromkeys(BATCH_ERRORS, next(iter(resolved(body)["properties"])))
    errors = operation.errors
    codes = codes | (errors if isinstance(errors, dict) else dict.fromkeys(errors, "")) | codes
    for parameter in operation.parameters():
        codes = codes | dict.fromkeys(parameter.errors, parameter.name) | codes
    if body:
        if isinstance(body, type):
            codes = codes | input_errors(body) | codes
        codes |= {ErrorCode.NOT_JSON: "", ErrorCode.BODY_NOT_OBJECT: ""}
    if method == "POST":
        codes[ErrorCode.KEY_TOO_LONG] = ""
    return codes


def _problem(status: int, codes: Iterable[ErrorCode], fields: Iterable[str] = (), **params: Any) -> Schema:
    codes = list(codes)
    known = ", ".join(f"`{code.number}`" for code in sorted(codes, key=lambda code: code.number))
    response: Schema = {
        "description": f"{PROBLEMS[status]} Codes: {known}.",
        "headers": _headers("X-Request-Id", *([] if status in (401, 503) else LIMITS)),
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Error"},
                "example": _error_example(codes[0], next(iter(fields), ""), params),
            }
        },
    }
    extra = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}.get(status)
    if extra:
        response["headers"] |= _headers(extra)
    return response


def _error_example(code: ErrorCode, field: str, params: dict[str, Any]) -> dict[str, Any]:
    values = SAMPLES | {"limit": settings.MAX_UPLOAD_MB} if code is ErrorCode.TOO_LARGE else SAMPLES
    entry = {"message": sentence(code, **(values | {"field": field} | params)), "code": code.number}
    return {"request_id": HEADERS["X-Request-Id"][2], "errors": [entry | ({"field": field} if field else {})]}


def _shared(status: int) -> Schema:
    return {"$ref": f"#/components/responses/{BY_STATUS[status].name.title().replace('_', '')}"}


def _headers(*names: str) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


# Hooks of drf-spectacular


def prepare_endpoints(endpoints: Iterable[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Spell paths and their parameters as in the interface."""
    return [(_interface_path(path), path_regex, method, callback) for path, path_regex, method, callback in endpoints]


def _interface_path(path: str) -> str:
    return re.sub(r"{(\w+)}", lambda match: f"{{{PATHS[match[1]].name}}}", path.rstrip("/"))


def complete_document(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the components that operations refer to, and the general description."""
    result["info"]["description"] = GENERAL.format(
        codes=error_table(),
        zone=settings.TIME_ZONE,
        languages=", ".join(f"`{code}`" for code, _name in settings.LANGUAGES),
    )
    used = {operation["tags"][0] for methods in result["paths"].values() for operation in methods.values()}
    tags = {**{area: str(label) for area, label in AREAS.items()}, "service": "The service itself"}
    result["tags"] = [{"name": name, "description": label} for name, label in tags.items() if name in used]
    result["components"] = {
        "schemas": dict(sorted(SHAPES.items())),
        "responses": {
            _shared(status)["$ref"].rpartition("/")[2]: _problem(status, codes) for status, codes in SHARED.items()
        },
        "parameters": {"Idempotency-Key": IDEMPOTENCY_KEY},
        "headers": {
            name: {"description": text, "schema": {"type": kind}, "example": example}
            for name, (kind, text, example) in HEADERS.items()
        },
        "securitySchemes": {
            "basic": {"type": "http", "scheme": "basic", "description": "Login and secret of an API user, in UTF-8."}
        },
    }
    return result


def error_table() -> str:
    rows = [f"| {code.number} | `{code.name}` | {sentence(code)} |" for code in ErrorCode]
    return "\n".join(["| code | name | message |", "|---|---|---|", *rows])


IDEMPOTENCY_KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "description": (
        "A name that the client gives to this request, kept for 24 hours. The same key, query and body again return"
        " the first answer, with `Idempotent-Replayed: true`; the same key with another query or body is 409."
    ),
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "example": "8f14e45f-ceea-467f-a9f1-0c1d2b3a4c5d"},
}

SHAPES["Error"] = {
    "type": "object",
    "description": "Why a request failed: one entry a fault.",
    "required": ["request_id", "errors"],
    "additionalProperties": False,
    "properties": {
        "request_id": {"type": "string", "description": "The same as in `X-Request-Id`."},
        "errors": {
            "type": "array",
            "minItems": 1,
            "description": "All faults at once.",
            "items": {
                "type": "object",
                "required": ["message", "code"],
                "additionalProperties": False,
                "properties": {
                    "message": {"type": "string", "description": "For people, in the language they accept."},
                    "code": {
                        "type": "integer",
                        "description": "For programs: a number out of the table of error codes.",
                        "enum": [code.number for code in ErrorCode],
                    },
                    "field": {
                        "type": "string",
                        "description": "What it is about, dotted for nested values; absent where nothing applies.",
                    },
                },
            },
        },
    },
}

GENERAL = """\
A contact centre over HTTP. Operations marked **Extension** (`x-extension`) go beyond the interface.

**Authentication.** HTTP Basic with login and secret of an API user. Each operation names the right that it needs.

**Bodies** are JSON in UTF-8, at most 10,000 items a batch. Unknown keys are ignored. Null means the same as a missing
key. Ids may be sent as numbers or strings; booleans as true, false, 1, 0, also as strings.

**Queries.** A list may be spelled `name[]=1&name[]=2`, `name=1&name=2` or `name[0]=1&name[1]=2`. Unknown parameters are
ignored: the header `Ignored-Parameters` of a 2xx answer names them.

**Times** are wall-clock times of {zone}: `YYYY-MM-DD`, `YYYY-MM-DD hh:mm` or `YYYY-MM-DD hh:mm:ss`. A lower bound that
is a date means its first instant, an upper bound its last.

**Paging.** `limit` (default and most 100; of customers most 1,000) and `offset`; the answer is `count` and `result`.

**Retries.** Any POST takes an `Idempotency-Key`: repeated with it, a request runs once.

**Failures** are answered in one form: `request_id` and `errors`, each with `message`, `code` and mostly `field`.
Checked in the order 401, 403, 404, 400. A method that a path does not list is 405. `Accept-Language`
chooses the language of messages, one of {languages}; codes never change:

{codes}
"""
