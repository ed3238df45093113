"""The command behind `make run`: the whole service in one terminal.

It starts the stores, loads the service, runs migrations and the demonstration data, then forks the processes of
`programs` and prints each line of their output with the name of its process. A crashed process is forked again, with a
growing delay. Ctrl-C, SIGTERM or SIGHUP stop all processes in order, the stores last. If the launcher itself is killed,
its process guard ends the rest.
"""

import base64
import http.client
import os
import secrets
import selectors
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TextIO

from callcentre.launch import service
from callcentre.launch.embedded import Stores, default_var, end_on_signals, fail, sentence
from callcentre.launch.forked import Forked
from callcentre.launch.process_guard import ProcessGuard, ask, follow_parent
from callcentre.launch.servers import StoreError, is_free, make_folder, remembered_secret, telemetry_folder

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]
# The longest one is short: calls wait for the dialler and the listener.
RESTART_DELAYS_SECONDS = (1, 2, 5)
# A process that has run this long has recovered; its next crash counts as the first.
WELL_AFTER_SECONDS = 60.0
TICK_SECONDS = 0.25
WHILE_A_STORE_STARTS_SECONDS = 0.02
# Longer than CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT, after which a worker returns its tasks to the queue.
PATIENCE_SECONDS = 12.0


@dataclass(frozen=True)
class Program:
    """A process of the service: the arguments of Python, and the signals that end it, the gentlest first."""

    name: str
    arguments: tuple[str, ...]
    ending: tuple[signal.Signals, ...] = (signal.SIGTERM,)

    def run(self) -> None:
        """Run the program in this process, which was forked for it."""
        service.run(self.name, self.arguments)


def programs(port: int) -> list[Program]:
    worker = "-m celery --quiet -A callcentre worker --without-gossip --without-mingle"
    web = (
        "-m granian --interface asginl --http 1 --no-ws --workers 2 --respawn-failed-workers --no-access-log"
        " --log-config deploy/granian-logging.json"
    )
    # SIGTERM lets running tasks end. SIGQUIT returns long tasks to the queue, which threads cannot do.
    give_back = (signal.SIGTERM, signal.SIGQUIT)
    return [
        _program("web", f"{web} --host {HOST} --port {port} callcentre.asgi:application"),
        _program("threads", f"{worker} -n threads@%h -Q calls -P threads -c 16"),
        # Separate from calls and webhooks, because strangers can send any number of mails.
        _program("mail", f"{worker} -n mail@%h -Q mail -P threads -c 8"),
        # Separate from calls, because slow receivers or a hundred thousand deliveries must not delay them.
        _program("webhooks", f"{worker} -n webhooks@%h -Q webhooks -P threads -c 32"),
        _program("processes", f"{worker} -n processes@%h -Q default,reports -P prefork -c 3", *give_back),
        _program("listener", "manage.py listen_to_switch"),
        _program("dialler", "manage.py run_dialer"),
        _program("beat", "-m celery --quiet -A callcentre beat --pidfile="),
    ]


def _program(name: str, arguments: str, *ending: signal.Signals) -> Program:
    return Program(name, tuple(arguments.split()), ending or (signal.SIGTERM,))


@dataclass
class Child:
    """One program and its process, if it is running."""

    program: Program
    process: Forked | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    crashes: int = 0
    unfinished_line: bytes = b""


class _StoppedError(Exception):
    """A request to stop that came while a store starts."""


