"""Log-in to the admin, throttled against guessing."""

from math import ceil
from typing import Any

from django.contrib import admin
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from unfold.forms import AuthenticationForm

from callcentre import limits
from callcentre.models import User
from callcentre.network import client_address

REALM = "admin"


class ThrottledBackend(ModelBackend):
    """Django's own, refusing even a right password while too many wrong ones came from its address."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        address = client_address(request.META) if request else ""
        if request and limits.locked_for(REALM, username or "", address):
            raise PermissionDenied
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is None and request:
            limits.count_failure(REALM, username or "", address)
        return user


class LoginForm(AuthenticationForm):
    """Says of a refused log-in whether guessing goes on to be listened to, and if not, when it will be again."""

    locked_seconds = 0

    def get_invalid_login_error(self) -> ValidationError:
        if self.request is not None:
            username = self.cleaned_data.get("username") or ""
            seconds = limits.locked_for(REALM, username, client_address(self.request.META))
            if seconds:
                self.locked_seconds = seconds
                minutes = ceil(seconds / 60)
                sentence = ngettext(
                    "Too many attempts. Try again in %(minutes)s minute.",
                    "Too many attempts. Try again in %(minutes)s minutes.",
                    minutes,
                )
                return ValidationError(sentence % {"minutes": minutes}, code="locked")
        error: ValidationError = super().get_invalid_login_error()
        return error


@never_cache
def login(request: HttpRequest) -> HttpResponseBase:
    """The admin's log-in page; 429 with Retry-After while the address is not listened to."""
    response = admin.site.login(request)
    form = (getattr(response, "context_data", None) or {}).get("form")
    if seconds := getattr(form, "locked_seconds", 0):
        response.status_code = 429
        response.headers["Retry-After"] = str(seconds)
    return response
