"""The stores of the trial, what runs before them, and the two hosts."""

import http.client
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import psycopg

from benchmarks.harness import ROOT
from callcentre.launch.children import spawn, stop
from callcentre.launch.embedded import Stores
from callcentre.launch.servers import choose_port, unprivileged_account
from callcentre.launch.supervisor import programs

POSTGRES = Path("/usr/lib/postgresql/15/bin")
NEEDED = {"pgbouncer": shutil.which("pgbouncer"), "nginx": shutil.which("nginx"), "PostgreSQL 15": POSTGRES.exists()}
HOSTS = ("127.0.0.2", "127.0.0.3")
# How far the replica may be behind.
LAG_SECONDS = 5
NOTHING: Mapping[str, str] = {}


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def wait(what: str, condition: Callable[[], Any], seconds: float = 100) -> float:
    """Wait for the condition. Return the seconds that it took."""
    started = time.monotonic()
    while True:
        with suppress(OSError, psycopg.Error, LookupError):
            if condition():
                return time.monotonic() - started
        if time.monotonic() - started > seconds:
            raise RuntimeError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


@dataclass
class Trial:
    """The stores and what runs beside them. Every process ends with the trial."""

    stack: ExitStack
    stores: Stores
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.stores.var

    def port(self, name: str) -> int:
        return choose_port(self.folder / "run" / f"{name}.port")

    def start(self, name: str, *command: Any, ending: signal.Signals = signal.SIGTERM, **options: Any) -> Any:
        log = (self.folder / "log" / f"{name}.log").open("ab")
        process = spawn(list(map(str, command)), stdout=log, stderr=log, **{"cwd": ROOT, **options})
        self.stack.callback(stop, process, ending)
        return process

    def connect(self, url: str = "") -> psycopg.Connection[Any]:
        connection = psycopg.connect(url or self.stores.environment["DATABASE_URL"], autocommit=True)
        self.stack.callback(connection.close)
        return connection


def answers(url: str) -> bool:
    with psycopg.connect(url):
        return True


def start_replica(trial: Trial) -> Any:
    """Copy the primary and follow it, as docs/operations.md says."""
    data, port = trial.folder / "postgres" / "replica", trial.port("replica")
    account = unprivileged_account(trial.folder / "postgres", POSTGRES / "postgres")
    if not data.exists():
        data.mkdir(mode=0o700)
        shutil.chown(data, account.get("user", os.geteuid()))
        copy: list[Any] = [POSTGRES / "pg_basebackup", "--pgdata", data, "--write-recovery-conf", "--checkpoint=fast"]
        copy += ["--dbname", trial.stores.environment["DATABASE_URL"]]
        if spawn(copy, cwd="/", **account).wait():
            raise RuntimeError("pg_basebackup failed")
    options = [f"--port={port}", "--listen_addresses=127.0.0.1", "--unix_socket_directories=", "--max_connections=200"]
    server = [POSTGRES / "postgres", "-D", data, *options, "--hot_standby_feedback=on"]
    process = trial.start("replica", *server, ending=signal.SIGINT, **{"cwd": "/", **account})
    url = re.sub(r":\d+/", f":{port}/", trial.stores.environment["DATABASE_URL"])
    wait("the replica answers", lambda: answers(url))
    trial.environment["DATABASE_REPLICA_URL"] = url
    return process


def start_pooler(trial: Trial) -> None:
    """Run PgBouncer with deploy/pgbouncer.ini."""
    parts, port = psycopg.conninfo.conninfo_to_dict(trial.stores.environment["DATABASE_URL"]), trial.port("pgbouncer")
    folder = trial.folder / "pgbouncer"
    folder.mkdir(mode=0o755)
    text = (ROOT / "deploy" / "pgbouncer.ini").read_text()
    text = text.replace("host=192.0.2.20 port=5432", f"host=127.0.0.1 port={parts['port']}")
    text = text.replace("listen_port = 6432", f"listen_port = {port}").replace("/etc/pgbouncer", str(folder))
    (folder / "pgbouncer.ini").write_text(text + "unix_socket_dir =\n")
    (folder / "userlist.txt").write_text(f'"{parts["user"]}" "{parts["password"]}"\n')
    account = unprivileged_account(folder, Path(str(NEEDED["pgbouncer"])))
    trial.start("pgbouncer", "pgbouncer", folder / "pgbouncer.ini", **{"cwd": "/", **account})
    direct = trial.stores.environment["DATABASE_URL"]
    trial.environment |= {
        "DATABASE_URL": re.sub(r":\d+/", f":{port}/", direct),
        "DATABASE_DIRECT_URL": direct,
        # 1.18 has no prepared statements.
        "DATABASE_PREPARE": "0",
    }
    wait("PgBouncer answers", lambda: answers(trial.environment["DATABASE_URL"]))


