"""Sockets that connect to checked addresses only."""

import socket
import ssl
import time
from collections.abc import Callable, Sequence

from webhooks.transport.dns import Endpoint, NoAddress
from webhooks.transport.targets import Target, addresses_of


class Failure(Exception):
    """No connection. The text is a short stable reason without secrets."""


def open_socket(target: Target, ends_at: float, is_permitted: Callable[[Sequence[Endpoint]], bool]) -> socket.socket:
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
            sock = socket.socket(endpoint.family, socket.SOCK_STREAM)
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
