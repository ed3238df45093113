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
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any

from callcentre.launch.children import bury, spawn
from callcentre.launch.embedded import Stores, default_var, end_on_signals, sentence
from callcentre.launch.servers import StoreError, is_free, make_folder, remembered_secret, telemetry_folder

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]
# The longest one is short: calls wait for the dialler and the listener.
RESTART_DELAYS_SECONDS = (1, 2, 5)
# A process that has run this long has recovered; its next crash counts as the first.
WELL_AFTER_SECONDS = 60.0
TICK_SECONDS = 0.25
# The web server and the worker have the processors alone until the web server answers, but no longer than this.
HEAD_START_SECONDS = 20.0
# Longer than CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT, after which a worker returns its tasks to the queue.
PATIENCE_SECONDS = 12.0
# An idle thread of the worker keeps no connection to PostgreSQL: eight of them had 150 MB.
OWN = {"worker": {"DATABASE_CONN_MAX_AGE": "0"}}


def programs(port: int) -> dict[str, list[str]]:
    """Return the arguments of Python for the fewest processes that make up the service.

    The worker has threads for the 24 receivers of webhooks that may be slow, and as many for all else. It reads
    mailboxes once a minute, in place of a process that keeps connections to them.
    """
    commands = {
        "web": "-m granian --interface asginl --http 1 --no-ws --workers 1 --respawn-failed-workers --no-access-log"
        " --workers-kill-timeout 10 --log-config deploy/granian-logging.json"
        f" --host {HOST} --port {port} callcentre.asgi:application",
        "worker": "-m celery --quiet -A callcentre worker --without-gossip --without-mingle -n worker@%h"
        " -Q calls,mail,webhooks,default,reports -P threads -c 48",
        "listener": "manage.py listen_to_switch",
        "dialler": "manage.py run_dialer",
        "beat": "-m celery --quiet -A callcentre beat --pidfile=",
    }
    return {name: command.split() for name, command in commands.items()}


