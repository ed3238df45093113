"""How the embedded PostgreSQL and Valkey are found, prepared and run.

The programs come from the wheels of requirements.lock, else from the system. Both listen on 127.0.0.1 only, with a
random password, and run as children of the launcher.
"""

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
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from callcentre.launch.children import spawn, stop

READY_WITHIN_SECONDS = 300.0
LOG_KEPT_BYTES = 10_000_000
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  (mkdtemp makes a folder of our own in it)
# Below the range of ports for outgoing connections.
PORT_RANGE = range(15_000, 32_768)
UNPRIVILEGED = "nobody"


class StoreError(Exception):
    """A failure in one sentence for the person at the terminal."""


def choose_port(file: Path) -> int:
    """Return the port that a file remembers, or a new one if a program has taken it."""
    kept = file.read_text() if file.exists() else ""
    if kept.isdecimal() and is_free(int(kept)):
        return int(kept)
    port = next(port for port in random.sample(PORT_RANGE, 500) if is_free(port))
    write_private(file, str(port))
    return port


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a program can listen at this port."""
    try:
        socket.create_server((host, port)).close()
    except OSError:
        return False
    return True


def make_folder(folder: Path, mode: int) -> None:
    """Make a folder with exactly these permissions, without the umask, unless it exists."""
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(mode)


def telemetry_folder(link: Path) -> Path:
    """Return a new folder in shared memory, if the machine has it. Remove the former one, to which the link leads.

    Processes map files of this folder. If it were on a disk that is full, the system would end each of them.
    """
    shutil.rmtree(link.resolve(), ignore_errors=True)
    link.unlink(missing_ok=True)
    memory = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else link.parent
    link.symlink_to(tempfile.mkdtemp(prefix="callcentre-", dir=memory))
    return link.resolve()


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner may read, completely or not at all."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(file)


def remembered_secret(file: Path, make: Callable[[], str] = lambda: secrets.token_urlsafe(24)) -> str:
    """Return the secret in a file; make it the first time."""
    if not file.exists():
        write_private(file, make())
    return file.read_text().strip()


def unprivileged_account(folder: Path, program: Path) -> dict[str, Any]:
    """Return the options of `spawn` for the account of the stores: PostgreSQL refuses root.

    Root becomes UNPRIVILEGED if that account may enter the folders. Otherwise root stays in a user namespace of its
    own, under that name. No permission is widened for either.
    """
    if os.geteuid() != 0:
        return {}
    try:
        account = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise StoreError(f"The stores cannot run as root, and there is no account `{UNPRIVILEGED}`.") from None
    paths = [folder.resolve(), program.resolve()]
    is_open = all(step.stat().st_mode & 0o001 for path in paths for step in (path, *path.parents))
    become = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    if is_open and _works(["true"], **become):
        return become
    namespace = ("unshare", "--user", f"--map-user={account.pw_uid}", f"--map-group={account.pw_gid}")
    if _works([*namespace, "true"]):
        return {"prefix": namespace}
    raise StoreError(
        f"The stores cannot run as root, and the account `{UNPRIVILEGED}` may not enter {folder} or the program: run"
        " as an ordinary user, move the checkout to a folder that others may enter, or set DATABASE_URL and REDIS_URL."
    )


def _works(command: Sequence[str], **account: Any) -> bool:
    try:
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, **account)  # noqa: S603  our own
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


class Server:
    """One store: a folder, a password, a port, a log and a process."""

    name: str
    key: str
    ending: tuple[signal.Signals, ...] = (signal.SIGTERM,)

    def __init__(self, var: Path, lock: int, *, durable: bool) -> None:
        """`lock` is the launcher's lock on the data folder. The store holds it too, until it has ended."""
        self.folder = var / self.key
        self.log = var / "log" / f"{self.key}.log"
        self.durable = durable
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._lock = lock
        self._port_file = var / "run" / f"{self.key}.port"
        self._account: dict[str, Any] = {}
        self._password = ""

    @property
    def url(self) -> str:
        raise NotImplementedError

    def start(self) -> None:
        """Start, and wait until the store answers."""
        make_folder(self.folder, 0o711)
        self._program = self._find_program()
        self._account = unprivileged_account(self.folder, self._program)
        self._prepare()
        self.port = choose_port(self._port_file)
        if self.log.exists() and self.log.stat().st_size > LOG_KEPT_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log:
            start = log.tell()
            self.process = self._launch(log.fileno())
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not self._answers():
            if self.process.poll() is not None:
                self.stop()
                raise StoreError(self._failure(self.log.read_bytes()[start:].decode(errors="replace")))
            if time.monotonic() > deadline:
                raise StoreError(f"{self.name} does not answer; its log is {self.log}.")
            time.sleep(0.02)

    def stop(self) -> None:
        if self.process:
            stop(self.process, *self.ending, patience_seconds=30)
            self.process = None

    def revive(self) -> bool:
        """Restart the store if it has ended; return whether it had."""
        if self.process and self.process.poll() is None:
            return False
        self.stop()
        self.start()
        return True

    def _find_program(self) -> Path:
        raise NotImplementedError

    def _prepare(self) -> None:
        raise NotImplementedError

    def _launch(self, log: int) -> subprocess.Popen[bytes]:
        raise NotImplementedError

    def _answers(self) -> bool:
        raise NotImplementedError

    def _spawn(self, command: Sequence[str | Path], output: int, **options: Any) -> subprocess.Popen[bytes]:
        options |= {"stdout": output, "stderr": subprocess.STDOUT, "cwd": "/", "pass_fds": [self._lock]}
        return spawn(command, orphaned=self.ending[0], **options, **self._account)

    def _failure(self, output: str) -> str:
        # On a full disk the log may end before these words.
        is_full = shutil.disk_usage(self.folder).free < 2_000_000
        if is_full or re.search("No space left on device|Check free disk space", output):
            return f"{self.name} cannot start: no space left on the disk of {self.folder}."
        lines = [line for line in output.splitlines() if line.strip()]
        wrong = [line for line in lines if re.search(r"FATAL|PANIC|rror|[Cc]an't", line)]
        reason = (wrong or lines or ["it said nothing"])[-1].strip()
        return f"{self.name} cannot start: {reason} (its log is {self.log})."

    def _own(self, folder: Path) -> None:
        """Give a folder to the account that uses it; before, it may have belonged to another."""
        uid, gid = self._account.get("user", os.geteuid()), self._account.get("group", os.getegid())
        if folder.stat().st_uid != uid:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, uid, gid, follow_symlinks=False)


def more_settings(variable: str) -> dict[str, str]:
    """Return settings from the environment, as in EMBEDDED_POSTGRES_SETTINGS='work_mem=64MB jit=on'."""
    pairs = [word.partition("=") for word in shlex.split(os.environ.get(variable, ""))]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise StoreError(f"{variable} wants name=value pairs; this is none: {wrong[0]}.")
    return {name: value for name, _, value in pairs}


def wheel_folder(package: str) -> Path | None:
    """Return the folder of a package without importing it: importing these two has side effects."""
    spec = find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None
