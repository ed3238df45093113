"""One connection to a receiver, every wait of which ends at the deadline of the request.

Deadlines are instants of time.monotonic(). A socket's time-out is for one call, and starts again with each byte of a
receiver that sends one a second; here every call is given only what is left.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from email.message import Message
from select import POLLIN, poll
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# What is kept of an answer's body.
ANSWER_BYTES = 2048
# Status line, headers and the kept body together, with what is read ahead: no receiver needs more.
MOST_BYTES = 131_072


class Failure(Exception):
    """There is no answer, and why: a short stable text without anything secret in it.

    `has_begun`: the receiver may have got the request.
    """

    has_begun = False


class Stale(Exception):
    """A used connection turned out to be closed before a byte of the answer: the request may be sent once more."""


class Answer(NamedTuple):
    """What the receiver said; `error` is what cut its body short."""

    status: int
    headers: Message
    body: bytes
    error: str


class Wire:
    """The socket as http.client sees it. Head and body are collected, and leave in one piece.

    Reading never raises: the stream ends, and `ended` says why, `eof` or the text of a failure. So what came until
    then is kept, and the reason is judged in one place.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.start(0.0)

    def start(self, deadline: float) -> None:
        """Get ready for the next request."""
        self.deadline = deadline
        self.unsent = b""
        self.received = 0
        self.ended = ""
        self.is_intact = True

    def sendall(self, data: bytes) -> None:
        self.unsent += data

    def transmit(self) -> None:
        """Send what was collected. Who hung up meanwhile may have answered before, so that is no failure yet."""
        data = memoryview(self.unsent)
        try:
            while data:
                self.socket.settimeout(seconds_left(self.deadline))
                data = data[self.socket.send(data) :]
        except TimeoutError:
            raise Failure("timeout") from None
        except OSError:
            self.is_intact = False

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def receive(self, buffer: "WriteableBuffer") -> int:
        if self.received > MOST_BYTES:
            self.ended = "protocol"
            return 0
        try:
            self.socket.settimeout(seconds_left(self.deadline))
            size = self.socket.recv_into(buffer)
        except TimeoutError:
            self.ended = "timeout"
            return 0
        except ssl.SSLEOFError:
            self.ended = "eof"
            return 0
        except OSError as error:
            self.ended = tls_text(error) if isinstance(error, ssl.SSLError) else "reset"
            return 0
        self.received += size
        if not size:
            self.ended = "eof"
        return size

    def close(self) -> None:
        """http.client closes before it reads a body that ends with the connection: the owner of the socket does it."""
        self.is_intact = False


class _Reader(io.RawIOBase):
    """The wire as one answer reads it: closed with that answer, while the wire stays open for the next."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        return self._wire.receive(buffer)


class Connection:
    """An open connection, for one request after another."""

    def __init__(self, sock: socket.socket, host: str, port: int, default_port: int) -> None:
        self.opened_at = self.idle_since = time.monotonic()
        self._wire = Wire(sock)
        self._is_used = False
        # It would resolve the name if it opened a connection itself; it gets one, and never another.
        self._http = http.client.HTTPConnection(host, port)
        self._http.default_port = default_port
        self._http.auto_open = 0
        self._http.sock = cast("socket.socket", self._wire)

    def post(self, path: str, headers: Mapping[str, str], body: bytes, deadline: float) -> Answer:
        """Raises Failure, or Stale where the connection had been used before."""
        wire = self._wire
        wire.start(deadline)
        self._http.putrequest("POST", path, skip_accept_encoding=True)
        for name, value in headers.items():
            self._http.putheader(name, value)
        self._http.endheaders(body)
        wire.transmit()
        try:
            response = self._http.getresponse()
        except Exception as error:  # whatever a receiver's bytes make the parser raise
            raise self._no_answer() from error
        # The parser takes a head that was cut off for a whole one.
        if wire.ended or response.status < 200:
            raise self._no_answer()
        ends_with_connection = response.length is None and not response.chunked
        try:
            # One byte more shows whether that was all, and reads the end of a chunked body.
            content = response.read(ANSWER_BYTES + 1)
        except http.client.IncompleteRead as cut:
            content = cut.partial
            wire.ended = wire.ended or "protocol"
        wire.is_intact = wire.is_intact and response.isclosed() and not wire.ended
        response.close()
        self._is_used = True
        self.idle_since = time.monotonic()
        error_text = "" if wire.ended == "eof" and ends_with_connection else _failure_text(wire.ended)
        return Answer(response.status, response.headers, content[:ANSWER_BYTES], error_text)

    def _no_answer(self) -> Failure | Stale:
        wire = self._wire
        if self._is_used and not wire.received and wire.ended in ("eof", "reset"):
            return Stale()
        return Failure(_failure_text(wire.ended) or "protocol")

    @property
    def is_reusable(self) -> bool:
        return self._wire.is_intact

    def is_quiet(self) -> bool:
        """Whether nothing came since the last answer: not the end, nor a late error page, which would be taken for
        the next answer."""
        sock = self._wire.socket
        if isinstance(sock, ssl.SSLSocket) and sock.pending():
            return False
        poller = poll()
        poller.register(sock, POLLIN)
        return not poller.poll(0)

    def close(self) -> None:
        self._wire.socket.close()


def seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def tls_text(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        if "mismatch" in error.verify_message:
            return "tls: the certificate is for another host"
        return f"tls: {error.verify_message}"
    if isinstance(error, ssl.SSLEOFError):
        return "reset"
    return f"tls: {(error.reason or 'failed').lower().replace('_', ' ')}"


def _failure_text(ended: str) -> str:
    return "reset" if ended == "eof" else ended
