"""PostgreSQL and Valkey as children of the launcher, if no DATABASE_URL and REDIS_URL are given.

`make run` keeps their data in `var`; the tests and `python -m callcentre.embedded exec -- COMMAND` in a temporary
folder. While they run, `var/run/stores.json` holds their addresses.
"""

import argparse
import errno
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

from callcentre.launch.postgres import Postgres, programs_for
from callcentre.launch.process_guard import ProcessGuard, follow_parent
from callcentre.launch.servers import Server, StoreError, make_folder, short_pause, write_private
from callcentre.launch.valkey import Valkey

# The longest time that the process guard needs to end the children of a killed launcher.
LEFTOVERS_GONE_WITHIN_SECONDS = 20.0


def default_var() -> Path:
    """Return the data folder: CALLCENTRE_VAR, else `var` beside manage.py."""
    named = os.environ.get("CALLCENTRE_VAR", "").strip()
    return Path(named or Path(__file__).parents[2] / "var").resolve()


def read_stores(var: Path) -> dict[str, str] | None:
    """Return `database_url` and `redis_url` of the stores that run in this data folder; None without a launcher."""
    running = _read(var)
    return running and {name: running[name] for name in ("database_url", "redis_url")}


def read_environment(var: Path) -> dict[str, str]:
    """Return the variables that `make run` gave its processes, for a command in another terminal; {} without one."""
    environment: dict[str, str] = (_read(var) or {}).get("environment", {})
    return environment


