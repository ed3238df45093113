"""Connections of http.client to checked addresses only, and the idle ones of each receiver."""

import http.client
import select
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast

from requests.utils import DEFAULT_CA_BUNDLE_PATH

from webhooks.transport.sockets import BoundedSocket, BoundedTlsSocket, Failure, open_socket, seconds_left, tls_text
from webhooks.transport.targets import Target, are_allowed

# Idle connections to one receiver.
MOST_IDLE = 8
# Receivers whose open connections a process keeps.
MOST_RECEIVERS = 256
# An idle connection is not used after this long, because a firewall may have dropped it silently.
IDLE_SECONDS = 50.0
# A connection is not used after this long, so that the name is looked up again.
CONNECTION_SECONDS = 300.0

Networks = Callable[[], Iterable[str]]


class Stale(Exception):
    """A reused connection was closed before the first byte of the answer: the request may be sent once more."""


class Answer(http.client.HTTPResponse):
    """An answer without the interim answers (1xx) before it. http.client skips only 100."""

    # Whether the whole body was read.
    is_complete = False

    def __init__(self, sock: BoundedSocket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._sock = sock

    def begin(self) -> None:
        super().begin()
        while http.client.CONTINUE <= self.status < http.client.OK:
            if self.status == http.client.SWITCHING_PROTOCOLS:
                raise http.client.HTTPException("a protocol that was not asked for")
            # begin() reads a head only if there is none yet.
            self.headers = None  # type: ignore[assignment]
            super().begin()
        self._sock.may_end = self.length is None and not self.chunked

    def pieces(self, most: int) -> Iterator[bytes]:
        """Yield the body, up to so many bytes, as it comes."""
        # Only some versions of http.client count down `length` here.
        left = self.length
        while most and left != 0 and (piece := self.read1(most if left is None else min(most, left))):
            most -= len(piece)
            left = None if left is None else left - len(piece)
            yield piece
        self.is_complete = left == 0 or self.isclosed()


class Connection:
    """A connection to a checked address of its target: a public one, or one in `networks`.

    It writes its requests itself, in one piece; http.client takes thirty times as long for that.
    """

    sock: BoundedSocket | BoundedTlsSocket | None = None

    def __init__(self, target: Target, networks: Networks, tls: ssl.SSLContext | None) -> None:
        self._target, self._networks, self._tls = target, networks, tls
        host = target.host.rstrip(".")
        name = f"[{host}]" if ":" in host else host
        usual_port = http.client.HTTPS_PORT if tls else http.client.HTTP_PORT
        self._host = host
        self._name = name if target.port == usual_port else f"{name}:{target.port}"
        self._opened_at = self._answered_at = 0.0

    def open(self, ends_at: float) -> None:
        """Connect. Raise Failure, and TimeoutError."""
        self._opened_at = time.monotonic()
        is_permitted = partial(are_allowed, networks=self._networks())
        self.sock = open_socket(self._target, ends_at, is_permitted, BoundedSocket)
        if self._tls:
            try:
                self.sock = cast("BoundedSocket", self._tls.wrap_socket(self.sock, server_hostname=self._host))
            except TimeoutError:
                raise Failure("timeout") from None
            except ssl.SSLError as error:
                raise Failure(tls_text(error)) from None
            except OSError:
                raise Failure("reset") from None

    def post(self, path: str, headers: Mapping[str, str], body: bytes, ends_at: float) -> Answer:
        """Return the answer with its body unread. Raise Stale if a reused connection was closed before its head.

        Targets of one origin share connections, so each request has a path of its own.
        """
        sock = cast("BoundedSocket", self.sock)
        sock.settimeout(seconds_left(ends_at))
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        head = f"POST {path} HTTP/1.1\r\nHost: {self._name}\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
        try:
            sock.sendall(head.encode("ascii") + body)
        except TimeoutError:
            raise
        except OSError:
            # The receiver hung up. It may have answered before, which reading shows.
            pass
        answer = Answer(sock, method="POST")
        try:
            answer.begin()
        except BaseException as error:
            answer.close()
            is_closed = isinstance(error, OSError) and not isinstance(error, TimeoutError)
            if is_closed and self._answered_at and not sock.received:
                raise Stale from error
            raise
        self._answered_at = time.monotonic()
        return answer

    def close(self) -> None:
        if self.sock:
            self.sock.close()
            self.sock = None

    @property
    def is_usable(self) -> bool:
        """Whether the connection can be reused: it is young, and no byte has come since the last answer.

        Such a byte, for example of a late error page, would be read as the next answer.
        """
        now = time.monotonic()
        is_young = now - self._answered_at < IDLE_SECONDS and now - self._opened_at < CONNECTION_SECONDS
        is_pending = isinstance(self.sock, BoundedTlsSocket) and self.sock.pending()
        if not is_young or is_pending or self.sock is None:
            return False
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return not poll.poll(0)


class IdleConnections:
    """The idle connections of each receiver, for all threads."""

    def __init__(self) -> None:
        self._of_origins: OrderedDict[str, list[Connection]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, origin: str) -> Connection | None:
        """Return the connection that was used last, if one is usable."""
        while True:
            with self._lock:
                kept = self._of_origins.get(origin)
                if not kept:
                    return None
                connection = kept.pop()
            if connection.is_usable:
                return connection
            connection.close()

    def give_back(self, origin: str, connection: Connection) -> None:
        with self._lock:
            kept = self._of_origins.setdefault(origin, [])
            self._of_origins.move_to_end(origin)
            kept.append(connection)
            surplus = [kept.pop(0)] if len(kept) > MOST_IDLE else []
            if len(self._of_origins) > MOST_RECEIVERS:
                surplus += self._of_origins.popitem(last=False)[1]
        for old in surplus:
            old.close()

    def close(self) -> None:
        with self._lock:
            kept = [connection for connections in self._of_origins.values() for connection in connections]
            self._of_origins.clear()
        for connection in kept:
            connection.close()


def tls_context(authorities: str | None) -> ssl.SSLContext:
    """Return a context that trusts the usual certificates, and those of a PEM file."""
    context = ssl.create_default_context(cafile=DEFAULT_CA_BUNDLE_PATH)
    context.set_alpn_protocols(["http/1.1"])
    if authorities:
        context.load_verify_locations(authorities)
    context.sslsocket_class = BoundedTlsSocket
    return context
