"""Workers that are processes: an action whose worker is killed, and an export of 100,000 rows."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.utils import timezone

from callcentre.lists import actions
from callcentre.lists.actions import ask_action
from callcentre.lists.exports import ask_export
from callcentre.lists.models import ListAction
from tests.callcentre.factories import UserFactory
from tests.processes import ROOT, environment, wait_for
from tests.tickets.factories import CompanyFactory, TicketFactory, TicketQueueFactory
from tickets.models import Company, Ticket, TicketChange

pytestmark = [pytest.mark.usefixtures("committed_db"), pytest.mark.slow("starts workers")]


def a_process(folder: Path, *arguments: object) -> subprocess.Popen[bytes]:
    variables = environment(
        folder,
        DJANGO_SETTINGS_MODULE="callcentre.settings",
        SECRET_KEY=configured.SECRET_KEY,
        FIELD_ENCRYPTION_KEYS=",".join(configured.FIELD_ENCRYPTION_KEYS),
    )
    return subprocess.Popen([sys.executable, "-m", *map(str, arguments)], cwd=ROOT, env=variables)


def test_an_action_whose_worker_was_killed_goes_on_and_does_no_row_twice(tmp_path):
    target = TicketQueueFactory()
    TicketFactory.create_batch(20, queue=TicketQueueFactory())
    job = ask_action(
        UserFactory(admin=True),
        "tickets.ticket",
        list_title="Tickets",
        query="",
        action="move_to_queue",
        action_title="Move to another queue",
        form=f"apply=1&queue={target.pk}",
    )
    half = tmp_path / "half"
    half.with_suffix(".wait").touch()
    worker = a_process(tmp_path, "tests.lists.action_process", job.pk, half)
    wait_for(half.exists)
    actions.run(job.pk)  # another worker leaves it alone

    worker.kill()
    worker.wait()
    half.with_suffix(".wait").unlink()
    job.refresh_from_db()
    # The third portion was not committed.
    left = (job.state, job.place, job.done_count, Ticket.objects.filter(queue=target).count())
    ListAction.objects.update(next_attempt_at=timezone.now())  # the lease is over
    actions.run(job.pk)
    job.refresh_from_db()

    assert left == ("running", 10, 10, 10)
    assert (job.state, job.done_count, job.refused_count, job.skipped_count) == ("finished", 20, 0, 0)
    assert Ticket.objects.filter(queue=target).count() == 20
    assert TicketChange.objects.filter(changes__has_key="queue").count() in (0, 20)
    assert all(ticket.history.count() == 1 for ticket in Ticket.objects.all())


@pytest.mark.trial
def test_a_list_of_100_000_rows_is_exported(tmp_path):
    CompanyFactory(name="first")
    Company.objects.bulk_create((Company(name=f"company {number}") for number in range(99_999)), batch_size=10_000)
    export = ask_export(UserFactory(admin=True), "tickets.company", "Companies", "", "csv")

    assert a_process(tmp_path, "tests.lists.export_process").wait(300) == 0

    export.refresh_from_db()
    assert (export.state, export.row_count, export.percent) == ("finished", 100_000, 100), export.message
    file = tmp_path / "files" / str(export.file.name)
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    assert len(rows) == 100_001
    assert rows[-1][0] == "first"
