"""Workers as processes: what they keep from task to task, and what goes on while receivers hang."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from callcentre.launch.embedded import Stores
from tests.processes import enqueue_into, wait_for
from tests.telephony.processes import Service, calls, in_state, some_agents
from tests.telephony.switch.ari_server import ari_server
from tests.webhooks.processes import a_worker, all_succeeded, duplicates, happen, registered
from tests.webhooks.receivers import Peer, always, receiver
from webhooks.models import Attempt

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


def hangs(peer: Peer) -> None:
    """Reads the request, and does not answer before the end of the test."""
    peer.request()
    peer.receiver.is_over.wait(600)


@pytest.mark.trial
def test_ten_receivers_that_begin_to_hang_delay_neither_a_call_nor_another_receiver(
    stores: Stores, folder: Path, beat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telephony.verbs.connections.enqueue", enqueue_into(stores))
    with ExitStack() as context:
        service = Service(stores, folder, context.enter_context(ari_server(pick_up=0)))
        # Long enough for the rest of the test.
        webhooks = a_worker(stores, folder, TEST_TIMEOUT_SECONDS="300", TEST_LEASE_SECONDS="600")
        for process in (service.worker(), service.listener(), webhooks):
            context.enter_context(process)
        service.wait_until_heard()
        agents = some_agents(1)
        hanging = [context.enter_context(receiver(hangs)) for _ in range(10)]
        # Half of them, and the healthy receiver, were not reached.
        for number, running in enumerate(hanging):
            registered(running, last_success_at=timezone.now() if number % 2 else None)
        happen(20)
        wait_for(lambda: all(running.requests for running in hanging))

        pks = calls(agents)
        wait_for(lambda: in_state("talking", pks) == 1)
        well = registered(context.enter_context(receiver(always())), last_success_at=None)
        for number in range(20, 25):
            happen(start=number)
            wait_for(lambda: not well.deliveries.waiting().exists())

        # All of this arrived while the ten requests were still open.
        assert list(well.attempts.values_list("status", flat=True)) == [200] * 5
        assert Attempt.objects.exclude(webhook=well).count() == 0
