"""Processes that tests start: their environment, their output, and waiting for their effects."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db import OperationalError, connection, transaction

from callcentre.celery import app
from callcentre.launch.embedded import Stores
from telephony.leader_election import CONNECTED, Leadership

ROOT = Path(__file__).resolve().parents[1]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process with the database of the test and this data folder."""
    database = "postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format(**connection.settings_dict)
    ours = {"DATABASE_URL": database, "ALLOWED_HOSTS": "127.0.0.1", "CALLCENTRE_VAR": str(folder)}
    return {**os.environ, **ours, "PYTHONWARNINGS": "ignore", **more}


@contextmanager
def running(arguments: list[str], variables: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `python -m …`, and kill it when the block ends."""
    with log.open("ab") as output:
        command = [sys.executable, "-m", *arguments]
        process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def arguments_of(unit: str) -> list[str]:
    """Return the arguments of Python in a unit of systemd."""
    text = (ROOT / "deploy" / "systemd" / f"callcentre-{unit}.service").read_text()
    (command,) = re.findall(r"^ExecStart=\S+ (.*)$", text, re.MULTILINE)
    return str(command).replace("%%", "%").split()


def enqueue_into(stores: Stores) -> Callable[..., None]:
    """Replace `enqueue`: messages go to the broker of these stores, or nowhere while it is down."""

    def enqueue(task: str, *args: Any) -> None:
        def send() -> None:
            with suppress(Exception), app.connection_for_write(stores.environment["REDIS_URL"]) as broker:
                # Try once: the sweep finds rows without a published message.
                broker.transport_options = {**(broker.transport_options or {}), "max_retries": 1, "interval_start": 0}
                app.send_task(task, args=args, connection=broker)

        transaction.on_commit(send)

    return enqueue


@contextmanager
def heard_switch() -> Iterator[None]:
    """Hold the locks of a listener that hears the switch, as other processes see it."""
    with Leadership() as leadership:
        # The session of an earlier test may hold the lock for a moment after its end.
        assert wait_until(lambda: leadership._take(CONNECTED))
        yield


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Return whether the condition became true in time; the database may be down meanwhile."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OperationalError):
            if condition():
                return True
        time.sleep(0.02)
    return False


def wait_for(condition: Callable[[], object], what: object = "", *, seconds: float = 100.0) -> None:
    assert wait_until(condition, seconds), f"not within {seconds} s: {what}"
