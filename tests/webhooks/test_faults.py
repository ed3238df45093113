"""Faults that really happen: killed worker processes, stores that end, receivers that hang, a name server that lies.

Whatever happens, each event is delivered at least once, and at most what was in flight is delivered twice.
"""

import re
import signal
import subprocess
import time
from contextlib import ExitStack

import pytest
from django.db import connection
from django.db.models import F, QuerySet
from django.utils import timezone
from standardwebhooks import Webhook as Verifier

from tests.processes import enqueue_into, wait_for
from tests.telephony.processes import Service, calls, in_state, some_agents
from tests.telephony.switch.ari_server import ari_server
from tests.webhooks.processes import (
    a_worker,
    all_succeeded,
    copies,
    duplicates,
    happen,
    of_all_events,
    registered,
    taking,
)
from tests.webhooks.receivers import Peer, always, answers, receiver
from webhooks.delivery_worker import BATCH
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.usefixtures("emptied")


@pytest.mark.trial
def test_a_worker_killed_with_a_thousand_deliveries_in_its_hands_loses_none(stores, folder, beat):
    with ExitStack() as context:
        receivers = [context.enter_context(receiver(taking(0.02))) for _ in range(5)]
        for running in receivers:
            registered(running)
        happen(200)
        assert Delivery.objects.count() == 1000
        victim = context.enter_context(a_worker(stores, folder, TEST_LEASE_SECONDS="5"))
        wait_for(lambda: sum(copies(*receivers).values()) > 100 and _stopped_with(victim, 500))
        victim.kill()
        victim.wait()
        # Requests of the killed worker may still be in flight.
        wait_for(lambda: not any(running.open_connections for running in receivers))
        held = _in_hands().count()
        sent, stored = sum(copies(*receivers).values()), Delivery.objects.filter(state="succeeded").count()

        context.enter_context(a_worker(stores, folder))
        wait_for(all_succeeded)

        assert held > 500
        assert all(set(copies(running)) == of_all_events() for running in receivers)
        assert sum(duplicates(running) for running in receivers) <= sent - stored
        assert sent - stored <= held
        # No other delivery was treated as lost: each of them came once.
        assert Attempt.objects.count() == 1000


def _in_hands() -> QuerySet[Delivery]:
    """Claimed by a worker, with no result stored: this one's ten threads take a batch of a hundred each."""
    return Delivery.objects.filter(state="waiting").exclude(next_attempt_at=F("event__created_at"))


def _stopped_with(worker: subprocess.Popen[bytes], count: int) -> bool:
    """Stop a worker at a moment at which it has more than so many deliveries in its hands, or let it go on."""
    worker.send_signal(signal.SIGSTOP)
    if _in_hands().count() > count:
        return True
    worker.send_signal(signal.SIGCONT)
    return False


@pytest.mark.trial
def test_a_worker_that_is_asked_to_end_sends_nothing_twice(stores, folder, beat):
    # Slow enough that the request to stop comes long before the end.
    with receiver(taking(0.2)) as running, a_worker(stores, folder) as leaving:
        webhook = registered(running)
        happen(300)
        wait_for(lambda: len(running.requests) > 30)
        leaving.send_signal(signal.SIGTERM)
        leaving.wait(60)
        left = webhook.deliveries.waiting().filter(next_attempt_at__lte=timezone.now()).count()

        with a_worker(stores, folder):
            wait_for(all_succeeded)

        assert left > 0
        assert duplicates(running) == 0
        assert set(copies(running)) == of_all_events()


@pytest.mark.trial
def test_a_broker_that_is_killed_costs_time_and_no_event(stores, folder, beat):
    with receiver(taking(0.005)) as running, a_worker(stores, folder):
        registered(running)
        happen(200)
        wait_for(lambda: len(running.requests) > 20)
        broker = stores._servers["REDIS_URL"].process
        assert broker is not None
        broker.kill()
        broker.wait()
        happen(100, start=200)
        time.sleep(1)
        assert stores.revive() == ["Valkey"]
        happen(50, start=300)

        wait_for(all_succeeded)

        assert set(copies(running)) == of_all_events()
        assert len(copies(running)) == 350
        assert duplicates(running) == 0


@pytest.mark.trial
def test_a_database_that_is_restarted_costs_at_most_what_was_in_flight(stores, folder, beat):
    # Deliveries in flight come again when their lease is over.
    with receiver(taking(0.005)) as running, a_worker(stores, folder, TEST_LEASE_SECONDS="20"):
        registered(running)
        happen(400)
        wait_for(lambda: len(running.requests) > 50)
        postgres = stores._servers["DATABASE_URL"].process
        assert postgres is not None
        # At once, as in a crash: the next start recovers.
        postgres.send_signal(signal.SIGQUIT)
        postgres.wait(60)
        assert stores.revive() == ["PostgreSQL"]
        connection.close()
        happen(50, start=400)

        wait_for(all_succeeded)

        assert set(copies(running)) == of_all_events()
        assert len(copies(running)) == 450
        assert duplicates(running) <= 2 * BATCH


@pytest.mark.trial
def test_a_receiver_that_answers_500_twice_gets_the_same_message_signed_anew(stores, folder, beat):
    with receiver(answers(500, 500, 200)) as running, a_worker(stores, folder):
        webhook = registered(running)
        happen()
        wait_for(all_succeeded)

    requests = running.requests
    assert len({request.headers["webhook-id"] for request in requests}) == 1
    assert len(requests) == 3
    for request in requests:
        Verifier(webhook.secret).verify(request.body, dict(request.headers))
    stamps = [int(request.headers["webhook-timestamp"]) for request in requests]
    assert stamps == sorted(stamps)
    assert stamps[-1] > stamps[0]
    assert list(webhook.attempts.order_by("id").values_list("status", flat=True)) == [500, 500, 200]


def connections_of(name: str) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE application_name = %s", [name])
        return {pid for (pid,) in cursor.fetchall()}


def test_a_worker_keeps_its_connections_and_notices_that_they_have_died(stores, folder):
    url = f"{stores.environment['DATABASE_URL']}?application_name=worker_that_keeps"
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
    # A sweep of beat, which runs beside all tests of this module, may have been between two of its statements.
    assert not re.search(r"webhooks\.deliver\[[^]]*\] raised unexpected", log.read_text())


def hangs(peer: Peer) -> None:
    """Reads the request, and does not answer before the end of the test."""
    peer.request()
    peer.receiver.is_over.wait(600)


@pytest.mark.trial
def test_ten_receivers_that_begin_to_hang_delay_neither_a_call_nor_another_receiver(stores, folder, beat, monkeypatch):
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
