"""A child process that runs a function of its parent, without starting Python and importing everything anew."""

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

from callcentre.launch.process_guard import ProcessGuard, end_with_parent

WAIT_SECONDS = 0.01


class Forked:
    """A forked child that leads a session of its own, with the part of `subprocess.Popen` that launchers use."""

    def __init__(self, guard: ProcessGuard, run: Callable[[], object], *ending: signal.Signals) -> None:
        """`ending` are the signals that ask it to end, the gentlest first. Return once they reach it and not us."""
        self.returncode: int | None = None
        output, write_end = os.pipe()
        is_ready, ready_end = os.pipe()
        # Otherwise the child would print what is still in the buffer again.
        sys.stdout.flush()
        end_with_us = end_with_parent(os.getpid(), ending[0])
        self.pid = os.fork()
        if self.pid == 0:
            end_with_us()
            _live(run, write_end, [ready_end, is_ready, output, *guard.descriptors])
        os.close(write_end)
        os.close(ready_end)
        guard.watch(self, *ending)
        self.stdout: IO[bytes] = os.fdopen(output, "rb")
        os.read(is_ready, 1)
        os.close(is_ready)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            time.sleep(WAIT_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def _live(run: Callable[[], object], output: int, closed: Iterable[int]) -> NoReturn:
    """Run the function, then end the process as Python does, but without the rest of the parent's code."""
    code = 1
    try:
        _leave_the_parent(output, closed)
        run()
        code = 0
    except SystemExit as error:
        code = _exit_code(error)
    except BaseException:  # noqa: BLE001  (the process ends here)
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            sys.stdout.flush()
        os._exit(code)


def _leave_the_parent(output: int, closed: Iterable[int]) -> None:
    """Take a session, signals and an output of its own, and close descriptors that only the parent may keep open."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for descriptor in (output, *closed):
        os.close(descriptor)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _exit_code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    sys.stderr.write(f"{error.code}\n")
    return 1
