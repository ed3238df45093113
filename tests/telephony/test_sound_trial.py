"""Thirty agents with sound on a real Asterisk: `benchmarks.sound`, which says what the environment must name."""

import os
import subprocess
import sys

import pytest

from tests.processes import ROOT

pytestmark = [
    pytest.mark.trial,
    pytest.mark.skipif(not os.environ.get("TRIAL_RESTART"), reason="TRIAL_RESTART restarts no Asterisk for a load"),
]


def test_asterisk_and_rows_agree_after_kills_under_load():
    subprocess.run([sys.executable, "-m", "benchmarks.sound"], cwd=ROOT, check=True)
