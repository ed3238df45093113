"""The number of threads of each web worker: lists of tickets per second, their slowest, and memory.

python -m benchmarks.web [SECONDS] [THREADS ...]

Sixteen clients read a list each, one request after another: alone; while 100 uploads send a byte now and then and 200
connections send nothing; and while four clients wait for a locked ticket, each three seconds. Memory is that of the web
server and of its connections in PostgreSQL, after all that.
"""

import base64
import http.client
import os
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from benchmarks.harness import Client, Service, filled, web_server
from benchmarks.launch import family, pss

TICKETS = 20_000
CLIENTS, UPLOADS, IDLE, WAITING = 16, 100, 200, 4
LISTS = "/api/tickets?limit=100"
UPLOAD_PAUSE_SECONDS = 0.2


@dataclass
class Load:
    """Threads that repeat an action until the end."""

    is_over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def add(self, action: Callable[[], object]) -> None:
        def repeat() -> None:
            while not self.is_over.is_set():
                action()

        self.threads.append(threading.Thread(target=repeat))
        self.threads[-1].start()

    def end(self) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join()


@contextmanager
def load() -> Iterator[Load]:
    made = Load()
    try:
        yield made
    finally:
        made.end()


def lists(server: Service, seconds: float) -> list[float]:
    """Return the seconds that each list took."""
    times: list[float] = []
    with load() as readers:
        for _ in range(CLIENTS):
            readers.add(_reader(server.client(), times))
        time.sleep(seconds)
    return times


def _reader(client: Client, times: list[float]) -> Callable[[], None]:
    def read() -> None:
        started = time.perf_counter()
        client.send("GET", LISTS, expect=200)
        times.append(time.perf_counter() - started)

    return read


class Upload:
    """A connection that sends a file's bytes one by one, and begins anew when it is given up."""

    def __init__(self, server: Service) -> None:
        self._server = server
        self._begin()

    def _begin(self) -> None:
        token = base64.b64encode(f"{self._server.login}:{self._server.secret}".encode()).decode()
        head = (
            "POST /api/temporary_files?filename=a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"
            f"Content-Length: 1000000\r\nAuthorization: Basic {token}\r\n\r\n"
        )
        self._socket = socket.create_connection(("127.0.0.1", self._server.port))
        self._socket.sendall(head.encode())

    def send(self) -> None:
        try:
            self._socket.sendall(b"a")
        except OSError:
            self._socket.close()
            self._begin()


@contextmanager
def slow_clients(server: Service) -> Iterator[None]:
    with ExitStack() as stack, load() as senders:
        for _ in range(IDLE):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        uploads = [Upload(server) for _ in range(UPLOADS)]

        def send() -> None:
            for upload in uploads:
                upload.send()
            time.sleep(UPLOAD_PAUSE_SECONDS)

        senders.add(send)
        yield


@contextmanager
def locked_ticket(server: Service) -> Iterator[None]:
    """Keep a ticket locked, while some clients ask to comment on it, again and again."""
    with server.connect() as connection, connection.transaction(), load() as clients:
        row = connection.execute("SELECT id FROM tickets_ticket LIMIT 1 FOR UPDATE").fetchone()
        agent = connection.execute("SELECT login FROM telephony_agent LIMIT 1").fetchone()
        assert row is not None
        assert agent is not None
        body = {"comment": "<p>A word.</p>", "user_login": agent[0]}
        for _ in range(WAITING):
            clients.add(_commenting(server, f"/api/tickets/{row[0]}/comment", body))
        time.sleep(0.5)
        yield


def _commenting(server: Service, path: str, body: dict[str, str]) -> Callable[[], None]:
    def comment() -> None:
        with suppress(OSError, http.client.HTTPException):
            server.client().send("POST", path, body, expect=409)

    return comment


def memory(server: Service) -> float:
    """Return the megabytes of the web server's processes and of its connections in PostgreSQL."""
    with server.connect() as connection:
        backends = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
    return sum(pss(pid) for pid in [*family(server.pid), *(row[0] for row in backends)])


def measure(running: Service, threads: int, seconds: float) -> str:
    with web_server(running, f"web{threads}", WEB_THREADS=str(threads)) as server:
        lists(server, seconds / 3)
        alone = lists(server, seconds)
        with slow_clients(server):
            beside = lists(server, seconds)
        with locked_ticket(server):
            behind = lists(server, seconds)
        cells = [f"{threads}", f"{len(alone) / seconds:.0f}/s"]
        for times in (alone, beside, behind):
            found = statistics.quantiles(times, n=100)
            cells.append(f"{statistics.median(times) * 1000:.0f}, {found[98] * 1000:.0f}, {max(times) * 1000:.0f}")
        return f"| {' | '.join(cells)} | {memory(server):.0f} MB |"


def main() -> None:
    seconds, *numbers = [int(argument) for argument in sys.argv[1:]] or [10]
    numbers = numbers or [1, 2, 4, 8, 16]
    print(f"\n## Threads of each of two web workers, {os.cpu_count()} cores, {CLIENTS} clients\n")
    print("| threads | lists | median, p99, longest (ms) | beside slow clients | while four wait for a row | memory |")
    print("|---|---|---|---|---|---|", flush=True)
    with filled("tickets", TICKETS, "tickets_ticket", "tickets_message") as running:
        for threads in numbers:
            print(measure(running, threads, seconds), flush=True)


if __name__ == "__main__":
    main()
