"""What the tests of the launchers share: finding processes, and waiting."""

import os
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def processes_of(folder: Path) -> dict[int, str]:
    """Processes started for a folder: its name is in their arguments or environment, or they
    work in it, as every process of PostgreSQL does. Number and command line, zombies left out."""
    name = os.fsencode(folder)
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            works_in = os.fsencode((process / "cwd").readlink())
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if name in command or name in environment or works_in.startswith(name):
            found[int(process.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether a condition came true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False
