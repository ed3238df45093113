"""A cache without figures, and a broker without tasks that other tests have left: no worker would take them."""

import pytest
from django.conf import settings
from django.core.cache import cache

from tests.conftest import _redis


@pytest.fixture(autouse=True)
def _no_waiting_tasks() -> None:
    cache.clear()
    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"]
    _redis().delete(*(f"{prefix}{queue}" for queue in settings.CELERY_TASK_QUEUE_NAMES))
