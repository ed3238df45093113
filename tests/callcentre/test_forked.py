"""Forked children: their output and exit code, and what they do not share with their parent."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callcentre.launch.forked import Forked
from callcentre.launch.process_guard import ProcessGuard
from tests.processes import wait_until


@pytest.fixture
def guard() -> Iterator[ProcessGuard]:
    guard = ProcessGuard()
    yield guard
    guard.close()


def ended(guard: ProcessGuard, run: Callable[[], object]) -> tuple[str, int]:
    process = Forked(guard, run, signal.SIGTERM)
    with process.stdout as pipe:
        output = pipe.read().decode()
    code = process.wait(60)
    guard.bury(process)
    return output, code


def test_output_and_exit_code_are_those_of_the_function(guard: ProcessGuard) -> None:
    def fail() -> None:
        print("out")
        sys.stderr.write("error\n")
        sys.exit(3)

    assert ended(guard, fail) == ("out\nerror\n", 3)
    assert ended(guard, lambda: sys.exit("a reason")) == ("a reason\n", 1)
    assert ended(guard, lambda: None) == ("", 0)


def test_an_exception_is_printed_and_code_1(guard: ProcessGuard) -> None:
    output, code = ended(guard, lambda: [1].index(2))

    assert code == 1
    assert output.endswith("ValueError: 2 is not in list\n")


def test_a_child_waits_for_its_threads(guard: ProcessGuard) -> None:
    def finish_late() -> None:
        time.sleep(0.2)
        print("late")

    assert ended(guard, lambda: threading.Thread(target=finish_late).start()) == ("late\n", 0)


def test_a_child_leads_a_session_and_does_not_hold_the_launcher_open(guard: ProcessGuard) -> None:
    def report() -> None:
        open_ones = [number for number in guard.descriptors if Path(f"/proc/self/fd/{number}").exists()]
        print(os.getsid(0) == os.getpid(), open_ones, os.read(0, 1))

    assert ended(guard, report) == ("True [] b''\n", 0)


def test_a_child_has_the_usual_signals(guard: ProcessGuard) -> None:
    previous = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    process = Forked(guard, lambda: time.sleep(1000), signal.SIGTERM)
    signal.signal(signal.SIGTERM, previous)

    process.send_signal(signal.SIGTERM)

    assert process.wait(60) == -signal.SIGTERM
    guard.bury(process)


def test_the_process_guard_ends_a_child(guard: ProcessGuard) -> None:
    other = ProcessGuard()
    process = Forked(other, lambda: time.sleep(1000), signal.SIGTERM)

    other.close()

    assert wait_until(lambda: process.poll() is not None)
    assert process.returncode == -signal.SIGTERM
