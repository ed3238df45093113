"""A stand-in for Asterisk's REST interface and its WebSocket, on a real socket.

As a program, for benchmarks and for trying things out:

    python -m tests.telephony.switch.ari_server 8088 --pick-up 1.0
"""

import argparse
import base64
import json
import signal
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from websockets.exceptions import InvalidState
from websockets.http11 import Request
from websockets.server import ServerProtocol

from tests.telephony.switch.ari_channels import Refused
from tests.telephony.switch.ari_pbx import Pbx
from tests.telephony.switch.ari_routes import ROUTES, Parameters

USER, PASSWORD = "callcentre", "ari-secret"


class AriServer:
    """An Asterisk at a port of 127.0.0.1, to be killed and started again; `pbx` is what goes on in it."""

    def __init__(
        self, port: int = 0, *, pick_up: float = 0.05, copies: int = 1, variables: int = 0, **more: Any
    ) -> None:
        self.port = port
        database: set[str] = set()
        self._make = lambda: Pbx(pick_up, copies=copies, variables=variables, database=database, **more)
        # Refuse each stream of events, as a broken proxy would.
        self.is_cut = False
        # Commands are carried out, but not answered.
        self.is_mute = False
        # The server does not read the streams of events, and so answers no ping.
        self.is_deaf = False
        # "GET channels" -> how many of these requests, from now on, are answered with an error.
        self.failing: dict[str, int] = {}
        # Long answers end in the middle.
        self.breaks_off = False
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/ari"

    def start(self) -> None:
        self.pbx = self._make()
        self.sockets: set[socket.socket] = set()
        self.streams: set[socket.socket] = set()
        handler = type("BoundHandler", (Handler,), {"ari": self})
        self._http = Server(("127.0.0.1", self.port), handler)
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def kill(self) -> None:
        """Kill the server like SIGKILL: connections break, and all state is lost."""
        self._http.shutdown()
        self._http.server_close()
        self.pbx.close()
        for sock in [*self.sockets]:
            _reset(sock)

    def restart(self) -> None:
        self.kill()
        self.start()

    def cut(self, *, for_good: bool = True) -> None:
        """The streams of events break; with `for_good` no new one is let in until `mend()`."""
        self.is_cut = for_good
        for sock in [*self.streams]:
            _reset(sock)

    def close_idle(self) -> None:
        """Connections over which nothing was asked for lately are closed; all but the streams, here."""
        for sock in self.sockets - self.streams:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self.is_cut = False


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _reset(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The reading thread is interrupted; then the socket is closed with a reset.
        sock.shutdown(socket.SHUT_RD)
        sock.close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    ari: AriServer

    def setup(self) -> None:
        super().setup()
        self.ari.sockets.add(self.connection)

    def finish(self) -> None:
        self.ari.sockets.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def log_message(self, *args: Any) -> None:
        """Log nothing."""

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        parameters = dict(parse_qsl(parts.query))
        if length := int(self.headers.get("Content-Length") or 0):
            parameters |= json.loads(self.rfile.read(length))
        try:
            self._authenticate(parameters)
            if parts.path == "/ari/events":
                self._stream(parameters)
                return
            path = [unquote(part) for part in parts.path.removeprefix("/ari/").split("/")]
            with self.ari.pbx.lock:
                place = parts.path.removeprefix("/ari/")
                self.ari.pbx.requests.append((self.command, place, parameters))
                request = f"{self.command} {place}"
                if self.ari.failing.get(request, 0):
                    self.ari.failing[request] -= 1
                    raise Refused(500, "Internal Server Error")
                content = self._routed(path, parameters)
        except Refused as refusal:
            content, status = refusal.body, refusal.status
        else:
            status = 204 if content is None else 200
        if not self.ari.is_mute:
            self._answer(status, content)

    do_GET = do_POST = do_DELETE = _handle  # noqa: N815  (names of http.server)

    def _authenticate(self, parameters: Parameters) -> None:
        basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {basic}" and parameters.get("api_key") != f"{USER}:{PASSWORD}":
            raise Refused(401, "Authentication required")

    def _routed(self, path: list[str], parameters: Parameters) -> Any:
        for method, pattern, act in ROUTES:
            if method == self.command and len(pattern) == len(path):
                names = [part for want, part in zip(pattern, path, strict=True) if want == "*"]
                if all(want in ("*", part) for want, part in zip(pattern, path, strict=True)):
                    return act(self.ari.pbx, *names, parameters)
        raise Refused(404, "Resource not found")

    def _answer(self, status: int, content: Any) -> None:
        body = b"" if content is None else content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="Asterisk REST Interface"')
        if status != 204:
            kind = "audio/wav" if isinstance(content, bytes) else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.ari.breaks_off and len(body) > 100_000:
            body, self.close_connection = body[:100_000], True
        self.wfile.write(body)
        self.wfile.flush()

    # The WebSocket

    def _stream(self, parameters: Parameters) -> None:
        self.close_connection = True
        if self.ari.is_cut:
            return
        if not parameters.get("app"):
            raise Refused(400, "HTTP request is missing param: [app]")
        stream = Stream(self.connection, self.ari)
        # The request that http.server has read already.
        fields = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        # No event is sent before the stream is open, and none is lost after.
        self.ari.streams.add(self.connection)
        with stream.lock:
            self.ari.pbx.connect(parameters["app"].split(","), stream.send)
            stream.upgrade(f"GET {self.path} HTTP/1.1\r\n{fields}\r\n".encode())
        with suppress(OSError):
            stream.read()
        self.ari.pbx.disconnect(stream.send)
        self.ari.streams.discard(self.connection)


class Stream:
    """The server's end of a WebSocket."""

    def __init__(self, sock: socket.socket, ari: AriServer) -> None:
        self._socket = sock
        self._ari = ari
        self._protocol = ServerProtocol()
        self.lock = threading.Lock()

    def upgrade(self, request: bytes) -> None:
        self._protocol.receive_data(request)
        (parsed,) = self._protocol.events_received()
        assert isinstance(parsed, Request)
        self._protocol.send_response(self._protocol.accept(parsed))
        self._flush()

    def send(self, message: bytes) -> None:
        with self.lock, suppress(OSError, InvalidState):
            self._protocol.send_text(message)
            self._flush()

    def read(self) -> None:
        """Answer pings and the client's close until the client disconnects."""
        while not self._protocol.close_expected() and (data := self._socket.recv(65_536)):
            if not self._ari.is_deaf:
                with self.lock:
                    self._protocol.receive_data(data)
                    self._protocol.events_received()
                    self._flush()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            self._socket.sendall(data)


@contextmanager
def ari_server(**options: Any) -> Iterator[AriServer]:
    server = AriServer(**options)
    try:
        yield server
    finally:
        server.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--pick-up", type=float, default=0.5, help="seconds after which a phone is picked up")
    parser.add_argument("--copies", type=int, default=1, help="how often every event is told")
    parser.add_argument("--variables", type=int, default=0, help="ChannelVarset events at each change of a channel")
    parser.add_argument("--talk", type=float, default=0.0, help="seconds after which numbers outside hang up, about")
    options = vars(parser.parse_args())
    server = AriServer(options.pop("port"), **options)
    print(f"{server.url} of {USER}:{PASSWORD}", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    server.kill()


if __name__ == "__main__":
    main()
