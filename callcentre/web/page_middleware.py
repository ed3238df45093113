"""The middleware of pages: sessions, users, messages, protection of forms. Requests of API users pass by."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth import middleware as of_users
from django.contrib.messages import middleware as of_messages
from django.contrib.sessions import middleware as of_sessions
from django.http import HttpRequest, HttpResponse
from django.middleware import csrf
from django.utils import translation
from django.utils.cache import patch_vary_headers

from callcentre.api.authentication import has_credential
from callcentre.web import sessions
from callcentre.web.bodies import is_of_api


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


class LanguageMiddleware:
    """The language of the request's cookie or its Accept-Language.

    Django's middleware also looks for a language in the address, where we have none. That takes three times as long.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        translation.activate(translation.get_language_from_request(request))
        request.LANGUAGE_CODE = translation.get_language() or ""
        response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"])
        response.headers.setdefault("Content-Language", translation.get_language() or "")
        return response
