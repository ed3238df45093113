"""Workers as processes: what they keep from task to task."""

from pathlib import Path

import pytest
from django.db import connection

from callcentre.launch.embedded import Stores
from tests.processes import wait_for
from tests.webhooks.processes import a_worker, all_succeeded, duplicates, happen, registered
from tests.webhooks.receivers import always, receiver

pytestmark = pytest.mark.usefixtures("emptied")


def connections_of(name: str) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE application_name = %s", [name])
        return {pid for (pid,) in cursor.fetchall()}


def test_a_worker_keeps_its_connections_and_notices_that_they_have_died(stores: Stores, folder: Path) -> None:
    url = f"{stores.database_url}?application_name=worker_that_keeps"
    log = folder / "worker.log"
    with receiver(always()) as running, a_worker(stores, folder, DATABASE_URL=url):
        registered(running)
        happen()
        # By then the task, and Celery's work after it, have ended.
        wait_for(lambda: all_succeeded() and "succeeded in" in log.read_text())
        kept = connections_of("worker_that_keeps")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pid, 20000) FROM unnest(%s::int[]) AS pid", [list(kept)])
        happen(5, start=1)
        wait_for(all_succeeded)

        assert kept
        assert not kept & connections_of("worker_that_keeps")
        assert duplicates(running) == 0
    assert "raised unexpected" not in log.read_text()
