"""The harness of all benchmarks: the service on stores of its own, a million records, medians, a table.

A benchmark reports a ratio to a lower bound: work that no implementation can avoid. Both are measured in turns in the
same run, so that a busy machine slows down both. No ratio here decides a test.
"""

import base64
import http.client
import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg

from callcentre.launch.children import spawn, stop
from callcentre.launch.embedded import Stores, temporary_stores
from callcentre.launch.servers import choose_port
from callcentre.launch.supervisor import programs

ROOT = Path(__file__).resolve().parent.parent
CAMPAIGNS = 20
# The code that makes a superuser and prints a session.
SESSION = """
from django.test import Client
from callcentre.models import User
client = Client()
client.force_login(User.objects.create(username="bench", is_staff=True, is_superuser=True))
print(client.cookies["sessionid"].value)
"""
# Requests until each of the web server's 16 threads has prepared its statements on its own connection and has run them
# five times, after which PostgreSQL keeps their plans.
WARM_UP = 300


@dataclass
class Table:
    """The rows of the result, printed as Markdown as soon as they are measured.

    A ratio is the whole request or run over its bound, which has no ping in it. The part "above a ping" is the request
    without the time of a ping in the same turns, over the same bound: it leaves out the cost of server and framework.
    """

    title: str

    def head(self) -> None:
        columns = ("operation", "bound", "ours", "ratio", "goal", "")
        print(f"\n## {self.title}\n\n{_line(*columns)}\n{_line(*['---'] * len(columns))}", flush=True)

    def add(
        self,
        operation: str,
        bound_is: str,
        bound: float,
        ours: float,
        goal: float | None = None,
        *,
        ping: float | None = None,
        goal_above_ping: float | None = None,
    ) -> None:
        """Add seconds. A goal is the largest ratio, or the largest ratio of the part above a ping."""
        ratio, goals, is_met = f"{ours / bound:.2f}", [], True
        if goal is not None:
            goals.append(f"≤ {goal:g}")
            is_met = ours / bound <= goal
        if ping is not None:
            above = (ours - ping) / bound
            ratio += f"; above a ping {above:.2f}"
            if goal_above_ping is not None:
                goals.append(f"above a ping ≤ {goal_above_ping:g}")
                is_met = is_met and above <= goal_above_ping
        self._print(operation, f"{bound_is}: {_time(bound)}", _time(ours), ratio, "; ".join(goals), is_met=is_met)

    def add_rate(self, operation: str, bound_is: str, bound: float, ours: float, goal: float) -> None:
        """Add rates per second, for which more is better."""
        ratio = ours / bound
        self._print(
            operation,
            f"{bound_is}: {bound:,.0f}/s",
            f"{ours:,.0f}/s",
            f"{ratio:.2f}",
            f"≥ {goal:g}",
            is_met=ratio >= goal,
        )

    def add_time(self, operation: str, ours: float, goal: float) -> None:
        """Add seconds that have a goal, and no bound."""
        self._print(operation, "", _time(ours), "", f"≤ {_time(goal)}", is_met=ours <= goal)

    def add_speed(self, operation: str, ours: float, goal: float) -> None:
        """Add a rate per second that has a goal, and no bound."""
        self._print(operation, "", f"{ours:,.0f}/s", "", f"≥ {goal:,.0f}/s", is_met=ours >= goal)

    def add_amount(self, operation: str, ours: float, goal: float, unit: str) -> None:
        """Add an amount of something, of which less is better."""
        self._print(operation, "", f"{ours:,.3g} {unit}", "", f"≤ {goal:,g} {unit}", is_met=ours <= goal)

    def _print(self, *cells: str, is_met: bool) -> None:
        print(_line(*cells, "met" if is_met else "MISSED"), flush=True)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


@dataclass
class Service:
    """A running web server with its stores, an API user with all rights, and connections to both."""

    port: int
    database_url: str
    environment: dict[str, str]
    login: str
    secret: str
    # Of the web server.
    pid: int = 0

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.database_url, autocommit=True)

    def client(self) -> "Client":
        return Client(self)


