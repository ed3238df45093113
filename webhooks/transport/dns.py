"""DNS look-ups with a time limit, which the look-up of the C library does not have."""

import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

# Look-ups at one time. Each holds a thread.
MOST_LOOK_UPS = 64


class NoAddress(Exception):
    """The name has no address, or the look-up took too long."""


class Endpoint(NamedTuple):
    address: str
    port: int

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if ":" in self.address else socket.AF_INET


_lock = threading.Lock()
_running: dict[tuple[str, int], Future[Sequence[Endpoint]]] = {}


def look_up(host: str, port: int, seconds: float) -> Sequence[Endpoint]:
    """Return the addresses of a name in the order to try them; never empty. Raises NoAddress.

    Look-ups of one name at the same time share one thread, so that a hanging name server does not take all threads.
    """
    try:
        return _share(host, port).result(seconds)
    except (OSError, UnicodeError) as error:
        raise NoAddress from error


def _share(host: str, port: int) -> Future[Sequence[Endpoint]]:
    with _lock:
        if running := _running.get((host, port)):
            return running
        if len(_running) >= MOST_LOOK_UPS:
            raise NoAddress
        started = _running[host, port] = Future()
        # A daemon thread, because a hanging server must not delay the end of the process.
        thread = threading.Thread(target=_resolve, args=(host, port, started), name="look-up", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            del _running[host, port]
            raise NoAddress from error
        return started


def _resolve(host: str, port: int, future: Future[Sequence[Endpoint]]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # The zone of an address (fe80::1%eth0) is kept, so that the address is refused.
        endpoints = list(dict.fromkeys(Endpoint(str(sockaddr[0]), port) for *_, sockaddr in found))
        if not endpoints:
            raise OSError("no address")
    except BaseException as error:  # noqa: BLE001  (the waiting threads get each error)
        _finish(host, port)
        future.set_exception(error)
    else:
        _finish(host, port)
        future.set_result(endpoints)


def _finish(host: str, port: int) -> None:
    with _lock:
        del _running[host, port]
