"""Workers that are processes: killed in the middle of an export, and two at once."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.utils import timezone

from reports.models import Export
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.processes import ROOT, environment, wait_for
from tests.reports.exports import an_export
from tests.reports.scenes import BASES
from tests.telephony.factories import AgentFactory

STARTS = len(Export.delays) + 1
pytestmark = [pytest.mark.usefixtures("committed_db"), pytest.mark.slow("starts workers")]


@pytest.fixture
def export():
    """Of a week by hours: several portions of an agent who stayed logged in."""
    presence.log_in(AgentFactory(login="anna"), ACTOR, BASES[4])
    return an_export((BASES[4], BASES[4].replace(day=17)), "hour", columns=["login_sum"])


def a_worker(folder: Path) -> subprocess.Popen[bytes]:
    """Says in `half` when it is in the middle; waits there while `half.wait` exists."""
    keys = ",".join(configured.FIELD_ENCRYPTION_KEYS)
    variables = environment(folder, SECRET_KEY=configured.SECRET_KEY, FIELD_ENCRYPTION_KEYS=keys)
    command = [sys.executable, "-m", "tests.reports.export_process", str(folder / "half")]
    return subprocess.Popen(command, cwd=ROOT, env=variables | {"DJANGO_SETTINGS_MODULE": "callcentre.settings"})


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "files").rglob("*") if path.is_file())


@pytest.mark.trial
def test_an_export_whose_worker_was_killed_is_built_by_the_next(export, tmp_path):
    (tmp_path / "half.wait").touch()
    worker = a_worker(tmp_path)
    wait_for((tmp_path / "half").exists)

    worker.kill()
    worker.wait()
    export.refresh_from_db()
    left = (export.state, export.file.name, files(tmp_path))
    (tmp_path / "half.wait").unlink()
    Export.objects.update(next_attempt_at=timezone.now())  # the lease is over
    assert a_worker(tmp_path).wait(100) == 0

    export.refresh_from_db()
    assert left == ("running", "", [])
    assert (export.state, export.attempt_count, export.row_count) == ("finished", 2, 168)
    assert files(tmp_path) == [f"{export.pk}-2.csv"]
    [file] = (tmp_path / "files").rglob("*.csv")
    assert len(file.read_text(encoding="utf-8-sig").splitlines()) == 169


@pytest.mark.trial
@pytest.mark.parametrize("attempts", [1, STARTS])
def test_a_file_that_an_attempt_left_goes_with_the_next_and_an_export_that_ends_every_worker_is_given_up(
    attempts, export, tmp_path
):
    """The worker was killed after the file was written, and before its row."""
    Export.objects.filter(pk=export.pk).update(state="running", attempt_count=attempts)
    export.refresh_from_db()
    orphan = tmp_path / "files" / export.name_of_file(attempts)
    orphan.parent.mkdir(parents=True)
    orphan.write_text("half")

    assert a_worker(tmp_path).wait(100) == 0

    export.refresh_from_db()
    assert (export.state, export.message, files(tmp_path)) == (
        ("finished", "", [f"{export.pk}-2.csv"])
        if attempts < STARTS
        else ("failed", "The export was started 5 times and ended early each time.", [])
    )


@pytest.mark.trial
def test_what_happens_meanwhile_is_not_in_it(export, tmp_path):
    """One instant, however long it takes."""
    (tmp_path / "half.wait").touch()
    worker = a_worker(tmp_path)
    wait_for((tmp_path / "half").exists)

    presence.log_in(AgentFactory(login="borys"), ACTOR, BASES[4])
    (tmp_path / "half.wait").unlink()
    assert worker.wait(100) == 0

    export.refresh_from_db()
    assert export.row_count == 168
