"""How the embedded PostgreSQL and Valkey are found, prepared and run.

The programs come from the wheels of requirements.lock, else from the system. Both listen on 127.0.0.1 only, with a
random password, and run as children of the launcher.
"""

import errno
import json
import os
import pwd
import random
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from callcentre.launch.process_guard import Account, ProcessGuard

READY_WITHIN_SECONDS = 300.0
LOG_KEPT_BYTES = 10_000_000
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (mkdtemp makes a folder of our own in it)
# Below the range of ports for outgoing connections.
PORT_RANGE = range(15_000, 32_768)
DATABASE = ROLE = "callcentre"
# The account of the stores of root.
UNPRIVILEGED = "nobody"

POSTGRES_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    # Without wal_compression: for half the log it doubles the time of the first writes after a checkpoint.
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "autovacuum": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Statements and their details contain phone numbers and addresses, so they are not logged.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
# For temporary stores: no data must survive, so no write waits for the disk.
THROWAWAY_POSTGRES_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "128MB",
}


class StoreError(Exception):
    """A failure in one sentence for the person at the terminal."""


class _PortTakenError(Exception):
    pass


class Ports:
    """Return free ports, remembered in a file so that a store keeps its port between starts."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def choose(self, name: str) -> int:
        ports = self._read()
        if not is_free(ports.get(name, 0)):
            ports[name] = next(port for port in _candidates() if is_free(port))
            write_private(self._file, json.dumps(ports))
        return ports[name]

    def _read(self) -> dict[str, int]:
        try:
            stored = json.loads(self._file.read_text())
            return {str(name): int(port) for name, port in stored.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether the port is free; 0 is no port."""
    if port == 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((host, port))
            attempt.listen(1)
        except OSError as error:
            if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                return False
            raise
    return True


def _candidates() -> Iterator[int]:
    return iter(random.sample(PORT_RANGE, 500))


def make_folder(folder: Path, mode: int) -> None:
    """Make a folder with exactly these permissions, without the umask, unless it exists."""
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(mode)


def telemetry_folder(link: Path) -> Path:
    """Return a new folder in shared memory, if the machine has it. Remove the former one, to which the link leads.

    Processes map files of this folder. If it were on a disk that is full, the system would end each of them.
    """
    former = link.resolve()
    if link.is_symlink():
        link.unlink()
    shutil.rmtree(former, ignore_errors=True)
    if not os.access(SHARED_MEMORY, os.W_OK):
        link.mkdir()
        return link
    folder = Path(tempfile.mkdtemp(prefix="callcentre-", dir=SHARED_MEMORY))
    link.symlink_to(folder)
    return folder


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner may read, completely or not at all."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(file)


def remembered_secret(file: Path, make: Callable[[], str]) -> str:
    """Return the secret in a file; make it the first time."""
    if not file.exists():
        write_private(file, make())
    return file.read_text().strip()


def unprivileged_account(folder: Path, *programs: Path) -> Account:
    """Return the account for the stores: PostgreSQL refuses root.

    Root becomes UNPRIVILEGED if that account may enter the folders. Otherwise root stays in a user namespace of its
    own, under that name. No permission is widened for either.
    """
    if os.geteuid() != 0:
        return Account()
    try:
        account = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise StoreError(f"The stores cannot run as root, and there is no account `{UNPRIVILEGED}`.") from None
    if _may_enter(folder, *programs) and _can_become(account):
        return Account(uid=account.pw_uid, gid=account.pw_gid)
    prefix = ("unshare", "--user", f"--map-user={account.pw_uid}", f"--map-group={account.pw_gid}")
    if shutil.which("unshare") and _succeeds(*prefix, "true"):
        return Account(prefix=prefix)
    raise StoreError(
        f"The stores cannot run as root, and the account `{UNPRIVILEGED}` may not enter {folder} "
        "or the programs: run as an ordinary user, move the checkout to a folder that others may "
        "enter, or set DATABASE_URL and REDIS_URL."
    )


def _may_enter(*paths: Path) -> bool:
    resolved = [path.resolve() for path in paths]
    return all(step.stat().st_mode & 0o001 for path in resolved for step in (path, *path.parents))


