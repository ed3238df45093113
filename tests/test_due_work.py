"""Due work: each model is claimed once, waits as the table says, and is given up in the same way."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.utils import timezone

from callcentre.core import due_work
from callcentre.core.deletions import Deletion
from callcentre.core.due_work import DIED, LEASE, Claim, DueWork, NotOurs
from callcentre.core.exporting.jobs import FileJob
from callcentre.lists.models import ListAction, ListExport
from callcentre.models import PersonExport, Retention
from callcentre.overview.models import AlarmMail
from callcentre.signin.models import PasswordReset
from callcentre.tasks import sweep_due_work
from campaigns.models import RecordImport
from reports.models import Export, ExportMail
from telephony.models import Recording, Transcription
from tests.callcentre.factories import DeletionFactory, PasswordResetFactory, PersonExportFactory, RetentionFactory
from tests.campaigns.factories import RecordImportFactory
from tests.lists.factories import ListActionFactory, ListExportFactory
from tests.overview.factories import AlarmMailFactory
from tests.processes import wait_for
from tests.reports.factories import ExportFactory, ExportMailFactory
from tests.serving import at_once
from tests.telephony.factories import RecordingFactory, TranscriptionFactory
from tests.tickets.factories import DispatchFactory, NoticeFactory
from tests.webhooks.factories import DeliveryFactory
from tickets.models import Dispatch, Notice
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]

# Each makes a row that is due.
ROWS: dict[type[DueWork], Callable[..., Any]] = {
    AlarmMail: AlarmMailFactory,
    Deletion: DeletionFactory,
    Delivery: DeliveryFactory,
    Dispatch: DispatchFactory,
    Export: ExportFactory,
    ExportMail: ExportMailFactory,
    ListAction: ListActionFactory,
    ListExport: ListExportFactory,
    Notice: NoticeFactory,
    PasswordReset: PasswordResetFactory,
    PersonExport: PersonExportFactory,
    RecordImport: lambda **values: RecordImportFactory(state="queued", **values),
    Recording: lambda **values: RecordingFactory(fetching=True, **values),
    Retention: lambda **values: RetentionFactory(days=400, **values),
    Transcription: TranscriptionFactory,
}
WITHOUT_ERROR = (PasswordReset, Delivery, Notice)
of_each_model = pytest.mark.parametrize("model", ROWS, ids=lambda model: model.__name__)


def due(model: type[DueWork], **values: Any) -> Any:
    # The database's now() stands still in a test's transaction.
    return ROWS[model](**{"next_attempt_at": timezone.now() - timedelta(seconds=1), **values})


def claim(row: Any) -> Claim[Any]:
    claimed: Claim[Any] | None = type(row)._default_manager.claim(row.pk)
    assert claimed
    return claimed


def expire(row: Any) -> None:
    """End the lease, or the pause before the next attempt."""
    type(row)._base_manager.filter(pk=row.pk).update(next_attempt_at=timezone.now())


def columns(row: Any) -> dict[str, Any]:
    return dict(type(row)._base_manager.filter(pk=row.pk).values().get())


def told(row: Any) -> str:
    """Return the error or the message of a row, if it has one."""
    row.refresh_from_db()
    return str(getattr(row, "error", "") or getattr(row, "message", ""))


def test_each_model_is_tested_here():
    assert {model for model in apps.get_models() if issubclass(model, DueWork)} == set(ROWS)


@of_each_model
@pytest.mark.usefixtures("committed_db")
def test_of_several_workers_one_gets_the_row(model):
    row = due(model)

    claims = at_once([lambda: model._default_manager.claim(row.pk)] * 3)

    assert sum(each is not None for each in claims) == 1
    assert columns(row)["attempt_count"] == 1


@of_each_model
def test_a_row_is_due_when_its_time_has_come_and_no_worker_has_it(model):
    row = due(model)
    due(model, next_attempt_at=timezone.now() + timedelta(minutes=1))

    assert [each.pk for each in model._default_manager.due()] == [row.pk]
    claim(row)
    assert not model._default_manager.due().exists()
    assert model._default_manager.claim(row.pk) is None


@of_each_model
def test_a_worker_that_lost_its_lease_writes_nothing_over_the_next(model):
    row = due(model)
    late = claim(row)
    expire(row)
    claim(row)
    before = columns(row)

    for step in (late.check, late.lock, partial(late.write, attempt_count=9), late.finish, late.put_off, late.fail):
        with pytest.raises(NotOurs), transaction.atomic():
            step()
    late.release()

    assert columns(row) == before
    assert before["attempt_count"] == 2


@of_each_model
def test_a_person_takes_the_row_from_its_worker(model):
    row = due(model)
    at_work = claim(row)
    expire(row)

    with at_work:
        at_work.finish()

    assert columns(row)["next_attempt_at"] is not None


@of_each_model
def test_failures_wait_as_the_table_says_until_the_row_is_given_up(model, time_machine):
    time_machine.move_to(timezone.now(), tick=False)
    row = due(model)
    waits = []

    for _delay in model.delays:
        at_work = claim(row)
        if any(model.delays):
            at_work.fail("no answer")
        else:
            at_work.release()
        waits.append(columns(row)["next_attempt_at"] - timezone.now())
        time_machine.move_to(columns(row)["next_attempt_at"], tick=False)
    claim(row).fail("no answer")

    assert waits == list(model.delays)
    assert (columns(row)["attempt_count"], columns(row)["next_attempt_at"]) == (len(model.delays) + 1, None)
    assert not model._default_manager.due().exists()
    assert model in WITHOUT_ERROR or told(row) == "no answer"


@of_each_model
def test_a_row_that_ended_each_worker_is_given_up(model):
    row = due(model, attempt_count=len(model.delays) + 1)

    assert model._default_manager.claim(row.pk) is None

    assert (columns(row)["attempt_count"], columns(row)["next_attempt_at"]) == (len(model.delays) + 1, None)
    assert model in WITHOUT_ERROR or told(row) == DIED or "was started 5 times and ended early" in told(row)


def test_an_error_of_any_kind_fits_its_column_and_a_receiver_that_asks_for_time_gets_it():
    row = due(AlarmMail)
    claim(row).fail("\0" + "x" * 1000, retry_after=timedelta(hours=1))
    assert told(row) == "x" * 500
    assert columns(row)["next_attempt_at"] - timezone.now() > timedelta(minutes=59)

    expire(row)
    at_work = claim(row)
    with transaction.atomic():
        at_work.finish(state="sent")
        transaction.set_rollback(True)
    # An end that was rolled back leaves the claim.
    at_work.fail(TimeoutError(), is_final=True)
    assert (told(row), row.state) == ("TimeoutError", "failed")


@pytest.mark.usefixtures("committed_db")
def test_a_lease_is_renewed_with_the_progress_while_the_worker_works(monkeypatch):
    """Another connection renews it, also while the work has written to the row and not committed."""
    monkeypatch.setattr(due_work, "PROGRESS_SECONDS", 0.01)
    row = due(ListExport)
    at_work = claim(row)
    at_work.report(lambda: {"percent": columns(row)["percent"] + 1})

    def is_renewed_to(percent):
        return bool(columns(row)["percent"] >= percent and columns(row)["next_attempt_at"] > timezone.now())

    with at_work:
        wait_for(lambda: is_renewed_to(2), "the lease is renewed")
        with transaction.atomic():
            at_work.write(row_count=7)
            at_work.lock()
            kept = columns(row)["percent"]
        wait_for(lambda: is_renewed_to(kept + 1), "the lease is renewed after the transaction")
        assert columns(row)["next_attempt_at"] - timezone.now() <= LEASE
        at_work.finish(state=FileJob.State.FINISHED)

    assert (columns(row)["row_count"], columns(row)["next_attempt_at"]) == (7, None)


@pytest.mark.usefixtures("committed_db")
def test_a_row_that_its_worker_has_locked_is_not_waited_for():
    """After its lease, as of a machine that stood still."""
    row = due(AlarmMail)
    at_work = claim(row)
    expire(row)

    with transaction.atomic():
        AlarmMail.objects.select_for_update().get(pk=row.pk)
        (other,) = at_once([lambda: AlarmMail.objects.claim(row.pk)])

    assert other is None
    with pytest.raises(NotOurs):
        at_work.check()


def test_the_sweep_enqueues_what_is_due(monkeypatch):
    enqueued: list[tuple[Any, ...]] = []
    for module in ("due_work", "exporting.jobs"):
        monkeypatch.setattr(f"callcentre.core.{module}.enqueue", lambda *call: enqueued.append(call))
    for model in ROWS:
        due(model, next_attempt_at=timezone.now() + timedelta(minutes=1))
    rows = [due(model) for model in ROWS]

    sweep_due_work()

    # Its own sweep asks for the deliveries of a webhook, and the task of exports chooses one.
    wanted = [(row.task,) if isinstance(row, FileJob) else (row.task, row.pk) for row in rows if row.task]
    assert sorted(map(repr, enqueued)) == sorted(map(repr, wanted))
    assert {row._meta.label for row in rows if not row.task} == {"webhooks.Delivery"}
    assert not connection.needs_rollback
