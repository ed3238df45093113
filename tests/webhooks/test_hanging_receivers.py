"""Receivers that hang, the workers of `make run` as processes, and what goes on meanwhile."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from callcentre.launch.embedded import Stores
from tests.processes import enqueue_into, wait_for
from tests.telephony.processes import Service, calls, in_state, some_agents
from tests.telephony.switch.ari_server import ari_server
from tests.webhooks.processes import a_worker, happen, registered
from tests.webhooks.receivers import Peer, always, receiver
from webhooks.models import Attempt

pytestmark = pytest.mark.usefixtures("emptied")


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
