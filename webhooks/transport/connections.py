"""urllib3's connections and pools, with connections to checked addresses only."""

import http.client
import ssl
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from webhooks.transport.sockets import BoundedSocket, BoundedTlsSocket, Failure, open_socket, tls_text
from webhooks.transport.targets import Target, are_allowed

if TYPE_CHECKING:
    from urllib3.response import HTTPResponse

# Idle connections to one receiver.
MOST_IDLE = 8
# An idle connection is not used after this long, because a firewall may have dropped it silently.
IDLE_SECONDS = 50.0
# A connection is not used after this long, so that the name is looked up again.
CONNECTION_SECONDS = 300.0

Networks = Callable[[], Iterable[str]]


class Stale(Exception):
    """A reused connection was closed before the first byte of the answer: the request may be sent once more."""


class _Answer(http.client.HTTPResponse):
    """An answer without the interim answers (1xx) before it. http.client skips only 100."""

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


class _Checked(HTTPConnection):
    """A connection to a checked address of its target: a public one, or one in `networks`."""

    response_class = _Answer

    def __init__(self, *args: Any, target: Target, networks: Networks, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._target = target
        self._networks = networks
        self._opened_at = self._answered_at = 0.0

    def _new_conn(self) -> BoundedSocket:
        self._opened_at, self._answered_at = time.monotonic(), 0.0
        ends_at = time.monotonic() + cast("float", self.timeout)
        return open_socket(self._target, ends_at, partial(are_allowed, networks=self._networks()), BoundedSocket)

    def send(self, data: Any) -> None:
        """Send as much as the receiver takes. If it hung up, it may have answered before, which reading shows."""
        try:
            super().send(data)
        except TimeoutError:
            raise
        except OSError:
            pass

    def getresponse(self) -> "HTTPResponse":  # type: ignore[override]  # as urllib3 has it
        """Read the head of the answer. Raises Stale if a reused connection was closed before it."""
        sock = cast("BoundedSocket", self.sock)
        try:
            answer = super().getresponse()
        except TimeoutError:
            raise
        except OSError as error:
            if self._answered_at and not sock.received:
                raise Stale from error
            raise
        self._answered_at = time.monotonic()
        return answer

    @property
    def is_connected(self) -> bool:
        """Whether the connection can be reused: it is young, and no byte has come since the last answer.

        Such a byte, for example of a late error page, would be read as the next answer.
        """
        now = time.monotonic()
        is_young = now - self._answered_at < IDLE_SECONDS and now - self._opened_at < CONNECTION_SECONDS
        is_pending = isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()
        return is_young and not is_pending and super().is_connected


class _CheckedSecure(_Checked, HTTPSConnection):
    def connect(self) -> None:
        try:
            super().connect()
        except TimeoutError:
            raise Failure("timeout") from None
        except ssl.SSLError as error:
            raise Failure(tls_text(error)) from None
        except OSError:
            raise Failure("reset") from None


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Checked


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _CheckedSecure


def pool_for(target: Target, networks: Networks, tls: ssl.SSLContext | None) -> HTTPConnectionPool:
    """Return a pool of connections to the origin of the target; with `tls` for https."""
    common: dict[str, Any] = {"maxsize": MOST_IDLE, "target": target, "networks": networks}
    if tls is None:
        return _PlainPool(target.host, target.port, **common)
    return _SecurePool(target.host, target.port, ssl_context=tls, **common)


def tls_context(authorities: str | None) -> ssl.SSLContext:
    """Return a context that trusts the usual certificates, and those of a PEM file."""
    context = ssl.create_default_context(cafile=DEFAULT_CA_BUNDLE_PATH)
    if authorities:
        context.load_verify_locations(authorities)
    context.sslsocket_class = BoundedTlsSocket
    return context
