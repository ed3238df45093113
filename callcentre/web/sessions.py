"""The life of a back-office session: it ends when its person has done nothing for SESSION_IDLE_MINUTES.

The session store ends it: a session expires SESSION_COOKIE_AGE after it was last saved. What a person does saves it
again. A page that asks by itself every few seconds sends `X-Poll: 1` and saves nothing.
"""

import time
from collections.abc import Callable
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse

from callcentre.passwords import CONFIRMED_AT

# The session's key for when its person last did something, in seconds since 1970.
SEEN_AT = "seen_at"
# A session is saved at most once in so many seconds.
SAVE_SECONDS = 60


def note_log_in(request: HttpRequest, **_unused: Any) -> None:
    """Note in the session of a log-in that its person has just been here and given the password."""
    request.session[SEEN_AT] = request.session[CONFIRMED_AT] = time.time()


class IdleMiddleware:
    """Keeps the session of a person who does something. Below SessionMiddleware, which saves it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Most requests use no session: those of the API, of health and metrics.
        if request.session.accessed and "X-Poll" not in request.headers and SESSION_KEY in request.session:
            now = time.time()
            if now - request.session.get(SEEN_AT, 0) >= SAVE_SECONDS:
                request.session[SEEN_AT] = now
        return response
