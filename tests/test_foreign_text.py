"""Texts of strangers, in mails, files, forms and addresses, take no more than linear time.

The cases run in processes whose processor time the system limits (tests/foreign_text.py). A case that takes longer ends
its process, is reported, and is left out of the next process.
"""

import os
import subprocess
import sys

import pytest

from tests.foreign_text import SLOW
from tests.made_patterns import FILES
from tests.pattern_attacks import made_in_functions, patterns
from tests.processes import ROOT


def culprits(kind: str) -> list[str]:
    """Return the first case of each name that took too long or failed."""
    found: list[str] = []
    while True:
        left_out = [case.partition(" | ")[0] for case in found]
        process = subprocess.run(
            [sys.executable, "-m", "tests.foreign_text", kind, *left_out],
            check=False,
            cwd=ROOT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            capture_output=True,
            text=True,
            errors="replace",
        )
        lines = process.stdout.splitlines()
        if lines[-1:] == ["done"]:
            assert found or len(lines) > 1
            return found
        assert lines, process.stderr
        found.append(f"{lines[-1]} {process.stderr[-500:]}".strip())


@pytest.mark.trial
@pytest.mark.slow("attacks every pattern")
@pytest.mark.timeout(1200)
def test_regular_expressions_take_linear_time():
    assert len(patterns()) > 100
    assert culprits("patterns") == []


@pytest.mark.slow("reads the whole code")
def test_patterns_built_by_functions_are_tried_too():
    assert made_in_functions() == FILES


@pytest.mark.trial
@pytest.mark.slow("attacks every function")
@pytest.mark.timeout(1200)
def test_functions_read_foreign_text_in_linear_time():
    assert culprits("functions") == []


@pytest.mark.trial
@pytest.mark.slow("runs slow patterns")
def test_patterns_that_are_too_slow_are_found():
    assert {case.partition(" | ")[0] for case in culprits("known")} == set(SLOW)
