"""Helpers for tests of the launchers: finding processes."""

import os
from pathlib import Path

from tests.processes import wait_until


def processes_of(folder: Path) -> dict[int, str]:
    """Return the living processes of a folder, with number and command line.

    They have the folder's name in their arguments or environment, or work in it, as every process of PostgreSQL does.
    """
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
    """Wait until no process of this folder is left."""
    assert wait_until(lambda: not processes_of(folder)), processes_of(folder)
