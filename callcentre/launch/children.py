"""Child processes that end with the launcher, even if it is killed.

Each child leads a session and a process group of its own, so that Ctrl-C reaches only the launcher.
"""

import ctypes
import multiprocessing
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG = 1
# Loaded once: between fork and exec nothing may be loaded.
_libc = ctypes.CDLL(None)


def spawn(
    command: Sequence[str | os.PathLike[str]],
    *,
    orphaned: signal.Signals = signal.SIGKILL,
    prefix: Sequence[str] = (),
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a child. It gets the signal `orphaned` when the launcher ends.

    `prefix` is a command that runs another; `options` are those of `subprocess.Popen`.

    Linux sends this signal when the thread that started the child ends. So the main thread starts all children.
    """
    launcher = os.getpid()

    def end_with_launcher() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, orphaned, 0, 0, 0)
        if os.getppid() != launcher:
            # The launcher has ended before prctl was called.
            os._exit(1)

    return subprocess.Popen(  # noqa: S603  commands come from the code and its operator
        [*prefix, *command],
        start_new_session=True,
        preexec_fn=end_with_launcher,  # noqa: PLW1509
        **{"stdin": subprocess.DEVNULL, **options},
    )


def end_with_parent() -> None:
    """Let the worker of a web server be killed when its main process ends. Other processes go on.

    Without this the main process would have to end it, and may sleep through a signal that another of its threads got.
    """
    if parent := multiprocessing.parent_process():
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent.pid:
            os._exit(1)


def stop(process: subprocess.Popen[bytes], *ending: signal.Signals, patience_seconds: float = 10.0) -> None:
    """Ask a child to end by one signal after the other, and kill what is left of its group."""
    for number in ending:
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience_seconds)
            break
    bury(process)


def bury(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of a child's group, and return the exit code of the child."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()
