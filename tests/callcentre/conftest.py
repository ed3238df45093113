from typing import Any

import pytest
from django.utils import timezone


@pytest.fixture
def no_stores_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let launchers start stores of their own, not those of the test run."""
    for name in ("DATABASE_URL", "REDIS_URL", "CALLCENTRE_VAR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock(time_machine: Any) -> Any:
    """A clock that a test moves forward."""
    time_machine.move_to(timezone.now())
    return time_machine