def run_python(arguments: Sequence[str], environment: Mapping[str, str], **options: Any) -> subprocess.Popen[bytes]:
    """Start Python in the root of the checkout, with a pipe for its output."""
    command = [sys.executable, *arguments]
    return spawn(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


class Child:
    """A program, and its process if it is running."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self._arguments, self._environment = arguments, environment
        self._started_at = self._start_at = 0.0
        self._crashes = 0

    def attend(self) -> None:
        """Start the process when it is due. Notice that it has ended."""
        now = time.monotonic()
        if self.process is None and now >= self._start_at:
            self.process = run_python(self._arguments, self._environment)
            self._started_at = now
            self._reader = Thread(target=self._print, args=[self.process.stdout], daemon=True)
            self._reader.start()
        elif self.process and self.process.poll() is not None:
            code = self.end()
            if now - self._started_at > WELL_AFTER_SECONDS:
                self._crashes = 0
            delay = RESTART_DELAYS_SECONDS[min(self._crashes, len(RESTART_DELAYS_SECONDS) - 1)]
            self._crashes += 1
            self._start_at = now + delay
            say(self.name, f"ended with {code}; starts again in {delay} s")

    def end(self) -> int:
        """Kill what is left of the process, print its last lines, and return its exit code."""
        assert self.process is not None
        code = bury(self.process)
        self._reader.join(timeout=1)
        self.process = None
        return code

    def _print(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                say(self.name, line.decode(errors="replace").rstrip("\r\n"))


def supervise(
    stores: Stores, programs: Mapping[str, Sequence[str]], environment: Mapping[str, str], answers: Event | None = None
) -> None:
    """Keep stores and programs running until a signal raises SystemExit. Two of them start before `answers` is set."""
    children = [Child(name, arguments, {**environment, **OWN.get(name, {})}) for name, arguments in programs.items()]
    alone_until = time.monotonic() + HEAD_START_SECONDS
    try:
        while True:
            is_alone = answers is not None and not answers.is_set() and time.monotonic() < alone_until
            for child in children[:2] if is_alone else children:
                child.attend()
            try:
                for name in stores.revive():
                    say("stores", f"{name} had ended and was started again")
            except StoreError as error:
                say("stores", f"{error} Trying again.")
            time.sleep(TICK_SECONDS)
    except SystemExit:
        stop_all(children)


def stop_all(children: Iterable[Child]) -> None:
    """Ask all children to end, wait for the slowest, and kill what is left."""
    say("stopping", "running tasks get a few seconds to end; Ctrl-C again ends them now")
    running = {child: child.process for child in children if child.process}
    deadline = time.monotonic() + PATIENCE_SECONDS
    with suppress(SystemExit, subprocess.TimeoutExpired):
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(deadline - time.monotonic())
    for child in running:
        child.end()


def announce(port: int, lines: Iterable[str], answers: Event) -> None:
    """Set the event and print the lines once the web server answers."""
    while True:
        connection = http.client.HTTPConnection(HOST, port, timeout=1)
        with suppress(OSError, http.client.HTTPException), closing(connection):
            connection.request("GET", "/health/live")
            connection.getresponse()
            answers.set()
            return write("\n" + "".join(f"  {line}\n" for line in lines))
        time.sleep(TICK_SECONDS)


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
        "PUBLIC_URL": os.environ.get("PUBLIC_URL") or f"http://localhost:{port}",
        "CALLCENTRE_VAR": str(stores.var),
        "PROMETHEUS_MULTIPROC_DIR": str(telemetry_folder(stores.var / "run" / "metrics")),
    }


def kept_secrets(folder: Path) -> dict[str, str]:
    """Return given keys, else keys made at the first start and kept in a folder. The settings read files of keys."""
    folder.mkdir(exist_ok=True, mode=0o700)
    makers = {
        "SECRET_KEY": lambda: secrets.token_urlsafe(64),
        "FIELD_ENCRYPTION_KEYS": lambda: base64.urlsafe_b64encode(os.urandom(32)).decode(),
    }
    return {
        name: os.environ.get(name) or remembered_secret(folder / name.lower(), make)
        for name, make in makers.items()
        if not os.environ.get(f"{name}_FILE")
    }


def output_of(process: subprocess.Popen[bytes], name: str) -> str:
    """Wait for the end of a command of manage.py, and return its output."""
    output = process.communicate()[0].decode(errors="replace").strip()
    if process.returncode != 0:
        raise StoreError(f"{output}\nmanage.py {name} failed: see above.")
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


def say(name: str, line: str) -> None:
    write(f"{name:<9} | {line}")


def write(text: str) -> None:
    # If the terminal is gone, SIGHUP follows and stops the service.
    with suppress(OSError):
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def serve() -> None:
    port = chosen_port()
    # Logs, mail, recordings and files are readable for this user only.
    os.umask(0o077)
    with Stores(default_var()) as stores:
        for name in ("files", "mail"):
            make_folder(stores.var / name, 0o700)
        own = service_environment(stores, port)
        stores.publish(own)
        environment = {**os.environ, **own}
        write("Preparing the database …")
        collect = run_python(["manage.py", "collectstatic", "--no-input", "--verbosity=0"], environment)
        # One process: a start of Django takes a second.
        logins = output_of(run_python(["manage.py", "demo", "--migrate"], environment), "demo --migrate")
        output_of(collect, "collectstatic")
        address = f"http://localhost:{port}"
        lines = [
            f"The service is at {address}",
            f"API:       {address}/api (documents: {address}/api/docs)",
            f"Admin:     {address}/admin/",
            *logins.splitlines(),
            f"Mail:      {describe_mail_delivery(stores.var)}",
            "Ctrl-C stops everything; the data stays.",
        ]
        answers = Event()
        Thread(target=announce, args=[port, lines, answers], daemon=True).start()
        try:
            supervise(stores, programs(port), environment, answers)
        finally:
            shutil.rmtree(own["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)


def main() -> int:
    end_on_signals()
    try:
        serve()
    except StoreError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(sentence(error, default_var()))
    return 0
