"""The end of all child processes, however the launcher ends.

A launcher (`make run`, the tests, `embedded exec`) starts its children through a `ProcessGuard`. Beside them runs one
more small process: this file, executed as a script. It reads a pipe whose only writing end is in the launcher. When the
launcher dies, even by `kill -9`, the pipe ends, and the process guard asks every child to end and then kills its whole
process group.

`PR_SET_PDEATHSIG` is set on each child as well, in case the process guard itself is killed. Alone it is not enough: it
reaches only direct children, and fires when the thread that started them ends.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

PATIENCE_SECONDS = 2.0
_PR_SET_PDEATHSIG = 1
# Loaded once: between fork and exec nothing may be loaded.
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Account:
    """The account of a child: the launcher's own, a given one, or one behind a prefix command."""

    prefix: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None


class Process(Protocol):
    """A child: `subprocess.Popen` or `callcentre.launch.forked.Forked`."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...


class ProcessGuard:
    """The parent of children that each have a session and process group of their own."""

    def __init__(self, *, holding: Sequence[int] = ()) -> None:
        """`holding`: descriptors that the process guard keeps open until the last child has ended."""
        read_end, self._write_end = os.pipe()
        # A forked child closes them: the process guard notices the launcher's end by one, and holds the others.
        self.descriptors = (self._write_end, *holding)
        self._process = subprocess.Popen(  # noqa: S603  ourselves
            [sys.executable, "-I", "-S", __file__],
            stdin=read_end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            pass_fds=holding,
        )
        os.close(read_end)

    def spawn(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        ending: Sequence[signal.Signals] = (signal.SIGTERM,),
        account: Account | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: int | IO[bytes] | IO[str] | None = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a child. `ending` are the signals that ask it to end, the gentlest first."""
        account = account or Account()
        process = subprocess.Popen(  # noqa: S603  commands come from the code and its operator
            [*account.prefix, *command],
            user=account.uid,
            group=account.gid,
            extra_groups=None if account.uid is None else [],
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=end_with_parent(os.getpid(), ending[0]),  # noqa: PLW1509
        )
        self.watch(process, *ending)
        return process

    def watch(self, process: Process, *ending: signal.Signals) -> None:
        """Take care of a child that leads a process group of its own. `ending` are signals, as for `spawn`."""
        self._tell("watch", process.pid, *(int(number) for number in ending))

    def stop(
        self,
        process: Process,
        *ending: signal.Signals,
        patience_seconds: float = 10.0,
    ) -> None:
        """Ask a child to end, wait, and kill the rest of its group."""
        for number in ending:
            ask(process, number)
            try:
                process.wait(patience_seconds)
                break
            except subprocess.TimeoutExpired:
                continue
        self.bury(process)

    def bury(self, process: Process) -> None:
        """Kill the rest of a child's group and forget the child."""
        _kill_group(process.pid)
        process.wait()
        self._tell("forget", process.pid)

    def remove_at_the_end(self, folder: Path) -> None:
        self._tell("remove", folder)

    def close(self) -> None:
        """Let the process guard end all children, and wait for it."""
        os.close(self._write_end)
        self._process.wait()

    def _tell(self, *words: object) -> None:
        # If the process guard was killed, the children still end with their parent.
        with suppress(BrokenPipeError):
            os.write(self._write_end, (" ".join(str(word) for word in words) + "\n").encode())


def ask(process: Process, number: signal.Signals) -> None:
    """Signal the child alone: it ends its own children."""
    if process.poll() is None:
        process.send_signal(number)


def follow_parent() -> None:
    """Get SIGTERM when the process with the id FOLLOW_PARENT dies (the Makefile sets its own id).

    The variable is removed from the environment: children must not follow that process.
    """
    parent = os.environ.pop("FOLLOW_PARENT", "")
    if not parent:
        return
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        # The process died before prctl was called.
        raise SystemExit(f"Process {parent}, which FOLLOW_PARENT names, is not there any more.")


def end_with_parent(parent: int, number: signal.Signals) -> Callable[[], None]:
    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _living() -> dict[int, set[int]]:
    """Return living processes by group. A process that only waits to be reaped counts as dead."""
    groups: dict[int, set[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "stat").read_text(errors="replace")
        except OSError:
            continue
        state, _, group = stat.rpartition(")")[2].split()[:3]
        if state not in "ZX":
            groups.setdefault(int(group), set()).add(int(process.name))
    return groups


def _end_all(watched: Mapping[int, Sequence[int]]) -> None:
    """Send all children their first signal, the remaining ones the next, and kill the rest."""
    rounds = max((len(numbers) for numbers in watched.values()), default=0)
    for turn in range(rounds + 1):
        for group, numbers in watched.items():
            if turn >= len(numbers):
                _kill_group(group)
                continue
            with suppress(ProcessLookupError, PermissionError):
                os.kill(group, numbers[turn])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            living = _living()
            for group in watched.keys() & living.keys():
                if group not in living[group]:
                    # Without its leader, no other process ends the rest of the group.
                    _kill_group(group)
            if not watched.keys() & living.keys():
                return
            time.sleep(0.05)


def _keep_watch() -> None:
    """Run the process guard: learn from the pipe which children there are; when it ends, end them."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watched: dict[int, list[int]] = {}
    doomed: list[str] = []
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "remove":
            doomed.append(rest)
        elif word == "watch":
            pid, *numbers = (int(number) for number in rest.split())
            watched[pid] = numbers
        elif word == "forget":
            watched.pop(int(rest), None)
    _end_all(watched)
    for folder in doomed:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _keep_watch()
