from collections.abc import Iterator

import pytest

from telephony.calls import orders
from telephony.leading import Leadership
from tests.telephony.doubles import RecordingSwitch


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch, heard: None) -> RecordingSwitch:
    """The switch that is told what to do in this process, and that somebody hears."""
    double = RecordingSwitch()
    monkeypatch.setattr(orders, "current_switch", lambda: double)
    return double


@pytest.fixture
def heard() -> Iterator[None]:
    with Leadership() as leadership:
        leadership.tell(is_heard=True)
        yield
