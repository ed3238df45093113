"""The middleware of every request: id, log line, metrics, JSON under /api, content security policy, no NUL."""

import logging
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import structlog
from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.contrib.auth import middleware as of_users
from django.contrib.messages import middleware as of_messages
from django.contrib.sessions import middleware as of_sessions
from django.core.exceptions import BadRequest
from django.db import DataError, connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware import csrf
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.functional import cached_property

from callcentre.api.authentication import ADMISSION, KNOWN, PRINCIPAL, has_credential
from callcentre.api.exceptions import body_for_status, error_body
from callcentre.api.renderers import CONTENT_TYPE, to_json
from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.audit import is_view_missing
from callcentre.core.errors import ErrorCode, Fault, is_lock_refusal, is_out_of_space
from callcentre.core.network import client_address, is_in_networks
from callcentre.core.parsing import is_storable
from callcentre.core.sender import Sender, sending
from callcentre.monitoring import metrics
from callcentre.web import error_pages, sessions
from callcentre.web.bodies import is_of_api
from callcentre.web.error_pages import misread


class _OfPages:
    """A middleware without an effect on requests to the API that have a credential, and so need no session."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        if has_credential(request.META) and is_of_api(request.path_info):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]


class SessionMiddleware(_OfPages, of_sessions.SessionMiddleware):
    """Django's middleware, for pages."""


class IdleMiddleware(_OfPages, sessions.IdleMiddleware):
    """Our middleware, for pages."""


class CsrfViewMiddleware(_OfPages, csrf.CsrfViewMiddleware):
    """Django's middleware, for pages."""


class AuthenticationMiddleware(_OfPages, of_users.AuthenticationMiddleware):
    """Django's middleware, for pages."""


class MessageMiddleware(_OfPages, of_messages.MessageMiddleware):
    """Django's middleware, for pages."""


class _Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class LanguageMiddleware(_Middleware):
    """The language of the request's cookie or its Accept-Language.

    Django's middleware also looks for a language in the address, where we have none. That takes three times as long.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        translation.activate(translation.get_language_from_request(request))
        request.LANGUAGE_CODE = translation.get_language() or ""
        response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"])
        response.headers.setdefault("Content-Language", translation.get_language() or "")
        return response


logger = logging.getLogger("callcentre.requests")

_QUIET = ("/health/", "/metrics", "/static/")


class RequestMiddleware(_Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        request_id = os.urandom(7).hex()[:13]
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        # Authentication in the API replaces a dead connection. It may have run in another thread, before the body was
        # read, so with another connection; that one and those of other pages are checked before use.
        is_authenticated_here = is_of_api(request.path_info) and KNOWN not in request.META
        connection.health_check_enabled = not is_authenticated_here  # type: ignore[attr-defined]
        queries = request.META.pop(metrics.QUERIES, None) or metrics.QueryCount()
        metrics.count_queries(queries)
        if not is_in_networks(request.META.get("REMOTE_ADDR") or "", settings.TRUSTED_PROXIES):
            request.META.pop("HTTP_X_FORWARDED_PROTO", None)
        with sending(Sender(partial(_actor_of, request), partial(client_address, request.META))):
            response = self.get_response(request)
        if is_of_api(request.path_info):
            response = self._as_api(request, response)
        response["X-Request-Id"] = request_id
        self._report(request, response, time.perf_counter() - started, queries)
        return response

    def _as_api(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """An answer of the API: headers with limits, and JSON for every error.

        No cache keeps it: it holds personal data, and some answers hold passwords (`GET /webhooks`).
        """
        if response.status_code >= 400 and response.get("Content-Type", "").startswith("text/html"):
            body = to_json(body_for_status(response.status_code, method=request.method or ""))
            kept = {name: response[name] for name in ("Retry-After",) if name in response}
            response = HttpResponse(body, status=response.status_code, headers=kept)
        if response.get("Content-Type", "") == "application/json" or response.status_code >= 400:
            response["Content-Type"] = CONTENT_TYPE
        response.headers.setdefault("Cache-Control", "no-store")
        if (admission := request.META.get(ADMISSION)) is not None and admission.limit:
            response["RateLimit-Limit"] = str(admission.limit)
            response["RateLimit-Remaining"] = str(admission.remaining)
            response["RateLimit-Reset"] = str(admission.reset)
        if response.status_code == 204:
            del response["Content-Type"]
            del response["Content-Length"]
        # Our own log line has everything, and the cause of a 500 is logged already; Django would add another line.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response

    def _report(
        self, request: HttpRequest, response: HttpResponse, seconds: float, queries: metrics.QueryCount
    ) -> None:
        match = request.resolver_match
        route = match.view_name or match.route if match else "none"
        metrics.observe_request(request.method or "", route, response.status_code, seconds, queries)
        if request.path_info.startswith(_QUIET) and response.status_code < 500:
            return
        extra: dict[str, Any] = {
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "milliseconds": round(seconds * 1000, 1),
            "queries": queries.count,
            "address": client_address(request.META),
        }
        if (user := request.META.get(PRINCIPAL)) is not None:
            extra["api_user"] = user.login
        logger.info("request", extra=extra)


def _actor_of(request: HttpRequest) -> Actor:
    """Return the API user or the person at the page; the service itself for visitors, who change no audited row."""
    if (principal := request.META.get(PRINCIPAL)) is not None:
        return cast("Actor", principal.actor)
    user = getattr(request, "user", None)
    return cast("Actor", user.actor) if user and user.is_authenticated else SYSTEM


class CrossSiteMiddleware(_Middleware):
    """The refusal of writes that a page of another site makes with the credentials of our user's browser.

    Browsers name the site in Sec-Fetch-Site, which no page can set. Programs and old browsers send no such header.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        site = request.META.get("HTTP_SEC_FETCH_SITE", "none")
        if site in ("same-origin", "none") or request.method in ("GET", "HEAD", "OPTIONS"):
            return self.get_response(request)
        if is_of_api(request.path_info):
            return HttpResponse(
                to_json(error_body([Fault(ErrorCode.CROSS_SITE)])), status=403, content_type=CONTENT_TYPE
            )
        if request.path_info.startswith("/admin"):
            return error_pages.refuse_cross_site(request)
        # Pages that customers open by a link have no session that another site could misuse.
        return self.get_response(request)


