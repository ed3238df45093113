"""The sender of deliveries: urllib3 with a pool of connections for each receiver, and a total time limit."""

import base64
import logging
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property

from django.conf import settings
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, Timeout
from urllib3.exceptions import HTTPError, ProtocolError, SSLError
from urllib3.exceptions import TimeoutError as PoolTimeoutError

from webhooks.transport.connections import Stale, pool_for, tls_context
from webhooks.transport.sockets import Failure, tls_text
from webhooks.transport.targets import Target, TargetError, parse_target

logger = logging.getLogger(__name__)

USER_AGENT = "callcentre-webhooks/1"
LONGEST_RETRY_AFTER = 86_400.0
# Bytes of an answer's body that are kept.
ANSWER_BYTES = 2048
# Receivers whose open connections a process keeps.
MOST_POOLS = 256


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attempt.

    `status` is None without an answer. With a status, `error` means that the body was cut short or took too long.
    """

    status: int | None
    error: str
    answer: bytes
    # The duration of the attempt, and the delay that the receiver asks for.
    seconds: float
    retry_after: float | None
    # Without a status: whether the receiver may have got the request.
    has_begun: bool = False


class Sender:
    """Sends deliveries for all threads of a process. `send` returns an Outcome and never raises."""

    def __init__(
        self,
        *,
        timeout: float | None = None,
        allowed_networks: Iterable[str] | None = None,
        authorities: str | None = None,
    ) -> None:
        """Take `authorities` as a PEM file of certificates to trust beside the usual ones."""
        self._timeout = timeout
        self._allowed_networks = None if allowed_networks is None else tuple(allowed_networks)
        self._authorities = authorities
        self._pools: OrderedDict[str, HTTPConnectionPool] = OrderedDict()
        self._lock = threading.Lock()

    def send(self, url: str, headers: Mapping[str, str], body: bytes, auth: tuple[str, str] | None = None) -> Outcome:
        started = time.monotonic()
        timeout = float(settings.WEBHOOK_TIMEOUT_SECONDS) if self._timeout is None else self._timeout
        try:
            target = parse_target(url)
            answer = self._post(target, _complete(headers, auth), body, started + timeout)
        except TargetError as error:
            text = "forbidden address" if error.code == "address" else "bad url"
            return Outcome(None, text, b"", time.monotonic() - started, None)
        except Failure as failure:
            return Outcome(None, str(failure), b"", time.monotonic() - started, None)
        except Exception as error:  # noqa: BLE001  (parsers may raise anything on a receiver's bytes)
            return Outcome(None, _reason(error), b"", time.monotonic() - started, None, has_begun=True)
        content, error_text = _read(answer)
        wait = _retry_after(answer.headers.get("Retry-After", ""))
        return Outcome(answer.status, error_text, content, time.monotonic() - started, wait)

    def close(self) -> None:
        with self._lock:
            pools = list(self._pools.values())
            self._pools.clear()
        for pool in pools:
            pool.close()

    def _post(self, target: Target, headers: Mapping[str, str], body: bytes, ends_at: float) -> BaseHTTPResponse:
        """Return the answer with its body unread. Follow no redirect and unpack nothing.

        Send the request once more if an idle connection turns out to be closed.
        """
        while True:
            left = ends_at - time.monotonic()
            if left <= 0:
                raise TimeoutError
            try:
                return self._pool(target).urlopen(
                    "POST",
                    target.path,
                    body,
                    headers,
                    retries=False,
                    redirect=False,
                    timeout=Timeout(total=left),
                    preload_content=False,
                    decode_content=False,
                )
            except Stale:
                continue

    def _pool(self, target: Target) -> HTTPConnectionPool:
        with self._lock:
            if pool := self._pools.get(target.origin):
                self._pools.move_to_end(target.origin)
                return pool
            tls = self._tls if target.scheme == "https" else None
            pool = self._pools[target.origin] = pool_for(target, self._networks, tls)
            oldest = self._pools.popitem(last=False)[1] if len(self._pools) > MOST_POOLS else None
        if oldest:
            oldest.close()
        return pool

    def _networks(self) -> Iterable[str]:
        """Return the networks that requests may go to beside public ones."""
        return settings.WEBHOOK_ALLOWED_NETWORKS if self._allowed_networks is None else self._allowed_networks

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return tls_context(self._authorities)


def _complete(headers: Mapping[str, str], auth: tuple[str, str] | None) -> dict[str, str]:
    # Answers are never unpacked, so that a small one cannot become a large one.
    complete = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **headers}
    if auth:
        # UTF-8, because Latin-1 has no Polish letters.
        complete["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
    return complete


def _read(answer: BaseHTTPResponse) -> tuple[bytes, str]:
    """Return the beginning of the body, and the reason if it was cut short."""
    content, error_text = b"", ""
    try:
        # One more byte shows whether the body was longer.
        while piece := answer.read1(ANSWER_BYTES + 1 - len(content), decode_content=False):
            content += piece
    except Exception as error:  # noqa: BLE001  (parsers may raise anything on a receiver's bytes)
        error_text = _reason(error)
    # A connection with unread bytes is not used again.
    answer.close()
    answer.release_conn()
    return content[:ANSWER_BYTES], error_text


def _reason(error: Exception) -> str:
    """Describe why an answer could not be read, in a short stable text."""
    cause = error.args[-1] if isinstance(error, ProtocolError | SSLError) and error.args else error
    if isinstance(cause, TimeoutError | PoolTimeoutError):
        return "timeout"
    if isinstance(cause, ssl.SSLError):
        return tls_text(cause)
    if isinstance(cause, OSError):
        return "reset"
    if not isinstance(error, HTTPError):
        logger.warning("an answer to a webhook broke its parser", exc_info=error)
    return "protocol"


def _retry_after(text: str) -> float | None:
    """Return seconds from now, at most a day; None if the header is missing or invalid."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        date = parsedate_to_datetime(text)
        wait = (date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait.total_seconds(), 0.0), LONGEST_RETRY_AFTER)
