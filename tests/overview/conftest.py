"""A broker without tasks that other tests have left: the overview would say that no worker takes them."""

import pytest
from django.conf import settings

from tests.conftest import _redis


@pytest.fixture(autouse=True)
def _no_waiting_tasks() -> None:
    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"]
    _redis().delete(*(f"{prefix}{queue}" for queue in settings.CELERY_TASK_QUEUE_NAMES))