class NulMiddleware(_Middleware):
    """The answer 400 to an address, cookie or form with NUL, which PostgreSQL cannot store in any text.

    The API checks its own addresses and bodies, and names the field. Fields of most forms refuse NUL with a sentence
    beside the field. A form is refused here only if its page used the text and failed.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return misread(request, BadRequest()) if _has_nul(request) else self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        # The driver and the file system refuse NUL, and UTF-8 refuses half of a surrogate pair.
        is_of_text = isinstance(error, (DataError, ValueError)) and not is_of_api(request.path_info)
        return error_pages.refuse_characters(request) if is_of_text and _has_impossible_text(request) else None


def _has_nul(request: HttpRequest) -> bool:
    query = request.META.get("QUERY_STRING", "")
    is_in_address = "\0" in request.path_info or "\0" in query or "%00" in query
    is_in_cookie = any("\0" in value for value in request.COOKIES.values())
    return is_in_cookie or (is_in_address and not request.path_info.startswith("/api/"))


def _has_impossible_text(request: HttpRequest) -> bool:
    return any(not is_storable(text) for name, values in request.POST.lists() for text in (name, *values))


class BusyMiddleware(_Middleware):
    """The answer 409 of a page that waited too long for a row of another transaction, and 503 of the audit log during
    an upgrade.

    Some pages handle this themselves; the API has an answer of its own.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if is_view_missing(error):
            return error_pages.refuse_during_upgrade(request)
        if is_out_of_space(error):
            logger.error("no space left", exc_info=error)
            return error_pages.refuse_body(request, 507)
        if not is_lock_refusal(error):
            return None
        logger.warning("a row was locked for too long", exc_info=error)
        return error_pages.refuse_busy(request)


# Attributes of a response whose view has another policy (csp.decorators).
_OWN_POLICY = frozenset(("_csp_config", "_csp_exempt", "_csp_replace", "_csp_update"))


class PolicyMiddleware(CSPMiddleware):
    """The content security policy of every answer: the settings' policy unless the view has another one.

    No page needs a nonce, so the settings' policy is built once; django-csp builds two for each answer.
    """

    @cached_property
    def usual(self) -> str:
        return build_policy()

    def process_request(self, request: HttpRequest) -> None:
        """Make no nonce."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if settings.DEBUG or HEADER in response or not _OWN_POLICY.isdisjoint(vars(response)):
            return super().process_response(request, response)
        response[HEADER] = self.usual
        return response
