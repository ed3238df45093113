"""The life of a back-office session, from its log-in: it ends after SESSION_IDLE_MINUTES without activity.

The session store ends it: a session expires SESSION_COOKIE_AGE after it was last saved, and activity saves it. Requests
that a page makes on its own every few seconds send `X-Poll: 1` and save nothing.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest, HttpResponse

from callcentre.core.actor import SYSTEM
from callcentre.core.audit import AuditAction, record, record_once
from callcentre.core.network import client_address
from callcentre.lists.saved_views import keep_in_session
from callcentre.models import User
from callcentre.passwords import CONFIRMED_AT
from callcentre.signin import browsers
from callcentre.signin.models.session import ADDRESS, BROWSER, SEEN_AT, STARTED_AT
from callcentre.web.admin_site import is_poll

# A session is saved at most once in so many seconds.
SAVE_SECONDS = 60


def record_log_in(request: HttpRequest, user: User, **_unused: Any) -> None:
    """Store in the session that its person was active and gave the password now, from where and how, and how lists
    open for them.
    """
    session, meta = request.session, request.META
    session[STARTED_AT] = session[SEEN_AT] = session[CONFIRMED_AT] = time.time()
    session[ADDRESS] = client_address(meta)
    session[BROWSER] = meta.get("HTTP_USER_AGENT", "")[: browsers.LONGEST]
    keep_in_session(session, user)


# The entries of the audit log about log-ins


def _log_in(user: User, **_unused: Any) -> None:
    record(user.actor, AuditAction.LOG_IN, user)


def _log_out(user: User | None, **_unused: Any) -> None:
    if user is not None:
        record(user.actor, AuditAction.LOG_OUT, user)


def _refuse(credentials: dict[str, Any], **_unused: Any) -> None:
    """Log a refused log-in, once a minute for a login and an address: a program may try a thousand passwords.

    Only the login of a user is named: people also type passwords into its field.
    """
    login = str(credentials.get("username", ""))
    if not User.objects.filter(username=login).exists():
        login = ""
    record_once(SYSTEM, AuditAction.LOG_IN_REFUSED, name=login, within=timedelta(minutes=1))


user_logged_in.connect(record_log_in, dispatch_uid="callcentre.web.sessions.record")
user_logged_in.connect(_log_in, dispatch_uid="callcentre.web.sessions")
user_logged_out.connect(_log_out, dispatch_uid="callcentre.web.sessions")
user_login_failed.connect(_refuse, dispatch_uid="callcentre.web.sessions")


class IdleMiddleware:
    """The middleware that keeps sessions of active people. It runs inside SessionMiddleware, which saves them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Most requests (API, health, metrics) use no session.
        if request.session.accessed and not is_poll(request) and SESSION_KEY in request.session:
            now = time.time()
            if now - request.session.get(SEEN_AT, 0) >= SAVE_SECONDS:
                request.session[SEEN_AT] = now
        return response
