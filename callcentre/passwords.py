"""Checks of back-office passwords: at the log-in, and again before a secret is shown or changed.

Every check goes through `attempt`, so wrong passwords count towards a lockout on every page.
"""

import time
from collections.abc import Callable
from math import ceil
from typing import TypeVar, cast

from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from callcentre import rate_limits
from callcentre.core.hashing import RETRY_AFTER_SECONDS, Busy, HashGate
from callcentre.core.network import client_address
from callcentre.models import User

REALM = "admin"
CONFIRMED_FOR_SECONDS = 10 * 60
# The session's key for the last time its person gave the password, in seconds since 1970.
CONFIRMED_AT = "confirmed_at"

Response = TypeVar("Response", bound=HttpResponseBase)
_Result = TypeVar("_Result")
_gate = HashGate()


class Refused(Exception):
    """The password was not compared. The person may retry after `seconds`."""

    def __init__(self, seconds: int, sentence: str) -> None:
        super().__init__(sentence)
        self.seconds = seconds
        self.sentence = sentence


def attempt(request: HttpRequest, username: str, check: Callable[[], _Result]) -> _Result:
    """Return the result of one check of a password; a false one counts as a guess. Raise Refused."""
    address = client_address(request.META)
    if refusal := lockout(request, username):
        raise refusal
    try:
        result = _gate.run(rate_limits.source_of(address), check)
    except Busy as error:
        sentence = str(_("Too many people log in at this moment. Try again in a few seconds."))
        raise Refused(RETRY_AFTER_SECONDS, sentence) from error
    if not result:
        rate_limits.count_failure(REALM, username, address)
    return result


def lockout(request: HttpRequest, username: str) -> Refused | None:
    """Return the refusal in force for this login from the address of the request, or None."""
    seconds = rate_limits.locked_for(REALM, username, client_address(request.META))
    if not seconds:
        return None
    minutes = ceil(seconds / 60)
    sentence = ngettext(
        "Too many attempts. Try again in %(minutes)s minute.",
        "Too many attempts. Try again in %(minutes)s minutes.",
        minutes,
    )
    return Refused(seconds, sentence % {"minutes": minutes})


def refused(response: Response, refusal: Refused | None) -> Response:
    """Return the page of a log-in; 429 with Retry-After if it was refused."""
    if refusal:
        response.status_code = 429
        response.headers["Retry-After"] = str(refusal.seconds)
    return response


def is_confirmed(request: HttpRequest) -> bool:
    """Return whether the person of this session gave the password within the last ten minutes."""
    confirmed_at: float = request.session.get(CONFIRMED_AT, 0)
    return 0 <= time.time() - confirmed_at < CONFIRMED_FOR_SECONDS


def confirm(request: HttpRequest, password: str) -> None:
    """Check the person's own password, and remember it for ten minutes. Raise ValidationError."""
    user = cast("User", request.user)
    if not user.has_usable_password():
        raise ValidationError(_("Log in again first, by the link beside this field."), code="provider")
    if not password:
        raise ValidationError(_("Type your own password."), code="required")
    username = user.get_username()
    try:
        is_right = attempt(request, username, lambda: user.check_password(password))
        if not is_right and (refusal := lockout(request, username)):
            raise refusal
    except Refused as error:
        raise ValidationError(error.sentence, code="locked") from error
    if not is_right:
        raise ValidationError(_("This is not your password."), code="wrong")
    # A new session key: a stolen session must not become a confirmed one. The password's hash may be new too.
    update_session_auth_hash(request, user)
    request.session[CONFIRMED_AT] = time.time()
