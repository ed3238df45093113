"""Workers and beat as processes, on stores that may be killed, with short waits (tests/webhooks/worker.py)."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.launch.embedded import Stores
from tests.processes import arguments_of, environment, running
from tests.webhooks.factories import WebhookFactory
from tests.webhooks.receivers import Peer, Receiver
from webhooks import outbox
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event, Webhook

ACTION = EventType.AGENT_FREE


def a_worker(stores: Stores, folder: Path, **more: str) -> Any:
    """The worker that deploy/systemd has for webhooks."""
    unit = arguments_of("webhooks")
    arguments = " ".join(unit[unit.index("-Q") :])
    return celery(
        f"worker -n w{time.monotonic_ns()} {arguments} --without-gossip --without-mingle", stores, folder, **more
    )


def celery(arguments: str, stores: Stores, folder: Path, **more: str) -> Any:
    command = ["celery", "--quiet", "-A", "tests.webhooks.worker", *arguments.split()]
    patient = {"WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "WEBHOOK_TIMEOUT_SECONDS": "30"}
    variables = environment(folder, REDIS_URL=stores.environment["REDIS_URL"], **{**patient, **more})
    return running(command, variables, folder / f"{arguments.split(maxsplit=1)[0]}.log")


def registered(receiver: Receiver, url: str = "", **values: Any) -> Webhook:
    """A receiver that has been reached before."""
    values = {"last_success_at": timezone.now()} | values
    webhook: Webhook = WebhookFactory(subscription_url=url or receiver.url, actions=[ACTION], **values)
    return webhook


def happen(count: int = 1, start: int = 0) -> None:
    """So many events, in one transaction each ten."""
    for number in range(start, start + count, 10):
        with transaction.atomic():
            outbox.record_many(
                ACTION, [(f"agent:{n}", {"n": n}) for n in range(number, min(number + 10, start + count))]
            )


def all_succeeded() -> bool:
    return not Delivery.objects.exclude(state="succeeded").exists()


def copies(*receivers: Receiver) -> Counter[str]:
    """How often each event came."""
    return Counter(request.headers["webhook-id"] for receiver in receivers for request in receiver.requests)


def duplicates(*receivers: Receiver) -> int:
    return sum(count - 1 for count in copies(*receivers).values())


def of_all_events() -> set[str]:
    return {str(event_id) for event_id in Event.objects.values_list("event_id", flat=True)}


def taking(seconds: float) -> Callable[[Peer], None]:
    """Answers 200, after so long."""

    def script(peer: Peer) -> None:
        while peer.request():
            time.sleep(seconds)
            peer.answer()

    return script
