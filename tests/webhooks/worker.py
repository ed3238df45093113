"""The service's own Celery app with short waits, for workers that tests start: `celery -A tests.webhooks.worker`."""

import os
from datetime import timedelta
from typing import Any

from celery.signals import celeryd_after_setup

from callcentre.celery import app

__all__ = ["app"]

# A worker of the tests waits seconds instead of minutes and hours. Its lease stays long, because a living worker on a
# busy machine must not lose its deliveries. Tests that kill the worker set a short lease.
BATCH_SECONDS = 1.0
LEASE = timedelta(seconds=int(os.environ.get("TEST_LEASE_SECONDS", "60")))
TIMEOUT_SECONDS = float(os.environ.get("TEST_TIMEOUT_SECONDS", "0")) or None
DELAYS = (timedelta(seconds=0.2), timedelta(seconds=0.2))


@celeryd_after_setup.connect
def shorten(**kwargs: Any) -> None:
    from webhooks import delivery_worker
    from webhooks.models import Delivery
    from webhooks.transport.sender import Sender

    settings: dict[str, Any] = {
        "BATCH_SECONDS": BATCH_SECONDS,
        "LEASE": LEASE,
        "LONGEST_PAUSE_SECONDS": 0.2,
        "sender": Sender(timeout=TIMEOUT_SECONDS),
    }
    for name, value in settings.items():
        assert hasattr(delivery_worker, name), name
        setattr(delivery_worker, name, value)
    Delivery.delays = DELAYS
