"""Sending one delivery: a session of `requests` per receiver, on connections to checked addresses only."""

import base64
import io
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

import requests
from django.conf import settings
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from webhooks.transport.opening import Opener
from webhooks.transport.targets import Target, TargetError, parse_target
from webhooks.transport.wire import Answer, Connection, Failure, Stale

USER_AGENT = "callcentre-webhooks/1"
LONGEST_RETRY_AFTER = 86_400.0

# Sessions of this process, and open connections of each that wait for work.
MOST_SESSIONS = 256
MOST_IDLE = 8
# A receiver that closes an idle connection says so; a firewall between us forgets one without a word.
IDLE_SECONDS = 50.0
# A receiver that moved is found again after this long.
CONNECTION_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt.

    `status` is None where no answer came. With a status, `error` means that the body was cut short or took too long.
    """

    status: int | None
    error: str
    answer: bytes
    # How long the attempt took, and how long the receiver asks to be left alone.
    seconds: float
    retry_after: float | None
    # Without a status: whether the receiver may have got the request all the same.
    has_begun: bool = False


class Sender:
    """Sends deliveries, for all threads of a process. Whatever the receiver does, `send` returns an Outcome."""

    def __init__(
        self,
        *,
        timeout: float | None = None,
        allowed_networks: Iterable[str] | None = None,
        authorities: str | None = None,
    ) -> None:
        """`authorities`: a PEM file of certificates to trust beside the usual ones."""
        self._timeout = timeout
        self._opener = Opener(allowed_networks, authorities)
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._lock = threading.Lock()

    def send(self, url: str, headers: Mapping[str, str], body: bytes, auth: tuple[str, str] | None = None) -> Outcome:
        started = time.monotonic()
        timeout = float(settings.WEBHOOK_TIMEOUT_SECONDS) if self._timeout is None else self._timeout
        try:
            target = parse_target(url)
            response = self._session(target).send(
                _request(target, headers, body, auth), timeout=timeout, allow_redirects=False
            )
        except TargetError as error:
            text = "forbidden address" if error.code == "address" else "bad url"
            return Outcome(None, text, b"", time.monotonic() - started, None)
        except Failure as failure:
            return Outcome(None, str(failure), b"", time.monotonic() - started, None, failure.has_begun)
        wait = _retry_after(response.headers.get("Retry-After", ""))
        error_text = response.error if isinstance(response, _Response) else ""
        return Outcome(response.status_code, error_text, response.content, time.monotonic() - started, wait)

    def close(self) -> None:
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()

    def _session(self, target: Target) -> "_Session":
        with self._lock:
            if session := self._sessions.get(target.origin):
                self._sessions.move_to_end(target.origin)
                return session
            session = self._sessions[target.origin] = _Session(_Adapter(target, self._opener))
            oldest = self._sessions.popitem(last=False)[1] if len(self._sessions) > MOST_SESSIONS else None
        if oldest:
            oldest.close()
        return session


class _Session(requests.Session):
    """Nothing from the environment: no proxy, no credentials of .netrc. No redirect is followed, no cookie is kept."""

    def __init__(self, adapter: "_Adapter") -> None:
        super().__init__()
        self.trust_env = False
        self.adapters.clear()
        self.mount("", adapter)

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class _Response(requests.Response):
    error = ""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.status_code = answer.status
        self.headers = CaseInsensitiveDict(answer.headers.items())
        self.raw = io.BytesIO(answer.body)
        self.error = answer.error


class _Adapter(BaseAdapter):
    """The connections to one receiver. Each is opened to an address that was looked up and checked for it."""

    def __init__(self, target: Target, opener: Opener) -> None:
        super().__init__()
        self._target = target
        self._opener = opener
        self._idle: deque[Connection] = deque()
        self._is_closed = False

    def send(
        self,
        request: requests.PreparedRequest,
        *args: Any,
        timeout: Any = None,
        **kwargs: Any,
    ) -> _Response:
        """`timeout` is for everything, in seconds. Certificates are verified, and proxies left aside, in any case."""
        deadline = time.monotonic() + timeout
        idle = self._take()
        try:
            answer = self._exchange(idle or self._opener.open(self._target, deadline), request, deadline)
        except Stale:
            answer = self._exchange(self._opener.open(self._target, deadline), request, deadline)
        return _Response(answer)

    def close(self) -> None:
        self._is_closed = True
        while connection := self._pop():
            connection.close()

    def _exchange(self, connection: Connection, request: requests.PreparedRequest, deadline: float) -> Answer:
        try:
            answer = connection.post(request.path_url, request.headers, cast("bytes", request.body), deadline)
        except BaseException as error:
            connection.close()
            if isinstance(error, Failure):
                error.has_begun = True
            raise
        self._keep(connection)
        return answer

    def _take(self) -> Connection | None:
        now = time.monotonic()
        while connection := self._pop():
            is_young = now - connection.idle_since < IDLE_SECONDS and now - connection.opened_at < CONNECTION_SECONDS
            if is_young and connection.is_quiet():
                return connection
            connection.close()
        return None

    def _keep(self, connection: Connection) -> None:
        if connection.is_reusable and len(self._idle) < MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        if self._is_closed:
            self.close()

    def _pop(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None


def _request(
    target: Target, headers: Mapping[str, str], body: bytes, auth: tuple[str, str] | None
) -> requests.PreparedRequest:
    request = requests.PreparedRequest()
    request.method, request.url, request.body = "POST", target.url, body
    request.hooks = {}
    # An answer is kept as it comes: never unpacked, so that a small one cannot become a large one.
    request.headers = CaseInsensitiveDict(
        {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", "Content-Length": str(len(body))}
    )
    request.headers.update(headers)
    if auth:
        # In UTF-8; requests would write Latin-1, which has no Polish letters.
        request.headers["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
    return request


def _retry_after(text: str) -> float | None:
    """Seconds from now, a day at most; None where the header is missing or says nothing."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        date = parsedate_to_datetime(text)
        wait = (date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait.total_seconds(), 0.0), LONGEST_RETRY_AFTER)
