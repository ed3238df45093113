"""An import on a worker: lease, progress, transaction, repetition after a crash."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.utils import timezone

from callcentre.core import due_work
from callcentre.core.errors import Conflict
from campaigns import tasks
from campaigns.importing import import_run
from campaigns.importing.merge import Merge
from campaigns.models import Campaign, Record, RecordChange, RecordImport
from campaigns.verbs.imports import finish_import, queue_import, upload_import
from tests.conftest import ACTOR
from tests.processes import ROOT, environment, wait_until
from tests.serving import at_once

pytestmark = pytest.mark.usefixtures("committed_db", "own_storage", "sent")

State = RecordImport.State
# Enough rows for a crash during their import.
MANY = 60_000


def upload(campaign: Campaign, content: str, **values: Any) -> RecordImport:
    file = ContentFile(content.encode(), "records.csv")
    description = {"encoding": "utf-8", "delimiter": ",", "columns": {"0": "phone_number"}, **values}
    return upload_import(campaign, ACTOR, file, **description)


def queued(campaign: Campaign, content: str = "phone\n225550101\nx\n", **values: Any) -> RecordImport:
    given = upload(campaign, content, **values)
    queue_import(given, ACTOR)
    return given


def test_a_duration_is_never_negative(campaign):
    now = timezone.now()

    assert RecordImport(started_at=now, finished_at=now - timedelta(seconds=10)).seconds == 0


def many_numbers(count: int = MANY) -> str:
    return "phone\n" + "".join(f"+48 22 {number:07}\n" for number in range(count))


def worked_on(given: RecordImport) -> tuple[str, str]:
    """Let a worker import. Return the state and the message."""
    tasks.import_records(given.pk)
    given.refresh_from_db()
    return given.state, given.message


def lose_its_worker(given: RecordImport) -> None:
    RecordImport.objects.filter(pk=given.pk).update(next_attempt_at=timezone.now())


def test_a_queued_import_is_sent_to_a_worker_and_finished(campaign, sent):
    given = queued(campaign)
    assert sent == [("campaigns.import_records", given.pk)]

    assert worked_on(given) == (State.FINISHED, "")
    counts = (given.progress_percent, given.read_count, given.added_count, given.duplicate_count, given.faulty_count)
    assert counts == (100, 2, 1, 0, 1)
    with given.error_file.open("rb") as file:
        assert file.read().decode("utf-8-sig") == "line,error,phone\r\n3,A phone number has no letters.,x\r\n"


def test_progress_is_visible_before_the_records(campaign, monkeypatch):
    monkeypatch.setattr(due_work, "PROGRESS_SECONDS", 0.01)
    given = queued(campaign, many_numbers(5000))
    seen: list[tuple[str, int, int]] = []

    def look():
        assert wait_until(lambda: RecordImport.objects.get(pk=given.pk).read_count)
        now = RecordImport.objects.get(pk=given.pk)
        seen.append((now.state, now.read_count, Record.objects.count()))

    def look_and_finish(claim, values):
        at_once([look])
        finish_import(claim, values)

    monkeypatch.setattr(import_run, "finish_import", look_and_finish)

    import_run.run(given.pk)

    assert seen == [(State.RUNNING, 5000, 0)]


@pytest.mark.trial
@pytest.mark.slow("starts a worker")
def test_a_killed_worker_adds_nothing_and_another_imports_all(campaign, tmp_path):
    given = queued(campaign, many_numbers())
    worker = start_worker(given, tmp_path)
    wait_for_insert()
    worker.send_signal(signal.SIGKILL)
    worker.wait(60)

    assert wait_until(lambda: not is_merging()), "the transaction of the dead worker never ended"
    given.refresh_from_db()
    assert (given.state, given.attempt_count) == (State.RUNNING, 1)
    assert not Record.objects.exists()
    assert not RecordChange.objects.exists()

    lose_its_worker(given)
    tasks.import_records(given.pk)

    given.refresh_from_db()
    assert (given.state, given.added_count, given.attempt_count) == (State.FINISHED, MANY, 2)
    assert Record.objects.count() == RecordChange.objects.count() == MANY


def start_worker(given: RecordImport, tmp_path: Path) -> subprocess.Popen[bytes]:
    """Start a process that imports into the test database."""
    script = f"import django; django.setup()\nfrom campaigns.tasks import import_records; import_records({given.pk})\n"
    return subprocess.Popen([sys.executable, "-c", script], env=environment(tmp_path), cwd=ROOT)


def wait_for_insert() -> None:
    """Wait until the worker is in the middle of its merge."""
    assert wait_until(is_merging), "the worker never merged"


def is_merging() -> bool:
    merging = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND state = 'active' AND query LIKE '%%INSERT INTO campaigns_record %%'"
    )
    with connection.cursor() as cursor:
        cursor.execute(merging)
        return bool(cursor.fetchone()[0])


def test_an_import_of_a_killed_command_fails(campaign):
    given = upload(campaign, "phone\n")
    RecordImport.objects.filter(pk=given.pk).update(file="", state=State.RUNNING)
    lose_its_worker(given)

    state, message = worked_on(given)

    assert state == State.FAILED
    assert message.startswith("The command ended before the import did;")


def test_a_lost_database_connection_repeats_the_import(campaign, monkeypatch):
    given = queued(campaign)

    merge = Merge.merge

    def go_away(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (pid,) = cursor.fetchone()
        at_once([lambda: terminate(pid)])
        return merge(self)

    with monkeypatch.context() as patched:
        patched.setattr(Merge, "merge", go_away)
        tasks.import_records(given.pk)
    connection.close()
    given.refresh_from_db()
    assert given.state == State.RUNNING
    assert given in RecordImport.objects.due()

    assert (worked_on(given), given.added_count) == ((State.FINISHED, ""), 1)


def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])


def test_a_worker_without_its_lease_adds_nothing(campaign, monkeypatch):
    given = queued(campaign)
    merge = Merge.merge

    def lose_it(self):
        at_once([lambda: lose_its_worker(given)])
        return merge(self)

    monkeypatch.setattr(Merge, "merge", lose_it)
    import_run.run(given.pk)

    given.refresh_from_db()
    assert (given.state, Record.objects.count()) == (State.RUNNING, 0)


def test_a_failed_import_can_be_queued_again(campaign, monkeypatch):
    given = queued(campaign)

    def fail(*args):
        raise RuntimeError("secret details")

    with monkeypatch.context() as patched:
        patched.setattr(Merge, "merge", fail)
        assert worked_on(given) == (State.FAILED, "The service failed; its log has the cause.")
    assert not Record.objects.exists()

    queue_import(given, ACTOR)

    assert (worked_on(given), given.added_count) == ((State.FINISHED, ""), 1)


def test_a_missing_file_fails_the_import(campaign):
    given = queued(campaign)
    Path(given.file.path).unlink()

    assert worked_on(given) == (State.FAILED, "The file is not there any more.")


@pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING, State.FINISHED])
def test_an_import_is_queued_once(campaign, state):
    given = upload(campaign, "phone\n")
    RecordImport.objects.filter(pk=given.pk).update(state=state)

    with pytest.raises(Conflict):
        queue_import(given, ACTOR)


def test_the_error_file_of_a_dead_attempt_is_replaced(campaign):
    given = queued(campaign)
    name = given.error_file.field.generate_filename(given, f"{given.pk}-not-imported.csv")
    given.error_file.storage.save(name, ContentFile(b"old"))

    worked_on(given)

    assert given.error_file.name == name
    with given.error_file.open("rb") as file:
        assert b"no letters" in file.read()


def test_old_files_are_deleted_and_counts_stay(campaign):
    old, new = queued(campaign), queued(campaign, "phone\ny\n")
    for given in (old, new):
        tasks.import_records(given.pk)
    RecordImport.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))
    old.refresh_from_db()
    paths = [Path(old.file.path), Path(old.error_file.path)]

    tasks.prune_imports()

    old.refresh_from_db()
    new.refresh_from_db()
    assert [path.exists() for path in paths] == [False, False]
    assert (bool(old.file), bool(old.error_file), old.faulty_count) == (False, False, 1)
    assert (bool(new.file), bool(new.error_file)) == (True, True)
