"""Log-ins without the counts of other tests, at a time that stands still."""

from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone


@pytest.fixture(autouse=True)
def _forget_counts() -> None:
    cache.clear()


@pytest.fixture
def clock(time_machine: Any) -> Any:
    time_machine.move_to(timezone.now())
    return time_machine
