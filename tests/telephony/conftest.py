import pytest

from telephony.calls import orders
from tests.telephony.doubles import RecordingSwitch


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> RecordingSwitch:
    """The switch that is told what to do in this process."""
    double = RecordingSwitch()
    monkeypatch.setattr(orders, "current_switch", lambda: double)
    return double
