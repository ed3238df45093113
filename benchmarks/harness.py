"""The harness of all benchmarks: the service on stores of its own, a million records, medians, a table.

A benchmark reports a ratio to a lower bound. Both are measured in turns in the same run, so that a busy machine slows
down both. No ratio here decides a test.
"""

import base64
import http.client
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from callcentre.launch.embedded import temporary_stores
from callcentre.launch.servers import Ports
from callcentre.launch.supervisor import programs

ROOT = Path(__file__).resolve().parent.parent
CAMPAIGNS = 20
# Requests until each of the web server's 32 threads has prepared its statements on its own connection and has run them
# five times, after which PostgreSQL keeps their plans.
WARM_UP = 300


@dataclass
class Row:
    what: str
    bound: float
    ours: float
    goal: float
    is_minimum: bool = False

    @property
    def ratio(self) -> float:
        return self.ours / self.bound

    @property
    def is_met(self) -> bool:
        return self.ratio >= self.goal if self.is_minimum else self.ratio <= self.goal


@dataclass
class Table:
    """The rows of the result, printed as Markdown as soon as they are measured."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def add(self, what: str, bound: float, ours: float, goal: float) -> None:
        self.rows.append(Row(what, bound, ours, goal))
        print(self._line(self.rows[-1]), flush=True)

    def add_rate(self, what: str, bound: float, ours: float, goal: float) -> None:
        """Add rates per second, for which more is better."""
        self.rows.append(Row(what, bound, ours, goal, is_minimum=True))
        print(self._line(self.rows[-1]), flush=True)

    def head(self) -> None:
        print(f"\n## {self.title}\n\n| what | bound | ours | ratio | goal | |\n|---|---|---|---|---|---|", flush=True)

    def _line(self, row: Row) -> str:
        verdict = "met" if row.is_met else "MISSED"
        values = (row.bound, row.ours)
        bound, ours = (f"{value:,.0f}/s" if row.is_minimum else f"{value * 1000:,.3g} ms" for value in values)
        sign = "≥" if row.is_minimum else "≤"
        return f"| {row.what} | {bound} | {ours} | {row.ratio:.2f} | {sign} {row.goal:g} | {verdict} |"


@dataclass
class Service:
    """A running web server with its stores, an API user with all rights, and connections to both."""

    port: int
    database_url: str
    environment: dict[str, str]
    login: str
    secret: str

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
        headers = {} if anonymous else self._headers
        self._connection.request(method, path, raw, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != expect:
            raise RuntimeError(f"{method} {path}: {response.status} {answer[:500]!r}")
        return answer


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


@contextmanager
def service(records: int) -> Iterator[Service]:
    """Run the web part of the service as `make run` does, on durable stores, with this many records."""
    with temporary_stores(durable=True) as stores:
        metrics = stores.var / "run" / "metrics"
        metrics.mkdir()
        environment = {
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
        manage(environment, "migrate", "--verbosity=0")
        # Given stores may have served an earlier service.
        login = f"bench-{secrets.token_hex(4)}"
        secret = manage(environment, "create_api_user", login, "--right", "*").strip()
        port = Ports(stores.var / "run" / "web-port.json").choose("web")
        log = (stores.var / "log" / "web.log").open("wb")
        web = stores.guard.spawn(
            [sys.executable, *programs(port)[0].arguments],
            env=environment,
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            running = Service(port, stores.database_url, environment, login, secret)
            _wait_until_up(running)
            if records:
                fill(running, records)
            yield running
        finally:
            stores.guard.stop(web)
            log.close()


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


def _wait_until_up(service: Service) -> None:
    for _ in range(900):
        try:
            Client(service).send("GET", "/health/live", expect=200)
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
