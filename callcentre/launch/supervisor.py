"""The command behind `make run`: the whole service in one terminal.

It starts the stores, prepares the database by commands of manage.py, then starts `programs` and prints each line of
their output with the name of its process. A crashed process is started again, after a delay. Ctrl-C, SIGTERM or SIGHUP
stop all processes in order, the stores last. If the launcher itself is killed, its children end with it.
"""

import base64
import http.client
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, Any, TextIO

from callcentre.launch.children import bury, spawn
from callcentre.launch.embedded import Stores, default_var, end_on_signals, fail, sentence
from callcentre.launch.servers import StoreError, is_free, make_folder, remembered_secret, telemetry_folder

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]
# The longest one is short: calls wait for the dialler and the listener.
RESTART_DELAYS_SECONDS = (1, 2, 5)
# A process that has run this long has recovered; its next crash counts as the first.
WELL_AFTER_SECONDS = 60.0
TICK_SECONDS = 0.25
# Longer than CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT, after which a worker returns its tasks to the queue.
PATIENCE_SECONDS = 12.0


@dataclass(frozen=True)
class Program:
    """A process of the service: its name, and the arguments of Python."""

    name: str
    arguments: Sequence[str]
    # The signal that it gets if the launcher is killed.
    orphaned: signal.Signals = signal.SIGKILL


def programs(port: int) -> list[Program]:
    """Return the fewest processes that make up the service, by the commands of deploy/systemd.

    One web process and one worker suffice for one machine. The worker has threads for 24 slow receivers of webhooks,
    and as many for all else.
    """
    web = (
        "-m granian --interface asginl --http 1 --no-ws --workers 1 --respawn-failed-workers --no-access-log"
        f" --log-config deploy/granian-logging.json --host {HOST} --port {port} callcentre.asgi:application"
    )
    worker = (
        "-m celery --quiet -A callcentre worker --without-gossip --without-mingle -n worker@%h"
        " -Q calls,mail,webhooks,default,reports -P threads -c 48"
    )
    return [
        # Granian's main process ends its worker.
        Program("web", web.split(), orphaned=signal.SIGTERM),
        Program("worker", worker.split()),
        Program("listener", ("manage.py", "listen_to_switch")),
        Program("dialler", ("manage.py", "run_dialer")),
        Program("beat", ["-m", "celery", "--quiet", "-A", "callcentre", "beat", "--pidfile="]),
    ]


