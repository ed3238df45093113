"""The sender of deliveries: http.client with idle connections of each receiver, and a total time limit."""

import base64
import logging
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from http.client import HTTPException
from typing import cast

from django.conf import settings

from webhooks.transport.connections import Answer, Connection, IdleConnections, Stale, tls_context
from webhooks.transport.sockets import Failure, tls_text
from webhooks.transport.targets import Target, TargetError, parse_target

logger = logging.getLogger(__name__)

USER_AGENT = "callcentre-webhooks/1"
LONGEST_RETRY_AFTER = 86_400.0
# Bytes of an answer's body that are kept.
ANSWER_BYTES = 2048


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
        self._idle = IdleConnections()

    def send(self, url: str, headers: Mapping[str, str], body: bytes, auth: tuple[str, str] | None = None) -> Outcome:
        started = time.monotonic()
        timeout = float(settings.WEBHOOK_TIMEOUT_SECONDS) if self._timeout is None else self._timeout
        try:
            target = parse_target(url)
            complete = _complete(headers, auth)
            answer, content, error_text = self._exchange(target, complete, body, started + timeout)
        except TargetError as error:
            text = "forbidden address" if error.code == "address" else "bad url"
            return Outcome(None, text, b"", time.monotonic() - started, None)
        except Failure as failure:
            return Outcome(None, str(failure), b"", time.monotonic() - started, None)
        except Exception as error:  # noqa: BLE001  (parsers may raise anything on a receiver's bytes)
            return Outcome(None, _reason(error), b"", time.monotonic() - started, None, has_begun=True)
        wait = _retry_after(answer.headers.get("Retry-After", ""))
        return Outcome(answer.status, error_text, content, time.monotonic() - started, wait)

    def close(self) -> None:
        self._idle.close()

    def _exchange(
        self, target: Target, headers: Mapping[str, str], body: bytes, ends_at: float
    ) -> tuple[Answer, bytes, str]:
        """Return the answer, the beginning of its body, and the reason if that was cut short. Follow no redirect.

        Send the request once more if an idle connection turns out to be closed.
        """
        while True:
            connection = self._idle.take(target.origin)
            try:
                if connection is None:
                    connection = self._opened(target, ends_at)
                answer = connection.post(target.path, headers, body, ends_at)
            except Stale:
                cast("Connection", connection).close()
                continue
            except BaseException:
                if connection:
                    connection.close()
                raise
            content, error_text = _read(answer)
            if answer.is_complete and not answer.will_close and not error_text:
                answer.close()
                self._idle.give_back(target.origin, connection)
            else:
                # A connection with unread bytes is not used again.
                answer.close()
                connection.close()
            return answer, content, error_text

    def _opened(self, target: Target, ends_at: float) -> Connection:
        connection = Connection(target, self._networks, self._tls if target.scheme == "https" else None)
        try:
            connection.open(ends_at)
        except BaseException:
            connection.close()
            raise
        return connection

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


def _read(answer: Answer) -> tuple[bytes, str]:
    """Return the beginning of the body, and the reason if it was cut short."""
    content = bytearray()
    try:
        # One more byte shows whether the body was longer.
        for piece in answer.pieces(ANSWER_BYTES + 1):
            content += piece
    except Exception as error:  # noqa: BLE001  (parsers may raise anything on a receiver's bytes)
        return bytes(content[:ANSWER_BYTES]), _reason(error)
    return bytes(content[:ANSWER_BYTES]), ""


def _reason(error: Exception) -> str:
    """Describe why an answer could not be read, in a short stable text."""
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ssl.SSLError):
        return tls_text(error)
    if isinstance(error, OSError):
        return "reset"
    if not isinstance(error, HTTPException):
        logger.warning("an answer to a webhook broke its parser", exc_info=error)
    return "protocol"


def _retry_after(text: str) -> float | None:
    """Return seconds from now, at most a day; None if the header is missing or invalid."""
    text = text.strip()
    if not text:
        return None
    if text.isascii() and text.isdecimal():
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        date = parsedate_to_datetime(text)
        wait = (date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait.total_seconds(), 0.0), LONGEST_RETRY_AFTER)