@dataclass
class Supervisor:
    """The parent that keeps the programs running until it is asked to stop."""

    stores: Stores
    programs: Sequence[Program]
    announcement: Callable[[], str] | None = None
    # Whether the data is there: the web server and the announcement wait for it.
    is_complete: Callable[[], bool] = lambda: True
    port: int = 0
    output: TextIO = sys.stdout
    stop_requests: int = 0
    children: list[Child] = field(default_factory=list)

    def run(self) -> None:
        self._selector = selectors.DefaultSelector()
        wake_reader, wake_writer = socket.socketpair()
        wake_reader.setblocking(False)
        wake_writer.setblocking(False)
        # A signal makes the selector return at once.
        signal.set_wakeup_fd(wake_writer.fileno())
        self._selector.register(wake_reader, selectors.EVENT_READ)
        self._wake_reader = wake_reader
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._request_stop)
        self.children = [Child(program) for program in self.programs]
        while not self.stop_requests:
            self._start_due()
            self._read_output()
            self._notice_ends()
            self._revive_stores()
            self._announce()
        self._stop_all()

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stop_requests += 1

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in self.children:
            if child.program.name == "web" and not self.is_complete():
                continue
            if child.process is None and now >= child.start_at:
                child.started_at = now
                child.process = Forked(self._guard, child.program.run, *child.program.ending)
                self._selector.register(child.process.stdout, selectors.EVENT_READ, child)

    def _read_output(self, seconds: float = TICK_SECONDS) -> None:
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                self._wake_reader.recv(512)
            else:
                self._pass_on(key.data)

    def _pass_on(self, child: Child) -> None:
        """Print the complete lines that a child has written, and keep the beginning of the next."""
        assert child.process is not None
        written = os.read(child.process.stdout.fileno(), 65536)
        if not written:
            self._selector.unregister(child.process.stdout)
        *lines, child.unfinished_line = (child.unfinished_line + written).split(b"\n")
        if not written and child.unfinished_line:
            lines.append(child.unfinished_line)
            child.unfinished_line = b""
        for line in lines:
            self._print(child.program.name, line.decode(errors="replace"))

    def _notice_ends(self) -> None:
        now = time.monotonic()
        for child in self.children:
            if child.process is None or child.process.poll() is None:
                continue
            code = self._bury(child)
            if now - child.started_at > WELL_AFTER_SECONDS:
                child.crashes = 0
            delay = RESTART_DELAYS_SECONDS[min(child.crashes, len(RESTART_DELAYS_SECONDS) - 1)]
            child.crashes += 1
            child.start_at = now + delay
            self._print(child.program.name, f"ended with {code}; starts again in {delay} s")

    def _revive_stores(self) -> None:
        try:
            revived = self.stores.revive(self._attend)
        except _StoppedError:
            return
        except StoreError as error:
            self._print("stores", f"{error} Trying again.")
            return
        for name in revived:
            self._print("stores", f"{name} had ended and was started again")

    def _attend(self) -> None:
        """Read output while a store starts: a child whose output is not read stops at its next log line.

        A child that ends meanwhile is restarted once the stores are running.
        """
        if self.stop_requests:
            raise _StoppedError
        self._read_output(WHILE_A_STORE_STARTS_SECONDS)
        self._notice_ends()

    def _announce(self) -> None:
        """Print the address of the service once the web server answers and the demonstration data is complete."""
        if not self.announcement or not self.is_complete():
            return
        connection = http.client.HTTPConnection(HOST, self.port, timeout=1)
        try:
            connection.request("GET", "/health/live")
            connection.getresponse()
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()
        say(self.announcement(), self.output)
        self.announcement = None

    def _stop_all(self) -> None:
        """Ask all children to end, print their output until the slowest has ended, then kill the rest."""
        self._print("stopping", "running tasks get a few seconds to end; Ctrl-C again ends them now")
        asked_at = time.monotonic()
        asked = 0
        while running := [child for child in self.children if child.process]:
            turn = int((time.monotonic() - asked_at) / PATIENCE_SECONDS)
            for child in running:
                if child.process is None:
                    continue
                is_over = turn >= len(child.program.ending) or self.stop_requests > 1
                if child.process.poll() is not None or is_over:
                    self._bury(child)
                elif asked <= turn:
                    ask(child.process, child.program.ending[turn])
            asked = turn + 1
            self._read_output()

    def _bury(self, child: Child) -> int:
        assert child.process is not None
        process, pipe = child.process, child.process.stdout
        self._guard.bury(process)
        while pipe in (key.fileobj for key in self._selector.get_map().values()):
            self._pass_on(child)
        pipe.close()
        child.process = None
        return process.wait()

    @property
    def _guard(self) -> ProcessGuard:
        return self.stores.guard

    def _print(self, name: str, line: str) -> None:
        say(f"{name:<9} | {line}", self.output)


def service_environment(stores: Stores, port: int) -> dict[str, str]:
    """Return the variables for the children: given ones, else defaults for a demonstration on loopback."""
    defaults = {
        "DEBUG": "0",
        "ALLOWED_HOSTS": "localhost,127.0.0.1,[::1]",
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


class Preparation:
    """A management command that runs in parallel until its output is asked for."""

    def __init__(self, stores: Stores, name: str, run: Callable[[], object]) -> None:
        self._guard = stores.guard
        self._name = name
        self._process = Forked(self._guard, run, signal.SIGTERM)

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def output(self) -> str:
        """Wait for the end, and return the output."""
        try:
            with self._process.stdout as pipe:
                output = pipe.read().decode(errors="replace")
            code = self._process.wait()
        finally:
            self._guard.stop(self._process, signal.SIGTERM)
        if code != 0:
            raise StoreError(f"{output.rstrip()}\nmanage.py {self._name} failed: see above.")
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
    with Stores(default_var(), meanwhile=service.load_libraries) as stores:
        for name in ("files", "mail"):
            make_folder(stores.var / name, 0o700)
            # An older folder may be open to others.
            (stores.var / name).chmod(0o700)
        own = service_environment(stores, port)
        stores.publish(own)
        os.environ.update(own)
        say("Preparing the database …")
        service.load()
        static_files = Preparation(stores, "collectstatic", service.collect_static_files)
        Preparation(stores, "migrate", service.migrate).output()
        static_files.output()
        # The other processes start meanwhile.
        logins = Preparation(stores, "demo", service.add_demonstration_data)

        def announcement() -> str:
            return describe(port, logins.output(), describe_mail_delivery(stores.var))

        try:
            Supervisor(stores, programs(port), announcement, lambda: logins.is_over, port).run()
        finally:
            shutil.rmtree(own["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)


def main() -> int:
    end_on_signals()
    follow_parent()
    try:
        serve()
    except StoreError as error:
        fail(error)
    except OSError as error:
        fail(StoreError(sentence(error, default_var())))
    except KeyboardInterrupt:
        return 130
    return 0