def _read(var: Path) -> dict[str, Any] | None:
    """Read the file of a living launcher.

    The file of a killed launcher names a process that is gone, or whose number another process has now.
    """
    try:
        stored: dict[str, Any] = json.loads((var / "run" / "stores.json").read_text())
        launcher = stored["launcher"]
        return stored if launcher == _process_identity(launcher["pid"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Stores:
    """The two stores of one data folder, as a context. `guard` may start further children."""

    guard: ProcessGuard

    def __init__(
        self,
        var: Path,
        *,
        durable: bool = True,
        temporary: bool = False,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """`durable` stores lose nothing in a crash. `temporary` ones are deleted with their folder.

        `meanwhile` is called while the cluster of PostgreSQL is made.
        """
        self.var = var.absolute()
        self._durable = durable
        self._temporary = temporary
        self._meanwhile = meanwhile
        self._file = self.var / "run" / "stores.json"
        self._lock = -1
        self._servers: dict[str, Server] = {}
        self._published: dict[str, str] = {}
        self._given = {
            "database_url": _given("DATABASE_URL"),
            "redis_url": _given("REDIS_URL"),
        }

    @property
    def database_url(self) -> str:
        return self._url("database_url")

    @property
    def redis_url(self) -> str:
        return self._url("redis_url")

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables for the children."""
        return {"DATABASE_URL": self.database_url, "REDIS_URL": self.redis_url}

    def __enter__(self) -> Self:
        try:
            self._make_folders()
            self._lock = _lock(self.var)
        except OSError as error:
            raise StoreError(sentence(error, self.var)) from error
        self.guard = ProcessGuard(holding=[self._lock])
        if self._temporary:
            self.guard.remove_at_the_end(self.var)
        try:
            self._start()
        except OSError as error:
            self._stop()
            raise StoreError(sentence(error, self.var)) from error
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def revive(self, wait: Callable[[], None] = short_pause) -> list[str]:
        """Restart stores that have ended, and return their names. `wait` is called until they answer."""
        revived = [server.name for server in self._servers.values() if server.revive(wait)]
        if revived:
            self._write()
        return revived

    def publish(self, environment: dict[str, str]) -> None:
        """Let commands in other terminals use the environment of the service."""
        self._published = environment
        self._write()

    def _make_folders(self) -> None:
        # Root's stores run as an unprivileged account, which must pass through the folder but need not read it.
        make_folder(self.var, 0o711 if os.geteuid() == 0 else 0o700)
        for name in ("run", "log"):
            make_folder(self.var / name, 0o700)

    def _start(self) -> None:
        if not self._given["database_url"]:
            self._servers["database_url"] = Postgres(
                self.var, self.guard, durable=self._durable, meanwhile=self._meanwhile
            )
        if not self._given["redis_url"]:
            self._servers["redis_url"] = Valkey(self.var, self.guard, durable=self._durable)
        for server in self._servers.values():
            server.start()
        self._write()

    def _write(self) -> None:
        stored = {
            "launcher": _process_identity(os.getpid()),
            "database_url": self.database_url,
            "redis_url": self.redis_url,
            "environment": self._published,
        }
        write_private(self._file, json.dumps(stored))

    def _stop(self) -> None:
        self._file.unlink(missing_ok=True)
        for server in reversed(self._servers.values()):
            server.stop()
        self.guard.close()
        os.close(self._lock)

    def _url(self, name: str) -> str:
        return self._given[name] or self._servers[name].url


@contextmanager
def temporary_stores(*, durable: bool = False) -> Iterator[Stores]:
    """Run stores in a folder that is deleted with them, even if the launcher is killed."""
    folder = Path(tempfile.mkdtemp(prefix="callcentre-"))
    try:
        if os.geteuid() == 0:
            folder.chmod(0o711)
        with Stores(folder, durable=durable, temporary=True) as stores:
            yield stores
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _given(name: str) -> str:
    """Return a variable, or the content of the file named by its `_FILE`, as the settings do."""
    file = os.environ.get(f"{name}_FILE")
    return os.environ.get(name) or (Path(file).read_text().strip() if file else "")


def _process_identity(pid: int) -> dict[str, int] | None:
    """Return the start time of a process, since its number can be used again; None for a dead process."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    after_name = line.rpartition(")")[2].split()
    if after_name[0] == "Z":
        return None
    return {"pid": pid, "started": int(after_name[19])}


def _lock(var: Path) -> int:
    """Lock the data folder for this launcher. Its process guard holds the lock until all children have ended."""
    handle = os.open(var / "run" / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LEFTOVERS_GONE_WITHIN_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode().strip()
            alive = holder.isdigit() and _process_identity(int(holder)) is not None
            if alive or time.monotonic() > deadline:
                os.close(handle)
                raise StoreError(
                    f"This checkout is running already, as process {holder}: its data is in {var}."
                ) from None
            time.sleep(0.1)
    os.truncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle


def sentence(error: OSError, var: Path) -> str:
    """Describe the fault of the data folder for the person at the terminal."""
    if error.errno == errno.ENOSPC:
        return f"No space left on the disk of {var}."
    return f"The data folder {var} cannot be used: {error.strerror} ({error.filename})."


def fail(error: StoreError) -> NoReturn:
    sys.stderr.write(f"{error}\n")
    raise SystemExit(1)


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP unwind the launcher as Ctrl-C does, so that all children are stopped."""

    def unwind(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, unwind)
    signal.signal(signal.SIGHUP, unwind)


def run_with(stores: Stores, command: list[str]) -> int:
    """Run a command with these stores, and PostgreSQL's own tools, in its environment; return its exit code."""
    process = stores.guard.spawn(command, env=_command_environment(stores.var, stores.environment), stdin=sys.stdin)
    try:
        code = process.wait()
    finally:
        stores.guard.stop(process, signal.SIGTERM)
    return code if code >= 0 else 128 - code


def run_with_kept(var: Path, command: list[str]) -> int:
    """Run a command with the stores of `make run`, which are started if they do not run."""
    if running := read_stores(var):
        urls = {name.upper(): url for name, url in running.items()}
        os.execvpe(command[0], command, _command_environment(var, urls))  # noqa: S606  the operator's command
    with Stores(var) as stores:
        return run_with(stores, command)


def _command_environment(var: Path, urls: Mapping[str, str]) -> dict[str, str]:
    tools = [] if _given("DATABASE_URL") else [str(programs_for(var / "postgres" / "data"))]
    return {**os.environ, **urls, "PATH": os.pathsep.join([*tools, os.environ.get("PATH", os.defpath)])}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m callcentre.embedded", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    execute = actions.add_parser("exec", help="run a command with temporary stores")
    execute.add_argument("--durable", action="store_true", help="settings as `make run` has them")
    execute.add_argument("--kept", action="store_true", help="the stores of `make run` and their data instead")
    execute.add_argument("command", nargs="+", help="after `--`")
    arguments = parser.parse_args()
    end_on_signals()
    follow_parent()
    try:
        if arguments.kept:
            return run_with_kept(default_var(), arguments.command)
        with temporary_stores(durable=arguments.durable) as stores:
            return run_with(stores, arguments.command)
    except FileNotFoundError as error:
        fail(StoreError(f"There is no such command: {error.filename}."))
    except StoreError as error:
        fail(error)
    except KeyboardInterrupt:
        return 130
