"""Work on foreign content in a process with limits of time and memory.

Each process of the service runs one such process at a time; further contents wait. This file is also the program of
that process, so neither it nor the modules of such work import anything that is slow to import.
"""

import importlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

# The limits. 2 MB of ordinary HTML are cleaned in a quarter of a second, with 100 MB.
_CPU_SECONDS = 3
_MEMORY = 512 << 20
# The time in which a busy machine must give it these seconds.
_PATIENCE_SECONDS = 60
# One at a time: the memory of several would add up. Others wait, and leave two of a web worker's threads free.
_TURN = threading.Lock()
_PLACES = threading.BoundedSemaphore(6)

Work = Callable[[bytes], bytes]


class BeyondLimits(Exception):
    """The work failed, needed more than its limits, or too much other work waits."""


def run_limited(work: Work, given: bytes) -> bytes:
    """Return what a function of a module makes of foreign content, in a process of its own. Raises BeyondLimits."""
    if not _PLACES.acquire(blocking=False):
        raise BeyondLimits
    try:
        with _TURN:
            return _run_apart(work, given)
    finally:
        _PLACES.release()


def _run_apart(work: Work, given: bytes) -> bytes:
    try:
        return subprocess.run(  # noqa: S603  (our own file)
            [sys.executable, "-I", __file__, work.__module__, work.__name__],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_SECONDS,
            check=True,
            # It must not get our secrets, nor a Ctrl-C from the terminal.
            env={},
            start_new_session=True,
        ).stdout
    except subprocess.SubprocessError as error:
        found = {"work": work.__name__, "bytes": len(given), "exit_code": getattr(error, "returncode", None)}
        logger.warning("foreign content was beyond the limits", extra=found)
        raise BeyondLimits from error


def _main(module: str, name: str) -> None:
    import resource  # noqa: PLC0415  (only this function needs it)

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        # Calls and pages have priority.
        os.nice(5)
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    sys.stdout.buffer.write(getattr(importlib.import_module(module), name)(sys.stdin.buffer.read()))


if __name__ == "__main__":
    _main(*sys.argv[1:])
