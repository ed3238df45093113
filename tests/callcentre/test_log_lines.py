"""Each process of the service writes nothing but lines of JSON, whatever happens to it."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.processes import ROOT, arguments_of, environment, wait_for
from tests.serving import free_port

PROCESSES = {path.stem.removeprefix("callcentre-"): path for path in (ROOT / "deploy" / "systemd").glob("*.service")}
AWAY = "127.0.0.1:1"

FAULTS = {
    # The settings are refused.
    "unsafe": {"ALLOWED_HOSTS": "*"},
    "unreadable": {"TIME_ZONE": "Mars/Olympus"},
    # Stores that do not answer, from the start.
    "stores away": {"DATABASE_URL": f"postgresql://user:word@{AWAY}/name", "REDIS_URL": f"redis://{AWAY}/0"},
}


def read(output: bytes) -> list[dict[str, Any]]:
    """Return the lines of a log. Fail for a line that is none of ours."""
    lines = [orjson.loads(line) for line in output.splitlines()]
    for line in lines:
        assert {"event", "level", "logger", "timestamp"} <= line.keys(), line
    return lines


def outcome(arguments: list[str], variables: dict[str, str], folder: Path) -> tuple[bytes, bytes]:
    """Run a process until some seconds after its first words. Return standard output and standard error."""
    output, errors = folder / "output", folder / "errors"
    command = [sys.executable, *arguments]
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=out, stderr=err, start_new_session=True)
    try:
        wait_for(lambda: process.poll() is not None or errors.stat().st_size, arguments)
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return output.read_bytes(), errors.read_bytes()


@pytest.mark.walk("stores away-processes")
@pytest.mark.slow("starts each process of the service")
@pytest.mark.parametrize("unit", PROCESSES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_process_writes_lines_of_json_only(unit, fault, tmp_path, db):
    variables = environment(tmp_path, PYTHONWARNINGS="default", **FAULTS[fault])
    arguments = [str(free_port()) if each == "8000" else each for each in arguments_of(unit)]

    output, errors = outcome(arguments, variables, tmp_path)

    assert output == b""
    assert read(errors)


@pytest.mark.slow("starts a process")
def test_migrate_without_its_database_writes_a_line(tmp_path, db):
    output, errors = outcome(["manage.py", "migrate"], environment(tmp_path, **FAULTS["stores away"]), tmp_path)

    (line,) = read(errors)
    assert (output, line["event"].startswith("The database cannot be used: ")) == (b"", True)


# All ways in which a program writes to standard error without a logger.
PROGRAM = """
import sys, threading, warnings
from callcentre.monitoring.logging import write_lines_only
write_lines_only()
def fail(text): raise ValueError(text)
thread = threading.Thread(target=fail, args=["in a thread, with password=hidden"])
thread.start()
thread.join()
class Broken:
    def __del__(self): fail("in a destructor")
Broken()
print("a text", file=sys.stderr)
print("", file=sys.stderr)
warnings.warn("a warning")
try:
    fail("first")
except ValueError:
    {end}
"""


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("fail('second')", "ValueError: second"),
        ("sys.exit('Refused to start.')", "Refused to start."),
    ],
)
def test_all_that_no_logger_writes_becomes_lines(end, last, tmp_path):
    command = [sys.executable, "-c", PROGRAM.replace("{end}", end)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONWARNINGS": "default"}, capture_output=True, check=False
    )

    lines = read(done.stderr)
    events = [line["event"] for line in lines]
    assert done.returncode == 1
    assert events[-1] == last
    assert "a text" in events
    assert "" not in events
    assert any("UserWarning: a warning" in event for event in events)
    (failed,) = (line for line in lines if line["event"].startswith("ValueError: in a thread"))
    assert failed["exception"].startswith("Traceback (most recent call last):")
    assert b"hidden" not in done.stderr
