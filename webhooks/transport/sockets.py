"""Sockets that connect to checked addresses only, with one deadline for all waits.

The time-out of a plain socket is for one call: it starts again with each byte of a slow receiver. Here `settimeout`
sets the deadline of all following calls: the connection, one request and its answer.
"""

import math
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from http.client import HTTPException
from typing import TYPE_CHECKING, TypeVar

from webhooks.transport.dns import Endpoint, NoAddress
from webhooks.transport.targets import Target, addresses_of

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

# Status line, headers, the kept part of the body and bytes that are read ahead. No receiver needs more.
MOST_BYTES = 131_072

Opened = TypeVar("Opened", bound=socket.socket)


class Failure(Exception):
    """No connection. The text is a short stable reason without secrets."""


class BoundedSocket(socket.socket):
    """A socket that raises TimeoutError at its deadline, and HTTPException after too many bytes."""

    _ends_at = math.inf
    # Bytes of the answer so far.
    received = 0
    # Whether the end of the connection is the end of the answer. If not, it is an error.
    may_end = False

    def settimeout(self, value: float | None) -> None:
        super().settimeout(value)
        self._ends_at = math.inf if value is None else time.monotonic() + value
        self.received, self.may_end = 0, False

    def sendall(self, data: "ReadableBuffer", flags: int = 0, /) -> None:
        self._limit()
        super().sendall(data, flags)

    def send(self, data: "ReadableBuffer", flags: int = 0, /) -> int:
        self._limit()
        return super().send(data, flags)

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int | None = None, flags: int = 0) -> int:
        if self.received > MOST_BYTES:
            raise HTTPException("too many bytes")
        self._limit()
        size = super().recv_into(buffer, nbytes or 0, flags)
        if not size and not self.may_end:
            raise ConnectionResetError
        self.received += size
        return size

    def _limit(self) -> None:
        """Limit the next call to the remaining time."""
        super().settimeout(seconds_left(self._ends_at))


class BoundedTlsSocket(BoundedSocket, ssl.SSLSocket):
    """The same over TLS, for SSLContext.sslsocket_class."""


def open_socket(
    target: Target, ends_at: float, is_permitted: Callable[[Sequence[Endpoint]], bool], kind: type[Opened]
) -> Opened:
    """Look up the name, check its addresses, and connect to one of them without a second look-up.

    `ends_at` is an instant of time.monotonic. Raises Failure, and TimeoutError.
    """
    try:
        endpoints = addresses_of(target, seconds_left(ends_at))
    except NoAddress:
        raise Failure("dns") from None
    if not is_permitted(endpoints):
        raise Failure("forbidden address")
    failure = Failure("unreachable")
    for position, endpoint in enumerate(endpoints):
        sock = None
        try:
            sock = kind(endpoint.family, socket.SOCK_STREAM)
            # An address that does not answer leaves time for the next ones.
            sock.settimeout(seconds_left(ends_at) / (len(endpoints) - position))
            sock.connect(tuple(endpoint))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(seconds_left(ends_at))
        except OSError as error:
            if sock:
                sock.close()
            failure = Failure(_connect_text(error))
        else:
            return sock
    raise failure


def tls_text(error: ssl.SSLError) -> str:
    """Describe a failure of TLS in a few stable words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if "mismatch" in error.verify_message:
            return "tls: the certificate is for another host"
        return f"tls: {error.verify_message}"
    if isinstance(error, ssl.SSLEOFError):
        return "reset"
    return f"tls: {(error.reason or 'failed').lower().replace('_', ' ')}"


def _connect_text(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    return "reset" if isinstance(error, ConnectionResetError) else "unreachable"


def seconds_left(ends_at: float) -> float:
    left = ends_at - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
