"""Faults that really happen: worker processes that are killed, stores that end, a name server that lies.

Whatever happens, each event is delivered at least once, and at most what was in flight is delivered twice.
"""

import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from callcentre.embedded import Stores
from tests.webhooks.processes import (
    a_worker,
    all_succeeded,
    copies,
    duplicates,
    happen,
    of_all_events,
    registered,
    taking,
    wait_for,
)
from tests.webhooks.receivers import Peer, receiver
from webhooks.delivering import BATCH
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.usefixtures("emptied")


def test_a_worker_killed_with_a_thousand_deliveries_in_its_hands_loses_none(
    stores: Stores, folder: Path, beat: Any
) -> None:
    with ExitStack() as context:
        receivers = [context.enter_context(receiver(taking(0.02))) for _ in range(5)]
        for running in receivers:
            registered(running)
        happen(200)
        assert Delivery.objects.count() == 1000
        # Ten threads with a batch of a hundred each.
        Delivery.objects.update(attempt_count=0)
        victim = context.enter_context(a_worker(stores, folder))
        wait_for(lambda: sum(copies(*receivers).values()) > 100)
        held = Delivery.objects.filter(attempt_count=1, state="waiting", next_attempt_at__gt=timezone.now()).count()
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        sent, stored = sum(copies(*receivers).values()), Delivery.objects.filter(state="succeeded").count()

        context.enter_context(a_worker(stores, folder))
        wait_for(all_succeeded)

        assert held > 500
        assert all(set(copies(running)) == of_all_events() for running in receivers)
        assert sum(duplicates(running) for running in receivers) <= sent - stored
        assert sent - stored <= held
        # Nothing else was taken for lost: what was not in its hands came once.
        assert Attempt.objects.count() == 1000


def test_a_worker_that_is_asked_to_end_sends_nothing_twice(stores: Stores, folder: Path, beat: Any) -> None:
    with receiver(taking(0.01)) as running, a_worker(stores, folder) as leaving:
        webhook = registered(running)
        happen(300)
        wait_for(lambda: len(running.requests) > 30)
        leaving.send_signal(signal.SIGTERM)
        leaving.wait(15)
        left = webhook.deliveries.waiting().filter(next_attempt_at__lte=timezone.now()).count()

        with a_worker(stores, folder):
            wait_for(all_succeeded)

        assert left > 0
        assert duplicates(running) == 0
        assert set(copies(running)) == of_all_events()


def test_a_broker_that_is_killed_costs_time_and_no_event(stores: Stores, folder: Path, beat: Any) -> None:
    with receiver(taking(0.005)) as running, a_worker(stores, folder):
        registered(running)
        happen(200)
        wait_for(lambda: len(running.requests) > 20)
        broker = stores._servers["redis_url"].process
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


def test_a_database_that_is_restarted_costs_at_most_what_was_in_flight(stores: Stores, folder: Path, beat: Any) -> None:
    with receiver(taking(0.005)) as running, a_worker(stores, folder):
        registered(running)
        happen(400)
        wait_for(lambda: len(running.requests) > 50)
        postgres = stores._servers["database_url"].process
        assert postgres is not None
        # At once, as in a crash: the next start recovers.
        postgres.send_signal(signal.SIGQUIT)
        postgres.wait(20)
        assert stores.revive() == ["PostgreSQL"]
        connection.close()
        happen(50, start=400)

        wait_for(all_succeeded)

        assert set(copies(running)) == of_all_events()
        assert len(copies(running)) == 450
        assert duplicates(running) <= 2 * BATCH


def closing(peer: Peer) -> None:
    """Takes one request a connection, so that the next one looks the name up again."""
    peer.request()
    peer.answer(Connection="close")


def test_a_name_that_turns_to_127_0_0_1_is_not_followed_there(stores: Stores, folder: Path, beat: Any) -> None:
    """The address that was checked is the one that is connected to; the next look-up is checked again."""
    with receiver(closing, address=("127.0.0.2", 0)) as checked:
        with (
            receiver(closing, address=("127.0.0.1", checked.port)) as forbidden,
            a_worker(
                stores,
                folder,
                TEST_REBINDING="rebinds.example=127.0.0.2,127.0.0.1",
                WEBHOOK_ALLOWED_NETWORKS="127.0.0.2/32",
            ),
        ):
            webhook = registered(checked, checked.at("rebinds.example"))
            happen()
            wait_for(all_succeeded)
            happen(start=1)
            wait_for(lambda: webhook.deliveries.filter(state="failed").exists())

        assert (len(checked.requests), forbidden.connections) == (1, 0)
        errors = webhook.attempts.filter(status=None).values_list("error", flat=True)
        assert set(errors) == {"forbidden address"}