def start_bucket(trial: Trial) -> None:
    port, keys = trial.port("s3"), {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    trial.start("s3", sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port)
    address = f"http://127.0.0.1:{port}"
    client = boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys)
    wait("S3 answers", lambda: ask("127.0.0.1", port, "/", NOTHING))
    client.create_bucket(Bucket="callcentre")
    trial.environment |= {"S3_BUCKET": "callcentre", "S3_ENDPOINT": address, "S3_REGION": "us-east-1"}
    trial.environment |= {"S3_ACCESS_KEY": "key", "S3_SECRET_KEY": "secret"}


def start_proxy(trial: Trial, web_port: int) -> int:
    """Run nginx with deploy/nginx.conf, without TLS. Return its port."""
    port, folder = trial.port("nginx"), trial.folder / "nginx"
    folder.mkdir()
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    # The server that leads to HTTPS, TLS, and the limit of log-ins.
    text = re.sub(r"server \{\n    listen 80;.*?\n\}\n", "", text, flags=re.DOTALL)
    text = re.sub(r"    (ssl_\w+|listen \[::\]:443) .*;\n", "", text).replace("listen 443 ssl http2", f"listen {port}")
    servers = "".join(f"server {host}:{web_port} max_fails=1 fail_timeout=2s;" for host in HOSTS)
    text = re.sub(r"    server 127\.0\.0\.1:8000 .*;", f"    {servers}", text)
    text = text.replace("/var/log/nginx", str(folder)).replace("X-Forwarded-Proto $scheme", "X-Forwarded-Proto http")
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    head = f"daemon off; pid {folder}/pid; error_log {folder}/error.log; user root; events {{}}\n"
    (folder / "nginx.conf").write_text(f"{head}http {{ {paths} access_log off;\n{text}\n}}\n")
    trial.start("nginx", "nginx", "-c", folder / "nginx.conf", "-p", folder)
    return port


class Host:
    """A machine: its address, its data folder, and its processes."""

    def __init__(self, trial: Trial, address: str, port: int) -> None:
        self.address, self.port, self._trial = address, port, trial
        self.processes: dict[str, Any] = {}
        folder = trial.folder / address
        folder.mkdir()
        (folder / "metrics").mkdir()
        own = {"CALLCENTRE_VAR": str(folder), "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics")}
        self._environment = trial.environment | own
        (folder / "static").symlink_to(trial.folder / "static")
        commands = programs(port)
        self._commands = {name: commands[name] for name in ("worker", "listener", "dialler", "beat", "web")}
        self._commands["web"][self._commands["web"].index("--host") + 1] = address
        worker = self._commands["worker"]
        worker[worker.index("-n") + 1], worker[worker.index("-c") + 1] = f"worker@{address}", "24"

    def start(self, *names: str) -> None:
        for name in names or self._commands:
            command = [sys.executable, *self._commands[name]]
            self.processes[name] = self._trial.start(f"{self.address}-{name}", *command, env=self._environment)

    def wait_until_ready(self) -> float:
        return wait(f"{self.address} is ready", lambda: self.ask("/health/ready")[0] == 200)

    def ask(self, path: str, headers: Mapping[str, str] = NOTHING, *more: Any) -> tuple[int, bytes]:
        """Ask the web server of this host itself."""
        return ask(self.address, self.port, path, headers, *more)

    def restart(self) -> None:
        """Restart one process after another, workers first (docs/operations.md)."""
        for name, process in list(self.processes.items()):
            process.terminate()
            process.wait(40)
            self.start(name)
            if name == "web":
                self.wait_until_ready()
                # Until nginx asks it again.
                time.sleep(3)

    def kill(self) -> None:
        """End all processes at once, as a machine that loses its power does."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def ask(host: str, port: int, path: str, headers: Mapping[str, str], posted: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request("GET" if posted is None else "POST", path, posted, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