def run_python(arguments: Sequence[str], environment: Mapping[str, str], **options: Any) -> subprocess.Popen[bytes]:
    """Start Python in the root of the checkout, with a pipe for its output."""
    command = [sys.executable, *arguments]
    return spawn(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


@dataclass
class Child:
    """One program and its process, if it is running."""

    program: Program
    output: TextIO
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    crashes: int = 0

    def start(self, environment: Mapping[str, str]) -> None:
        self.started_at = time.monotonic()
        self.process = run_python(self.program.arguments, environment, orphaned=self.program.orphaned)
        self._reader = Thread(target=self._pass_on, args=[self.process.stdout], daemon=True)
        self._reader.start()

    def end(self) -> int:
        """Kill what is left of the process, print its last lines, and return its exit code."""
        assert self.process is not None
        code = bury(self.process)
        self._reader.join(timeout=1)
        self.process = None
        return code

    def say(self, line: str) -> None:
        say(f"{self.program.name:<9} | {line}", self.output)

    def _pass_on(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                self.say(line.decode(errors="replace").rstrip("\r\n"))


@dataclass
class Supervisor:
    """The parent that keeps the programs running until it is asked to stop."""

    stores: Stores
    programs: Sequence[Program]
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    # Printed once the web server answers.
    announcement: str = ""
    port: int = 0
    output: TextIO = sys.stdout

    def run(self) -> None:
        """Keep the programs running until a signal raises SystemExit (end_on_signals)."""
        self.children = [Child(program, self.output) for program in self.programs]
        try:
            while True:
                self._start_due()
                self._notice_ends()
                self._revive_stores()
                self._announce()
                time.sleep(TICK_SECONDS)
        except SystemExit:
            self._stop_all()

    def _start_due(self) -> None:
        for child in self.children:
            if child.process is None and time.monotonic() >= child.start_at:
                child.start(self.environment)

    def _notice_ends(self) -> None:
        for child in self.children:
            if child.process is None or child.process.poll() is None:
                continue
            code = child.end()
            now = time.monotonic()
            if now - child.started_at > WELL_AFTER_SECONDS:
                child.crashes = 0
            delay = RESTART_DELAYS_SECONDS[min(child.crashes, len(RESTART_DELAYS_SECONDS) - 1)]
            child.crashes += 1
            child.start_at = now + delay
            child.say(f"ended with {code}; starts again in {delay} s")

    def _revive_stores(self) -> None:
        try:
            for name in self.stores.revive():
                self._say("stores", f"{name} had ended and was started again")
        except StoreError as error:
            self._say("stores", f"{error} Trying again.")

    def _announce(self) -> None:
        """Print the address of the service once the web server answers."""
        if not self.announcement:
            return
        connection = http.client.HTTPConnection(HOST, self.port, timeout=1)
        try:
            connection.request("GET", "/health/live")
            connection.getresponse()
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()
        say(self.announcement, self.output)
        self.announcement = ""

    def _stop_all(self) -> None:
        """Ask all children to end, wait for the slowest, and kill what is left."""
        self._say("stopping", "running tasks get a few seconds to end; Ctrl-C again ends them now")
        running = [child for child in self.children if child.process]
        deadline = time.monotonic() + PATIENCE_SECONDS
        with suppress(SystemExit, subprocess.TimeoutExpired):
            for child in running:
                child.process.terminate()
            for child in running:
                child.process.wait(deadline - time.monotonic())
        for child in running:
            child.end()

    def _say(self, name: str, line: str) -> None:
        say(f"{name:<9} | {line}", self.output)


def service_environment(stores: Stores, port: int) -> dict[str, str]:
    """Return the variables for the children: given ones, else defaults for a demonstration on loopback."""
    defaults = {
        "DEBUG": "0",
        "ALLOWED_HOSTS": "localhost,127.0.0.1,[::1]",
        # Root was chosen on purpose, or there is no other account.
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
        # Plain HTTP is safe here, because it never leaves the machine.
        "SECURE_COOKIES": "0",
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    return {
        **{name: os.environ.get(name) or default for name, default in defaults.items()},
        **kept_secrets(stores.var / "secrets"),
        **stores.environment,
        "PORT": str(port),
        "PUBLIC_URL": os.environ.get("PUBLIC_URL") or f"http://localhost:{port}",
        "CALLCENTRE_VAR": str(stores.var),
        "PROMETHEUS_MULTIPROC_DIR": str(telemetry_folder(stores.var / "run" / "metrics")),
    }


def kept_secrets(folder: Path) -> dict[str, str]:
    """Return given keys, else keys made at the first start and kept in a folder. The settings read key files
    themselves.
    """
    folder.mkdir(exist_ok=True, mode=0o700)
    makers: dict[str, Callable[[], str]] = {
        "SECRET_KEY": lambda: secrets.token_urlsafe(64),
        "FIELD_ENCRYPTION_KEYS": lambda: base64.urlsafe_b64encode(os.urandom(32)).decode(),
    }
    return {
        name: os.environ.get(name) or remembered_secret(folder / name.lower(), make)
        for name, make in makers.items()
        if not os.environ.get(f"{name}_FILE")
    }


def output_of(name: str, process: subprocess.Popen[bytes]) -> str:
    """Wait for the end of a command of manage.py, and return its output."""
    output = process.communicate()[0].decode(errors="replace")
    if process.returncode != 0:
        raise StoreError(f"{output.rstrip()}\nmanage.py {name} failed: see above.")
    return output


def chosen_port() -> int:
    port = os.environ.get("PORT") or "8000"
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise StoreError(f"PORT is {port!r}, which is no port number.")
    if not is_free(int(port), HOST):
        raise StoreError(f"Port {port} of {HOST} is taken: choose another one, as in `PORT=8001 make run`.")
    return int(port)


def describe_mail_delivery(var: Path) -> str:
    """Describe where outgoing mail goes, for the announcement."""
    if host := os.environ.get("EMAIL_HOST", "").strip():
        return f"is sent, by {host}"
    return f"is not sent (no EMAIL_HOST): each is a file in {var / 'mail'}"


def say(line: str, output: TextIO = sys.stdout) -> None:
    # If the terminal is gone, SIGHUP follows and stops the service.
    with suppress(OSError):
        output.write(f"{line}\n")
        output.flush()


def describe(port: int, logins: str, mail: str) -> str:
    address = f"http://localhost:{port}"
    return (
        f"\n  The service is at {address}\n"
        f"  API:       {address}/api (documents: {address}/api/docs)\n"
        f"  Admin:     {address}/admin/\n"
        + "".join(f"  {line}\n" for line in logins.strip().splitlines())
        + f"  Mail:      {mail}\n"
        + "  Ctrl-C stops everything; the data stays.\n"
    )


def serve() -> None:
    port = chosen_port()
    # Logs, mail, recordings and files are readable for this user only.
    os.umask(0o077)
    with Stores(default_var()) as stores:
        for name in ("files", "mail"):
            make_folder(stores.var / name, 0o700)
            # An older folder may be open to others.
            (stores.var / name).chmod(0o700)
        own = service_environment(stores, port)
        stores.publish(own)
        environment = {**os.environ, **own}
        say("Preparing the database …")
        static_files = run_python(("manage.py", "collectstatic", "--no-input", "--verbosity=0"), environment)
        output_of("migrate", run_python(("manage.py", "migrate", "--no-input", "--verbosity=0"), environment))
        logins = output_of("demo", run_python(("manage.py", "demo"), environment))
        output_of("collectstatic", static_files)
        announcement = describe(port, logins, describe_mail_delivery(stores.var))
        try:
            Supervisor(stores, programs(port), environment, announcement, port).run()
        finally:
            shutil.rmtree(own["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)


def main() -> int:
    end_on_signals()
    try:
        serve()
    except StoreError as error:
        fail(error)
    except OSError as error:
        fail(StoreError(sentence(error, default_var())))
    return 0
