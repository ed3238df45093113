"""The sender of deliveries: libcurl, whose connections are opened here, to checked addresses, in one time limit."""

import base64
import re
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

import orjson
import pycurl
from django.conf import settings
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from webhooks.transport.sockets import Failure, open_socket
from webhooks.transport.targets import Target, TargetError, are_allowed, parse_target


def encode(payload: Mapping[str, Any], body_format: str) -> tuple[str, bytes]:
    """Return content type and body, as `json` or as `form`."""
    if body_format == "json":
        return "application/json", orjson.dumps(payload)
    if body_format == "form":
        pairs = [pair for name, value in payload.items() for pair in _pairs(name, value)]
        return "application/x-www-form-urlencoded", urlencode(pairs).encode()
    raise ValueError(f"{body_format!r} is neither json nor form.")


def _pairs(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _pairs(f"{name}[{key}]", item)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _pairs(f"{name}[{position}]", item)
    elif value is None:
        yield name, "null"
    elif isinstance(value, bool):
        yield name, "true" if value else "false"
    else:
        yield name, str(value)


USER_AGENT = "callcentre-webhooks/1"
LONGEST_RETRY_AFTER = 86_400.0
# Bytes of an answer's body that are kept.
ANSWER_BYTES = 2048
# Idle connections that a client keeps, of all receivers.
MOST_IDLE = 64
# An idle connection is not used after this long, because a firewall may have dropped it silently.
IDLE_SECONDS = 50
# A connection is not used after this long, so that the name is looked up again.
CONNECTION_SECONDS = 300

_REASONS = {
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_GOT_NOTHING: "reset",
    pycurl.E_PARTIAL_FILE: "reset",
    pycurl.E_SEND_ERROR: "reset",
}


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
        """Take `authorities` as a PEM file of certificates to trust in place of the usual ones."""
        self._timeout = timeout
        self._allowed_networks = None if allowed_networks is None else tuple(allowed_networks)
        self._authorities = authorities or DEFAULT_CA_BUNDLE_PATH
        # The last one that was used goes first, so that few clients keep connections.
        self._clients: deque[_Client] = deque()

    def send(self, url: str, headers: Mapping[str, str], body: bytes, auth: tuple[str, str] | None = None) -> Outcome:
        timeout = float(settings.WEBHOOK_TIMEOUT_SECONDS) if self._timeout is None else self._timeout
        try:
            target = parse_target(url)
        except TargetError as error:
            text = "forbidden address" if error.code == "address" else "bad url"
            return Outcome(None, text, b"", 0.0, None)
        client = self._client_for(target.origin)
        networks = settings.WEBHOOK_ALLOWED_NETWORKS if self._allowed_networks is None else self._allowed_networks
        try:
            return client.post(target, networks, _lines(headers, auth), body, timeout)
        finally:
            self._clients.append(client)

    def _client_for(self, origin: str) -> "_Client":
        with suppress(IndexError):
            client = self._clients.pop()
            if client.is_clean(origin):
                return client
            client.curl.close()
        return _Client(self._authorities)

    def close(self) -> None:
        while self._clients:
            self._clients.pop().curl.close()


class _Client:
    """A handle of libcurl with its idle connections. It follows no redirect, and sends a request once more if a reused
    connection was closed before the first byte of the answer.
    """

    def __init__(self, authorities: str) -> None:
        self.curl = curl = pycurl.Curl()
        options: dict[int, Any] = {
            curl.NOSIGNAL: 1,
            curl.HTTP_VERSION: curl.CURL_HTTP_VERSION_1_1,
            curl.PATH_AS_IS: 1,
            # The variables of the environment are ignored.
            curl.PROXY: "",
            curl.CAINFO: authorities,
            curl.MAXCONNECTS: MOST_IDLE,
            curl.MAXAGE_CONN: IDLE_SECONDS,
            curl.MAXLIFETIME_CONN: CONNECTION_SECONDS,
            # libcurl looks no name up. Each of its connections is one that was opened here.
            curl.CONNECT_TO: ["::0.0.0.0:"],
            curl.OPENSOCKETFUNCTION: self._open,
            curl.SOCKOPTFUNCTION: lambda *_: curl.SOCKOPT_ALREADY_CONNECTED,
            curl.HEADERFUNCTION: self._take_line,
            curl.WRITEFUNCTION: self._take_body,
        }
        for option, value in options.items():
            curl.setopt(option, value)
        # The idle connections, by origin.
        self._sockets: dict[str, int] = {}

    def is_clean(self, origin: str) -> bool:
        """Return whether no byte has come from this origin since its last answer. It would be read as the next answer,
        because libcurl looks only once a second.
        """
        poll = select.poll()
        if (idle := self._sockets.pop(origin, -1)) >= 0:
            poll.register(idle, select.POLLIN)
        return not poll.poll(0)

    def post(self, target: Target, networks: Iterable[str], lines: list[str], body: bytes, timeout: float) -> Outcome:
        curl = self.curl
        self._connect: Callable[[], socket.socket] = partial(
            open_socket, target, time.monotonic() + timeout, partial(are_allowed, networks=networks)
        )
        self._failure: Failure | None = None
        self._head: list[bytes] = []
        self._is_head_over = False
        self._content = bytearray()
        error = ""
        curl.setopt(curl.URL, target.origin + target.path)
        curl.setopt(curl.HTTPHEADER, lines)
        curl.setopt(curl.POSTFIELDS, body)
        curl.setopt(curl.TIMEOUT_MS, round(timeout * 1000))
        try:
            curl.perform()
        except pycurl.error as problem:
            error = str(self._failure or _reason(*problem.args))
        else:
            self._sockets[target.origin] = curl.getinfo(curl.ACTIVESOCKET)
        status = curl.getinfo(curl.RESPONSE_CODE) if self._is_head_over else 0
        seconds = curl.getinfo(curl.TOTAL_TIME)
        if status < 200:
            return Outcome(None, error or "reset", b"", seconds, None, has_begun=curl.getinfo(curl.REQUEST_SIZE) > 0)
        if len(self._content) > ANSWER_BYTES:
            error = ""
        return Outcome(status, error, bytes(self._content[:ANSWER_BYTES]), seconds, _retry_after(self._head))

    def _open(self, *_: Any) -> socket.socket | int:
        try:
            return self._connect()
        except Failure as failure:
            self._failure = failure
        except TimeoutError:
            self._failure = Failure("timeout")
        return int(pycurl.SOCKET_BAD)

    def _take_line(self, line: bytes) -> None:
        """Take a line of the head, or of an interim answer (1xx) before it, or of the trailer, which is not kept."""
        if not self._is_head_over:
            self._head.append(line)
            if line in (b"\r\n", b"\n"):
                self._is_head_over = self._head[0][9:10] != b"1"
                self._head = self._head if self._is_head_over else []

    def _take_body(self, piece: bytes) -> int | None:
        """Take a piece of the body. End a longer one; its connection is not used again."""
        self._content += piece[: ANSWER_BYTES + 1]
        return None if len(self._content) <= ANSWER_BYTES else -1


def _lines(headers: Mapping[str, str], auth: tuple[str, str] | None) -> list[str]:
    """Return the lines of the headers; those without a value are not sent."""
    # Answers are never unpacked, so that a small one cannot become a large one.
    complete = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", "Accept": "", "Expect": "", **headers}
    if auth:
        # UTF-8, because Latin-1 has no Polish letters.
        complete["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
    return [f"{name}: {value}" for name, value in complete.items()]


def _reason(code: int, text: str) -> str:
    """Describe a failure in a few stable words."""
    # Codes of TLS and of receiving also stand for a closed connection.
    if text.startswith(("Recv failure", "OpenSSL")) or " eof " in text:
        return "reset"
    detail = re.sub(r" \(\d+\)$", "", text).rpartition(": ")[2].rpartition(":")[2]
    if code == pycurl.E_PEER_FAILED_VERIFICATION:
        return "tls: the certificate is for another host" if "no alternative" in text else f"tls: {detail}"
    if code == pycurl.E_SSL_CONNECT_ERROR:
        return f"tls: {detail}"
    return _REASONS.get(code, "protocol")


def _retry_after(head: list[bytes]) -> float | None:
    """Return seconds from now, at most a day; None if the header is missing or invalid."""
    values = [value for name, _, value in (line.partition(b":") for line in head) if name.lower() == b"retry-after"]
    text = values[0].decode("latin-1").strip() if values else ""
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