def _can_become(account: pwd.struct_passwd) -> bool:
    try:
        subprocess.run(["/bin/true"], check=True, user=account.pw_uid, group=account.pw_gid, extra_groups=[])
    except OSError:
        return False
    return True


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0  # noqa: S603  our own


def short_pause() -> None:
    time.sleep(0.02)


class Server:
    """One store: a folder, a password, a port, a log and a process."""

    name: str
    key: str
    ending: tuple[signal.Signals, ...] = (signal.SIGTERM,)

    def __init__(self, var: Path, guard: ProcessGuard, *, durable: bool) -> None:
        self.folder = var / self.key
        self.log = var / "log" / f"{self.key}.log"
        self.durable = durable
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._guard = guard
        self._ports = Ports(var / "run" / "ports.json")
        self._account = Account()
        self._password = ""
        # As the launcher got it: later it has keys of the service, which no store needs.
        self._environment = dict(os.environ)

    @property
    def url(self) -> str:
        raise NotImplementedError

    def start(self, wait: Callable[[], None] = short_pause) -> None:
        """Start and call `wait` until the store answers. Choose another port if a program has taken it."""
        self._prepare()
        for _ in range(5):
            self.port = self._ports.choose(self.key)
            self._rotate_log()
            with self.log.open("ab") as log:
                log_start = log.tell()
                self.process = self._launch(log.fileno())
            try:
                self._await_ready(self.process, log_start, wait)
            except _PortTakenError:
                continue
            return
        raise StoreError(f"{self.name} found no free port on 127.0.0.1.")

    def stop(self) -> None:
        if self.process:
            self._guard.stop(self.process, *self.ending, patience_seconds=30)
            self.process = None

    def revive(self, wait: Callable[[], None] = short_pause) -> bool:
        """Restart the store if it has ended; return whether it had."""
        if self.process:
            if self.process.poll() is None:
                return False
            self._guard.bury(self.process)
            self.process = None
        self.start(wait)
        return True

    def _prepare(self) -> None:
        raise NotImplementedError

    def _launch(self, log: int) -> subprocess.Popen[bytes]:
        raise NotImplementedError

    def _answers(self) -> bool:
        raise NotImplementedError

    def _await_ready(self, process: subprocess.Popen[bytes], log_start: int, wait: Callable[[], None]) -> None:
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                self._guard.bury(process)
                self.process = None
                if not is_free(self.port):
                    raise _PortTakenError
                raise StoreError(self._failure(self._logged_since(log_start)))
            if self._answers():
                return
            wait()
        raise StoreError(f"{self.name} does not answer; its log is {self.log}.")

    def _failure(self, output: str) -> str:
        # On a full disk the log may end before these words.
        is_full = shutil.disk_usage(self.folder).free < 2_000_000
        if is_full or re.search("No space left on device|Check free disk space", output):
            return f"{self.name} cannot start: no space left on the disk of {self.folder}."
        lines = [line for line in output.splitlines() if line.strip()]
        wrong = [line for line in lines if re.search(r"FATAL|PANIC|rror|[Cc]an't", line)]
        reason = (wrong or lines or ["it said nothing"])[-1].strip()
        return f"{self.name} cannot start: {reason} (its log is {self.log})."

    def _logged_since(self, position: int) -> str:
        with self.log.open("rb") as log:
            log.seek(position)
            return log.read().decode(errors="replace")

    def _rotate_log(self) -> None:
        if self.log.exists() and self.log.stat().st_size > LOG_KEPT_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))

    def _own(self, folder: Path) -> None:
        """Give a folder to the account that uses it; before, it may have belonged to another."""
        if os.geteuid() != 0:
            return
        uid, gid = self._account.uid or 0, self._account.gid or 0
        if folder.stat().st_uid == uid:
            return
        for path in (folder, *folder.rglob("*")):
            os.chown(path, uid, gid, follow_symlinks=False)


def more_settings(variable: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return settings from the environment, as in EMBEDDED_POSTGRES_SETTINGS='work_mem=64MB jit=on'."""
    pairs = [word.partition("=") for word in shlex.split(environ.get(variable, ""))]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise StoreError(f"{variable} wants name=value pairs; this is none: {wrong[0]}.")
    return {name: value for name, _, value in pairs}


def wheel_folder(package: str) -> Path | None:
    """Return the folder of a package without importing it: importing these two has side effects."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def new_password() -> str:
    return secrets.token_urlsafe(24)
