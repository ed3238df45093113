"""The trial of faults, once each (`make faults` is the hour of it): kills, and what is there afterwards."""

import os
import subprocess
import sys

import pytest

from tests.migrated import dump_of_migrated
from tests.processes import ROOT

# Stores of its own: a PostgreSQL that is killed takes no other test with it.
OTHERS = ("DATABASE_URL", "REDIS_URL", "CALLCENTRE_VAR")


@pytest.mark.slow("starts the whole service")
def test_nothing_is_lost_when_each_process_and_store_is_killed_under_load(tmp_path, django_db_blocker):
    environment = {name: value for name, value in os.environ.items() if name not in OTHERS}
    with django_db_blocker.unblock():
        (tmp_path / "migrated.sql").write_bytes(dump_of_migrated())
    environment["MIGRATED_DUMP"] = str(tmp_path / "migrated.sql")
    command = [sys.executable, "-m", "benchmarks.load.faults", "--once"]

    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
