"""Workers and beat as processes, on stores that may be killed, with short waits (tests/webhooks/worker.py)."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import OperationalError, transaction
from django.utils import timezone

from callcentre.embedded import Stores
from tests.webhooks.factories import WebhookFactory
from tests.webhooks.receivers import Peer, Receiver
from webhooks import outbox
from webhooks.event_types import EventType
from webhooks.models import Delivery, Event, Webhook

ROOT = Path(__file__).resolve().parents[2]
ACTION = EventType.AGENT_FREE
THREADS = 16


def environment(stores: Stores, folder: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        **stores.environment,
        "SECRET_KEY": settings.SECRET_KEY,
        "FIELD_ENCRYPTION_KEYS": ",".join(settings.FIELD_ENCRYPTION_KEYS),
        "ALLOWED_HOSTS": "127.0.0.1",
        "CALLCENTRE_VAR": str(folder),
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "WEBHOOK_TIMEOUT_SECONDS": "30",
        "PYTHONWARNINGS": "ignore",
        **more,
    }


@contextmanager
def celery(arguments: str, environment: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "tests.webhooks.worker", *arguments.split()]
    with (folder / f"{arguments.split(maxsplit=1)[0]}.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def a_worker(stores: Stores, folder: Path, **more: str) -> Any:
    arguments = (
        f"worker -n w{time.monotonic_ns()} -Q webhooks -P threads -c {THREADS} --without-gossip --without-mingle"
    )
    return celery(arguments, environment(stores, folder, **more), folder)


def registered(running: Receiver, url: str = "", **values: Any) -> Webhook:
    """A receiver that is known to be well."""
    webhook: Webhook = WebhookFactory(
        subscription_url=url or running.url, actions=[ACTION], last_success_at=timezone.now(), **values
    )
    return webhook


def happen(count: int = 1, start: int = 0) -> None:
    """So many events, in one transaction each ten."""
    for number in range(start, start + count, 10):
        with transaction.atomic():
            outbox.record_many(
                ACTION, [(f"agent:{n}", {"n": n}) for n in range(number, min(number + 10, start + count))]
            )


def wait_for(condition: Callable[[], Any], seconds: float = 100.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OperationalError):
            if condition():
                return
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {list(Delivery.objects.values_list('state').distinct())}")


def all_succeeded() -> bool:
    return not Delivery.objects.exclude(state="succeeded").exists()


def copies(*receivers: Receiver) -> Counter[str]:
    """How often each event came."""
    return Counter(request.headers["webhook-id"] for running in receivers for request in running.requests)


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
