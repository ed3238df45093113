"""Real web servers with the test database, for tests of several processes or many connections."""

import base64
import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from threading import Barrier
from typing import Any, TypeVar

from django.db import connection

from callcentre.launch.servers import is_free
from tests.processes import ROOT, environment

T = TypeVar("T")

# The name by which the database tells connections of these servers from those of tests.
APPLICATION = "web-server-of-tests"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class WebServer:
    """A granian process; each request is a connection of its own."""

    port: int
    process: subprocess.Popen[bytes] = field(repr=False)

    def request(self, method: str, path: str, data: Any = None, *, auth: str = "", **headers: str) -> Answer:
        body = None if data is None else json.dumps(data).encode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        if auth:
            headers["Authorization"] = f"Basic {base64.b64encode(auth.encode()).decode()}"
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        try:
            client.request(method, path, body, headers)
            response = client.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            client.close()

    def wait(self) -> None:
        """Wait until the server answers."""
        deadline = time.monotonic() + 100
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.request("GET", "/health/live").status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"the web server at port {self.port} does not answer")


@contextmanager
def web_servers(count: int, folder: Path, **more: str) -> Generator[list[WebServer]]:
    """Run servers of the test database, each in a process with 8 threads; `more` are further variables."""
    variables = environment(folder, **{"LOG_LEVEL": "WARNING", **more})
    variables["DATABASE_URL"] += f"?application_name={APPLICATION}"
    servers = []
    try:
        for position in range(count):
            port = free_port()
            arguments = f"--interface asginl --http 1 --no-ws --host 127.0.0.1 --port {port} --workers 1"
            command = [sys.executable, "-m", "granian", *arguments.split(), "callcentre.asgi:application"]
            log = (folder / f"web{position}.log").open("wb")
            process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=log, stderr=log)
            servers.append(WebServer(port, process))
        for server in servers:
            server.wait()
        yield servers
    finally:
        for server in servers:
            server.process.send_signal(signal.SIGTERM)
        for server in servers:
            server.process.wait(60)


def end_connections() -> None:
    """End the connections of these servers to the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = %s",
            [APPLICATION],
        )
        assert cursor.fetchone()[0] >= 1


def free_port() -> int:
    # Independent of the random seed: two workers of one run would choose the same port. Below the ports of stores: one
    # took a port between its choice and the start of a web server.
    return next(port for port in SystemRandom().sample(range(10_000, 15_000), 100) if is_free(port))


def at_once(calls: Iterable[Callable[[], T]]) -> list[T]:
    """Return the results of these calls, made at the same moment in a thread each."""
    calls = list(calls)
    barrier = Barrier(len(calls), timeout=100)

    def run(call: Callable[[], T]) -> T:
        barrier.wait()
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
