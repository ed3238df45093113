"""Opening a connection: look the name up, check its addresses, connect to one of those and to nothing else."""

import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial

from django.conf import settings
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from webhooks.transport.names import Endpoint, NoAddress
from webhooks.transport.targets import Target, addresses_of, are_allowed
from webhooks.transport.wire import Connection, Failure, seconds_left, tls_text


class Opener:
    """What connections of one sender have in common: where they may go, and whose certificates they trust."""

    def __init__(self, allowed_networks: Iterable[str] | None, authorities: str | None) -> None:
        self._allowed_networks = None if allowed_networks is None else tuple(allowed_networks)
        self._authorities = authorities

    def open(self, target: Target, deadline: float) -> Connection:
        """Raises Failure."""
        networks = settings.WEBHOOK_ALLOWED_NETWORKS if self._allowed_networks is None else self._allowed_networks
        sock = open_socket(target, deadline, partial(are_allowed, networks=networks))
        # The dot of a full name is for the look-up; certificates and virtual hosts are without it.
        host = target.host.removesuffix(".")
        if target.scheme == "http":
            return Connection(sock, host, target.port, default_port=80)
        return Connection(_secure(sock, self._tls, host, deadline), host, target.port, default_port=443)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=DEFAULT_CA_BUNDLE_PATH)
        if self._authorities:
            context.load_verify_locations(self._authorities)
        context.set_alpn_protocols(["http/1.1"])
        return context


def open_socket(target: Target, deadline: float, is_permitted: Callable[[Sequence[Endpoint]], bool]) -> socket.socket:
    """Connect to the target at an address that was looked up once and permitted. Raises Failure."""
    try:
        endpoints = addresses_of(target, seconds_left(deadline))
    except NoAddress:
        raise Failure("dns") from None
    except TimeoutError:
        raise Failure("timeout") from None
    if not is_permitted(endpoints):
        raise Failure("forbidden address")
    return _connect(endpoints, deadline)


def _connect(endpoints: Sequence[Endpoint], deadline: float) -> socket.socket:
    """A connection to the first address that takes one: no name is looked up here. Raises Failure."""
    failure = Failure("unreachable")
    for position, endpoint in enumerate(endpoints):
        sock = None
        try:
            sock = socket.socket(endpoint.family, socket.SOCK_STREAM)
            # An address that swallows everything leaves time for those after it.
            sock.settimeout(seconds_left(deadline) / (len(endpoints) - position))
            sock.connect(tuple(endpoint))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            if sock:
                sock.close()
            failure = Failure(_connect_text(error))
        else:
            return sock
    raise failure


def _secure(sock: socket.socket, context: ssl.SSLContext, host: str, deadline: float) -> ssl.SSLSocket:
    """TLS with the receiver, if its certificate is for this host. Raises Failure."""
    try:
        # The whole handshake ends within a time-out of the socket, however slowly its bytes come.
        sock.settimeout(seconds_left(deadline))
        return context.wrap_socket(sock, server_hostname=host)
    except TimeoutError:
        failure = "timeout"
    except ssl.SSLError as error:
        failure = tls_text(error)
    except OSError:
        failure = "reset"
    sock.close()
    raise Failure(failure)


def _connect_text(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    return "reset" if isinstance(error, ConnectionResetError) else "unreachable"
