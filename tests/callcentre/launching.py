"""What the tests of the launchers share: finding processes."""

import os
from pathlib import Path

from tests.processes import wait_until


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


def assert_all_gone(folder: Path) -> None:
    """No process of this folder is left, or soon none."""
    assert wait_until(lambda: not processes_of(folder)), processes_of(folder)
