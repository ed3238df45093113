"""Deletions: a person gives a reason, one worker deletes in committed steps, and a trace stays."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core import deletions, file_removals
from callcentre.core.deletions import Busy, Consequences, Deletion, Kind
from callcentre.core.due_work import NotOurs
from callcentre.core.errors import Conflict, Invalid
from callcentre.core.file_removals import FileRemoval
from callcentre.models import Lockout
from tests.callcentre.factories import DeletionFactory, FileRemovalFactory
from tests.conftest import ACTOR

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]
State = Deletion.State


class Rows:
    """A kind of objects for these tests: lockouts, deleted one per step."""

    def __init__(self) -> None:
        # The step of this number raises these errors, while there are any.
        self.failures: dict[int, list[Exception]] = {}
        self.obstacle = ""
        self.steps = 0

    def consequences(self, row: Any) -> Consequences:
        return Consequences(obstacle=self.obstacle)

    def delete(self, deletion: Deletion) -> None:
        while lockout := Lockout.objects.order_by("id").first():
            with deletion.step() as deleted:
                self.steps += 1
                deleted["callcentre.lockout"] += lockout.delete()[0]
                FileRemoval.add([default_storage.save("files/x", ContentFile(b"x"))])
                if failures := self.failures.get(self.steps):
                    raise failures.pop()


@pytest.fixture
def rows(monkeypatch):
    made = Rows()
    monkeypatch.setitem(deletions._kinds, "row", Kind("callcentre.lockout", made.consequences, made.delete))
    for number in range(3):
        Lockout.objects.create(realm="api", source=f"192.0.2.{number}", until=timezone.now())
    return made


def asked(reason: str = "on request") -> Deletion:
    return Deletion.ask(ACTOR, "row", Lockout.objects.earliest("id"), reason)


def let_time_pass(deletion: Deletion) -> None:
    Deletion.objects.filter(pk=deletion.pk).update(next_attempt_at=timezone.now())


def ran(deletion: Deletion) -> Deletion:
    deletions.run(deletion.pk)
    deletion.refresh_from_db()
    return deletion


def files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def test_a_deletion_leaves_a_full_trace(rows, tmp_path):
    deletion = asked(" request of\n21 November ")
    before = ran(deletion)

    assert (before.state, before.actor_name, before.reason) == (State.FINISHED, "tester", "request of 21 November")
    assert (before.kind, before.deleted, before.next_attempt_at) == ("row", {"callcentre.lockout": 3}, None)
    assert before.finished_at is not None
    assert (Lockout.objects.count(), FileRemoval.objects.count(), files(tmp_path)) == (0, 0, 0)


@pytest.mark.parametrize("reason", ["", " \n ", "x" * 501])
def test_a_deletion_needs_a_reason_of_limited_length(rows, reason):
    with pytest.raises(Invalid) as refused:
        asked(reason)

    assert [fault.field for fault in refused.value.faults] == ["reason"]
    assert not Deletion.objects.exists()


def test_an_object_with_an_obstacle_and_a_second_try_of_a_finished_deletion_are_refused(rows):
    rows.obstacle = "The call still goes on."

    with pytest.raises(Conflict):
        asked()
    assert not Deletion.objects.exists()
    with pytest.raises(Conflict):
        DeletionFactory(finished=True).ask_again(ACTOR)


def test_a_failed_step_is_rolled_back_and_earlier_steps_stay(rows, tmp_path):
    rows.failures = {2: [RuntimeError("the disk")]}
    deletion = ran(asked())

    stopped = (deletion.state, deletion.deleted, deletion.error)
    assert stopped == (State.RUNNING, {"callcentre.lockout": 1}, "RuntimeError")
    assert Lockout.objects.count() == 2
    # The file of the step that was rolled back is still there; a sweep of the storage finds it.
    assert files(tmp_path) == 1

    let_time_pass(deletion)
    assert (ran(deletion).state, deletion.deleted, deletion.error) == (State.FINISHED, {"callcentre.lockout": 3}, "")


def test_a_deletion_of_an_object_in_use_waits_and_never_fails(rows):
    rows.failures = {number: [Busy("A call still goes on.")] for number in range(1, 20)}
    deletion = asked()

    for _ in range(2 * len(Deletion.delays)):
        let_time_pass(deletion)
        ran(deletion)

    assert (deletion.state, deletion.error, deletion.attempt_count) == (State.RUNNING, "A call still goes on.", 0)
    rows.failures.clear()
    let_time_pass(deletion)
    assert ran(deletion).state == State.FINISHED


def test_a_deletion_fails_after_repeated_errors_until_a_person_retries(rows):
    rows.failures = {number: [RuntimeError("x")] for number in range(1, 20)}
    deletion = asked()

    for _ in range(len(Deletion.delays) + 2):
        let_time_pass(deletion)
        ran(deletion)

    assert (deletion.state, rows.steps) == (State.FAILED, len(Deletion.delays) + 1)
    rows.failures.clear()
    deletion.ask_again(ACTOR)
    assert ran(deletion).state == State.FINISHED


def test_a_worker_that_lost_its_lease_deletes_no_more(rows):
    deletion = asked()
    first = Deletion.objects.claim(deletion.pk)
    assert first
    first.row.begin(first)
    let_time_pass(deletion)
    assert Deletion.objects.claim(deletion.pk)

    with pytest.raises(NotOurs):
        rows.delete(first.row)

    assert (Lockout.objects.count(), rows.steps) == (3, 0)


def test_a_long_deletion_lets_other_tasks_run(rows, monkeypatch):
    enqueued: list[Any] = []
    monkeypatch.setattr(deletions, "enqueue", lambda *call: enqueued.append(call))
    monkeypatch.setattr(deletions, "TURN_SECONDS", -1.0)
    deletion = asked()

    ran(deletion)

    assert (deletion.state, deletion.attempt_count, rows.steps) == (State.RUNNING, 0, 0)
    assert enqueued == [("callcentre.delete_personal_data", deletion.pk)] * 2


def test_a_file_that_the_storage_fails_to_remove_is_removed_later(monkeypatch, tmp_path):
    path = default_storage.save("files/kept", ContentFile(b"x"))
    removal = FileRemovalFactory(path=path)
    with monkeypatch.context() as broken:
        broken.setattr("os.remove", _refuse)
        assert file_removals.remove_files() == 0
    removal.refresh_from_db()
    assert (removal.failure_count, removal.due_at > timezone.now(), files(tmp_path)) == (1, True, 1)
    assert file_removals.remove_files() == 0

    FileRemoval.objects.update(due_at=timezone.now())
    file_removals.remove_files()

    assert (FileRemoval.objects.count(), files(tmp_path)) == (0, 0)


def _refuse(*_: Any) -> None:
    raise PermissionError("the disk is read-only")


def test_a_file_that_is_gone_already_is_no_failure():
    FileRemovalFactory(path="files/nowhere")
    FileRemovalFactory(due_at=timezone.now() + timedelta(minutes=1))

    assert file_removals.remove_files() == 1
    assert FileRemoval.objects.count() == 1


def test_files_are_removed_only_after_their_rows(rows, tmp_path):
    default_storage.save("files/y", ContentFile(b"y"))
    rows.failures = {1: [RuntimeError("x")]}

    ran(asked())

    assert not FileRemoval.objects.exists()
    assert files(tmp_path) == 2
