"""A log-in between its two steps: the password was right, the second factor is missing.

The session then has no user: every page, poll and document refuses it like the session of a stranger. Only the pages of
the second step read the pending log-in.
"""

import time
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme

from callcentre.models import User
from callcentre.signin.enforcement import must_set_up
from callcentre.signin.verbs import has_second_factor

# The session's key for the pending log-in.
PENDING = "pending_log_in"
# The person types the password again after this time.
LASTS_SECONDS = 10 * 60
BACKEND = "callcentre.web.login.ThrottledBackend"


class SecondStepNeeded(Exception):
    """The password was right, and the user has a second factor or must set one up."""

    def __init__(self, user: User) -> None:
        super().__init__(user)
        self.user = user


def needs_second_step(user: User) -> bool:
    return has_second_factor(user) or must_set_up(user)


def begin(request: HttpRequest, user: User) -> HttpResponse:
    """Store the pending log-in in a new session, and lead to the page of its second step."""
    request.session.flush()
    request.session[PENDING] = {
        "user": user.pk,
        # A change of the password ends the pending log-in.
        "hash": user.get_session_auth_hash(),
        "at": time.time(),
        "next": request.POST.get("next", ""),
    }
    return redirect("log-in-code" if has_second_factor(user) else "log-in-set-up")


def user_of(request: HttpRequest) -> User | None:
    """Return the user of the pending log-in of this session, or None."""
    pending: dict[str, Any] = request.session.get(PENDING) or {}
    if not 0 <= time.time() - pending.get("at", 0) < LASTS_SECONDS:
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True, is_staff=True).first()
    if user is None or not constant_time_compare(pending["hash"], user.get_session_auth_hash()):
        return None
    return user


def complete(request: HttpRequest, user: User) -> str:
    """Log the user in, and return the address of the page that the log-in was for."""
    address: str = request.session.pop(PENDING)["next"]
    login(request, user, backend=BACKEND)
    return wanted_page(request, address)


def wanted_page(request: HttpRequest, address: str) -> str:
    """Return the address of the page that a log-in was for: of this site, else the first page."""
    if url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure()):
        return address
    return resolve_url(settings.LOGIN_REDIRECT_URL)