class Client:
    """One keep-alive connection."""

    def __init__(self, service: Service) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=600)
        token = base64.b64encode(f"{service.login}:{service.secret}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: Any = None, *, expect: int, anonymous: bool = False) -> bytes:
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        status, answer = self._ask(method, path, raw, {} if anonymous else self._headers)
        if status != expect:
            raise RuntimeError(f"{method} {path}: {status} {answer[:500]!r}")
        return answer

    def _ask(self, method: str, path: str, raw: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path, raw, headers)
            response = self._connection.getresponse()
        except http.client.RemoteDisconnected:
            # The server closes a connection that was idle for half a minute (RFC 9112, 9.3.1).
            self._connection.request(method, path, raw, headers)
            response = self._connection.getresponse()
        return response.status, response.read()


class Visitor(Client):
    """A superuser's browser."""

    def __init__(self, running: Service) -> None:
        super().__init__(running)
        key = manage(running.environment, "shell", "--verbosity=0", "-c", SESSION).split()[-1]
        self._headers = {"Cookie": f"sessionid={key}"}

    def is_page(self, path: str) -> bool:
        """Return whether the address answers with a whole page."""
        status, answer = self._ask("GET", path, None, self._headers)
        return status == 200 and b"<html" in answer


def timed(action: Callable[[], Any]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def medians(turns: int, *actions: Callable[[], Any], warm_up: int = 50) -> list[float]:
    """Return the median time of each action, measured in turns."""
    for _ in range(warm_up):
        for action in actions:
            action()
    times = [[timed(action) for action in actions] for _ in range(turns)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def web_arguments(port: int) -> list[str]:
    """Return the arguments of Python for a web server with two processes."""
    arguments = programs(port)["web"]
    arguments[arguments.index("--workers") + 1] = "2"
    return arguments


def service_environment(stores: Stores) -> dict[str, str]:
    metrics = stores.var / "run" / "metrics"
    metrics.mkdir()
    return {
        **os.environ,
        **stores.environment,
        "CALLCENTRE_VAR": str(stores.var),
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        "SECRET_KEY": secrets.token_urlsafe(64),
        "FIELD_ENCRYPTION_KEYS": base64.urlsafe_b64encode(os.urandom(32)).decode(),
        "ALLOWED_HOSTS": "127.0.0.1",
        "SECURE_COOKIES": "0",
        "API_RATE_LIMIT": "100000000",
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    }


@contextmanager
def service(records: int) -> Iterator[Service]:
    """Run the web part of the service as deploy/systemd does, on durable stores, with this many records."""
    with temporary_stores(durable=True) as stores:
        environment = service_environment(stores)
        manage(environment, "migrate", "--verbosity=0")
        # Given stores may have served an earlier service.
        login = f"bench-{secrets.token_hex(4)}"
        secret = manage(environment, "create_api_user", login, "--right", "*").strip()
        port = choose_port(stores.var / "run" / "web.port")
        log = (stores.var / "log" / "web.log").open("wb")
        command = [sys.executable, *web_arguments(port)]
        web = spawn(command, orphaned=signal.SIGTERM, env=environment, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            running = Service(port, stores.environment["DATABASE_URL"], environment, login, secret)
            wait_until_up(running)
            if records:
                fill(running, records)
            yield running
        finally:
            stop(web, signal.SIGTERM)
            log.close()


@contextmanager
def web_server(running: Service, name: str, *, bare: bool = False, **environment: str) -> Iterator[Service]:
    """Run another web server beside that of the service: with other settings, or with a bare Django view."""
    port = choose_port(Path(running.environment["CALLCENTRE_VAR"]) / "run" / f"{name}.port")
    replaced = {"asginl": "wsgi", "callcentre.asgi:application": "benchmarks.bare_django:application"} if bare else {}
    arguments = [replaced.get(word, word) for word in web_arguments(port)]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, *arguments], env=running.environment | environment, cwd=ROOT, **quiet)
    try:
        server = replace(running, port=port, pid=process.pid)
        wait_until_up(server, "/api/ping", 204 if bare else 401)
        yield server
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def filled(what: str, count: int, *tables: str) -> Iterator[Service]:
    """Run the service with `count` rows of `generate_data` in `tables`, vacuumed and analysed."""
    with service(0) as running:
        print(f"filling in {count:,} {what} …", file=sys.stderr)
        print(manage(running.environment, "generate_data", f"--{what}", str(count)), file=sys.stderr)
        with running.connect() as connection:
            for table in tables:
                connection.execute(f"VACUUM ANALYZE {table}")
            connection.execute("CHECKPOINT")
        yield running


def manage(environment: dict[str, str], *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments], env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout.decode()


def wait_until_up(service: Service, path: str = "/health/live", status: int = 200) -> None:
    for _ in range(900):
        try:
            Client(service).send("GET", path, expect=status, anonymous=True)
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the web server does not answer")


def fill(service: Service, records: int) -> None:
    """Fill campaigns B0000 to B0019 with records: numbers from +48 500 000 000, a million per campaign."""
    print(f"filling in {records:,} records in {CAMPAIGNS} campaigns …", file=sys.stderr)
    client = service.client()
    for number in range(CAMPAIGNS):
        body = {"id": f"B{number:04}", "name": f"Benchmark {number}", "dialer": "progressive", "crm": False}
        client.send("POST", "/api/outbounds", body, expect=201)
    with service.connect() as connection:
        connection.execute(
            """
            INSERT INTO campaigns_campaignfield (campaign_id, name, "order")
            SELECT c.id, f.name, 50 FROM campaigns_campaign c, unnest(ARRAY['first_name', 'city']) AS f(name)
            """
        )
        connection.execute(
            """
            INSERT INTO campaigns_record (campaign_id, phone_number, number, is_primary, status_id, system_status,
                                          identifier, last_note, fields, leased_by)
            SELECT c.id, number, number, true, s.id, 'TO_CALL', 'I' || n, '', '{}', ''
            FROM generate_series(0, %s - 1) AS n
            JOIN campaigns_campaign c ON c.code = 'B' || lpad((n %% %s)::text, 4, '0')
            JOIN campaigns_recordstatus s ON s.campaign_id = c.id AND s.system_status = 'TO_CALL'
            CROSS JOIN LATERAL (SELECT '+48' || (500000000 + n / %s) AS number) AS numbers
            """,
            [records, CAMPAIGNS, CAMPAIGNS],
        )
        connection.execute(
            """
            INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_name, action, changes, from_status,
                                                to_status, from_system_status, to_system_status)
            SELECT id, 'system', 'benchmark', 'create', '{}', '', 'To be called', '', 'TO_CALL' FROM campaigns_record
            """
        )
        connection.execute("VACUUM ANALYZE campaigns_record")
        connection.execute("VACUUM ANALYZE campaigns_recordchange")
        connection.execute("CHECKPOINT")
