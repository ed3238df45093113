"""Looking names up with a limit to the waiting: the C library's own look-up cannot be given a deadline."""

import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

# Look-ups that wait for a name server, and hold a thread each, at one time.
MOST_LOOK_UPS = 64


class NoAddress(Exception):
    """The name has no address, or the answer did not come in time."""


class Endpoint(NamedTuple):
    address: str
    port: int

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if ":" in self.address else socket.AF_INET


_lock = threading.Lock()
_running: dict[tuple[str, int], Future[Sequence[Endpoint]]] = {}


def look_up(host: str, port: int, seconds: float) -> Sequence[Endpoint]:
    """The addresses of a name, in the order to try them; never empty.

    All who ask for one name wait for one look-up, so that a name whose server hangs holds one thread, not all.
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
        # A daemon: a server that hangs must not hold up the end of the process.
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
        # A zone behind an address (fe80::1%eth0) stays: such an address is refused, not read as another one.
        endpoints = list(dict.fromkeys(Endpoint(str(sockaddr[0]), port) for *_, sockaddr in found))
        if not endpoints:
            raise OSError("no address")
    except BaseException as error:  # noqa: BLE001  (whoever waits is told, whatever it was)
        _finish(host, port)
        future.set_exception(error)
    else:
        _finish(host, port)
        future.set_result(endpoints)


def _finish(host: str, port: int) -> None:
    with _lock:
        del _running[host, port]
